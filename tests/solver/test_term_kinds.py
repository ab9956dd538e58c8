"""Terms: their derivatives, their targets, and that nothing changes when the whole scene is moved."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.solver.builders import (
    ACROSS,
    BACK,
    CONTACT,
    CROSS,
    HEAD,
    LINE,
    OPEN,
    TAIL,
    axis,
    point,
    setting_of,
    solve_all,
)
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose, matrix_from_axis_angle
from unlatch.simcore.registry import Catalog
from unlatch.simcore.sim.pose_estimate_error import PoseEstimateError
from unlatch.skills.open import Open
from unlatch.solver import term_kinds
from unlatch.solver.explanation import explain_goal
from unlatch.solver.goal_solver import GoalSolver
from unlatch.solver.parameter_layout import POINT_WEIGHT, RowCounts
from unlatch.solver.program import program_of
from unlatch.solver.solution import measure_rows, row_excess, row_tolerances
from unlatch.solver.term import PlaneRow, PointRow

TOOL = ("tool_tail", "tool_head")
TERMS = {
    "point": point(tolerance=0.01),
    "plane": {
        "type": "point2plane_constraint",
        "keypoint_name": "tool_side",
        "target_keypoint_name": TAIL,
        "plane_normal": [0, 1, 0],
        "tolerance": 0.02,
    },
    "axis of numbers": axis(TOOL, target_axis=[0, 0, 1]),
    "axis by name": axis(TOOL, target_axis=f"object_{CONTACT}"),
    "axis at an angle": axis(TOOL, target_axis=[1, 0, 0], target_inner_product=0.7),
    "opposite axis": axis(TOOL, target_axis=[1, 0, 0], target_inner_product=-1),
    "orthogonal": axis(TOOL, type="frame_axis_orthogonal", target_axis=[0, 0, 1]),
    "two keypoints": axis(TOOL, type="keypoint_axis_parallel", **LINE),
    "cross product": axis(TOOL, **CROSS, target_axis=CONTACT),
    "cross alone": axis(TOOL, **CROSS),
}


def term_of(entry):
    return setting_of(entry).constraint_list[0]


def moved(scene, R, t):
    """The scene moved rigidly, `p -> R p + t`; its joint, which no term reads, stays."""
    return replace(
        scene,
        keypoints={name: R @ p + t for name, p in scene.keypoints.items()},
        axes={name: R @ a for name, a in scene.axes.items()},
        R_base_link=R @ scene.R_base_link,
        R_base_world=R @ scene.R_base_world,
    )


def merit(arm, row, q, mu):
    """The penalty of one row, written down anew: 0.5 mu w |r - proj(r)|^2."""
    T = arm.kinematics.fk(q)
    R, p = T[:3, :3], T[:3, 3]
    if isinstance(row, PointRow):
        r = R @ row.x_ee + p - row.target
        out = r - np.clip(r, -row.tolerance, row.tolerance)
        return 0.5 * mu * POINT_WEIGHT * float(out @ out)
    if isinstance(row, PlaneRow):
        r = float(row.normal @ (R @ row.x_ee + p - row.point))
        return 0.5 * mu * POINT_WEIGHT * max(0.0, abs(r) - row.tolerance) ** 2
    v, a = R @ row.x_ee, row.target
    if row.lower <= 1e-12 or row.upper >= math.pi - 1e-12:
        cone = row.upper if row.lower <= 1e-12 else math.pi - row.lower
        a = a if row.lower <= 1e-12 else -a
        return 0.5 * mu * max(0.0, float(np.linalg.norm(v - a)) - 2 * math.sin(cone / 2)) ** 2
    c = float(v @ a)
    return 0.5 * mu * (c - np.clip(c, math.cos(row.upper), math.cos(row.lower))) ** 2


@pytest.mark.property
@pytest.mark.parametrize("name", TERMS)
def test_gradient_equals_finite_differences(name, arm, door):
    row = term_of(TERMS[name]).row(arm.tool_keypoints, door(s=0.3, yaw=0.2))
    program = program_of(arm.kinematics, RowCounts.of([row]))
    limits = {"lower": arm.q_lower, "upper": arm.q_upper, "box": np.array([[-9.0] * 3, [9.0] * 3])}
    P = program.layout.pack([row], tighten=1.0, **limits)
    rng, step, mu = np.random.default_rng(1), 1e-6 * np.eye(7), 3.0
    for _ in range(8):
        q = rng.uniform(arm.q_lower, arm.q_upper)
        gradient = program.model(q, P, [mu, 0.0, 0.0, 1.0])[0].toarray().ravel()
        numeric = [(merit(arm, row, q + e, mu) - merit(arm, row, q - e, mu)) / 2e-6 for e in step]
        np.testing.assert_allclose(gradient, numeric, atol=2e-6)


@pytest.mark.property
@pytest.mark.parametrize("name", TERMS)
def test_value_is_unchanged_when_scene_and_tool_move_together(name, arm, door):
    term = term_of({**TERMS[name], **({"target_axis_frame": "object"} if "axis" in str(TERMS[name]) else {})})
    rng, scene = np.random.default_rng(2), door(s=0.4, yaw=-0.3)
    for _ in range(5):
        R_tool, p_tool = matrix_from_axis_angle(rng.normal(size=3), 1.0), rng.normal(size=3)
        R, t = matrix_from_axis_angle(rng.normal(size=3), 2.0), rng.normal(size=3)
        before = term.row(arm.tool_keypoints, scene).value(R_tool, p_tool)
        after = term.row(arm.tool_keypoints, moved(scene, R, t)).value(R @ R_tool, R @ p_tool + t)
        if name != "point":  # its tolerance is a box along the base axes, so its value turns with them
            assert after == pytest.approx(before, abs=1e-9)
        else:
            assert after <= math.sqrt(3) * before + 1e-9


def test_batched_values_equal_single_ones(arm, door):
    scene = door(s=0.3)
    rows = [term_of(entry).row(arm.tool_keypoints, scene) for entry in TERMS.values()]
    R, p = arm.kinematics.fk_batch(np.random.default_rng(3).uniform(arm.q_lower, arm.q_upper, (6, 7)))
    single = np.array([[row.value(R[i], p[i]) for row in rows] for i in range(6)])
    np.testing.assert_allclose(measure_rows(rows, R, p)[0], single, atol=1e-12)
    np.testing.assert_allclose(row_excess(rows, R, p), np.maximum(0, single - row_tolerances(rows)), atol=1e-12)


def test_target_forms_give_the_direction_they_name(arm, door):
    scene = door(s=0.5, yaw=0.1)
    line = scene.keypoints[TAIL] - scene.keypoints[HEAD]
    line /= np.linalg.norm(line)
    contact = scene.axes[CONTACT]
    for entry, target in (
        (TERMS["two keypoints"], line),
        (TERMS["cross alone"], line),
        (TERMS["axis by name"], contact),
        (TERMS["cross product"], np.cross(line, contact)),
        (TERMS["axis of numbers"], scene.R_base_link[:, 2]),
        (axis(TOOL, target_axis=[0, 2, 0], target_axis_frame="base"), [0, 1, 0]),
    ):
        np.testing.assert_allclose(term_of(entry).row(arm.tool_keypoints, scene).target, target, atol=1e-12)
    plane, longer = ({**TERMS["plane"], "plane_normal": [0, length, 0]} for length in (1, 3))
    normals = [term_of(each).row(arm.tool_keypoints, scene).normal for each in (plane, longer)]
    np.testing.assert_allclose(normals, [scene.R_base_link[:, 1]] * 2, atol=1e-12)
    cut = term_of(axis(TOOL, 0.5, target_axis=[0, 0, 1], target_inner_product=0.99)).row(arm.tool_keypoints, scene)
    assert (cut.lower, cut.upper) == (0.0, pytest.approx(math.acos(0.99) + 0.5))


def test_a_target_without_direction_and_an_unknown_keypoint_are_named(arm, door):
    scene = door()
    along = {"name": "front", "target_axis": (scene.R_base_link.T @ [0, 1, 0]).tolist()}
    with pytest.raises(ConfigError, match="target of constraint 'front' has no direction on this object"):
        term_of({**TERMS["cross product"], **along}).row(arm.tool_keypoints, scene)
    with pytest.raises(ConfigError, match=r"'tool_hed' is not a tool keypoint. Did you mean 'tool_head'"):
        term_of(point(keypoint_name="tool_hed")).row(arm.tool_keypoints, scene)


# besides the tool at the head of the handle
ASKED = {
    "point": [],
    "frame_axis_parallel": [axis(target_axis=CONTACT, **CROSS)],
    "frame_axis_orthogonal": [axis(type="frame_axis_orthogonal", target_axis=[0, 0, 1])],
    "keypoint_axis_parallel": [axis(ACROSS, type="keypoint_axis_parallel", **LINE)],
    "keypoint_axis_orthogonal": [axis(type="keypoint_axis_orthogonal", **LINE)],
    "point2plane": [{**TERMS["plane"], "plane_normal": CONTACT, "tolerance": 1e-3}],
    "the vertical of the world": [axis(type="frame_axis_orthogonal", target_axis=[0, 0, 1], target_axis_frame="world")],
    "an axis of the arm's base": [axis(BACK, 0.6, target_axis=[-1, 0, 0], target_axis_frame="base")],
}
PLANE_COST = {key: value for key, value in TERMS["plane"].items() if key != "tolerance"}
COSTS = {
    "point2point_cost": {"type": "point2point_cost", "keypoint_name": "tool_tail", "target_keypoint_name": TAIL},
    "point2plane_cost": {**PLANE_COST, "type": "point2plane_cost"},
}


def snapshot(scene, T_world_base):
    """Returns what a skill sees of a door that stands in a world, with the arm somewhere in it."""
    T_base_link = Pose(scene.R_base_link, scene.joint.origin)
    frames = dict.fromkeys(("base", "obj"), T_world_base) | {"link": T_world_base @ T_base_link}
    inverse = {name: (T_world_base.inverse() @ T).inverse() for name, T in frames.items()}
    of = {name: "link" if name in scene.moving_names else "base" for name in (*scene.keypoints, *scene.axes)}
    skill = Open.__new__(Open)
    skill.cfg = SimpleNamespace(planner_setting=SimpleNamespace(keypoint_shifts={}, held_part=None))
    skill.context = SimpleNamespace(arm=SimpleNamespace(T_world_base=T_world_base))
    skill.part = SimpleNamespace(
        name="door",
        joint="hinge",
        keypoints={n: SimpleNamespace(frame=of[n], xyz=inverse[of[n]] @ p) for n, p in scene.keypoints.items()},
        axes={n: SimpleNamespace(frame=of[n], xyz=inverse[of[n]].rotate(a)) for n, a in scene.axes.items()},
        openness=SimpleNamespace(closed=scene.s_closed, open=scene.s_open),
    )
    limits = {"lower": scene.joint.lower, "upper": scene.joint.upper}
    joint = SimpleNamespace(prismatic=False, axis=T_base_link.inverse().rotate(scene.joint.axis), **limits)
    skill.object = SimpleNamespace(
        seen_frames=lambda part: frames,
        can_move=False,
        asset=SimpleNamespace(R_obj_peer=np.eye(3), articulation=SimpleNamespace(mechanisms={}), model=None),
        pose_error=PoseEstimateError([("door", name) for name in scene.keypoints], joints=["hinge"]),
        body=SimpleNamespace(joint=lambda name: joint),
        joint_position=lambda name: scene.s,
    )
    return skill.snapshot()


@pytest.mark.property
@pytest.mark.parametrize("name", [*ASKED, *COSTS])
def test_the_whole_scene_moved_gives_the_same_joints(name, arm, door):
    costs = [{**COSTS[name], "weight": 50.0}] if name in COSTS else []
    setting, solver = setting_of(point(), *ASKED.get(name, []), costs=costs), GoalSolver(arm)
    rng, T_world_base = np.random.default_rng(4), Pose(np.eye(3), np.array([-0.6, 0.1, 0.7]))

    def joints(T):
        scene, terms = snapshot(door(s=0.3, yaw=0.2), T), setting.constraint_list
        solution = solver.solve(terms, scene, q_reference=arm.q_home, costs=setting.cost_list, waves=2)
        assert solution.found, solution
        return solution.q

    unmoved = joints(T_world_base)
    for _ in range(3):
        turn = [0, 0, 1] if "world" in name else rng.normal(size=3)
        T = Pose(matrix_from_axis_angle(turn, float(rng.uniform(-3, 3))), rng.normal(size=3))
        np.testing.assert_allclose(joints(T @ T_world_base), unmoved, atol=1e-6)


def test_an_axis_of_the_world_is_none_of_the_scene(arm, door):
    term, tilted = term_of(ASKED["the vertical of the world"][0]), matrix_from_axis_angle([1, 0, 0], 0.5)
    upright, tilt = (
        term.row(arm.tool_keypoints, snapshot(door(), T)).target for T in (Pose.identity(), Pose(tilted, np.zeros(3)))
    )
    assert float(upright @ tilt) == pytest.approx(np.cos(0.5))


MODULE = '''
"""A tool keypoint at a distance from an object keypoint: a sphere, which no built-in row is."""

from dataclasses import dataclass, field
from typing import ClassVar

import casadi as ca
import numpy as np

from unlatch.solver.term import ExpressionRow, RowKind
from unlatch.solver.term import Term, tool_point


def _distance(R, p, numbers):
    return ca.norm_2(R @ numbers[:3] + p - numbers[3:6])


DISTANCE = RowKind("distance", "m", 6, _distance)


@dataclass
class KeypointDistance(Term):
    TYPE: ClassVar[str] = "keypoint_distance"
    keypoint_name: str = field(metadata={"kind": "name"})
    target_keypoint_name: str = field(metadata={"kind": "name"})
    distance_m: float = field(metadata={"kind": "tolerance_m", "expects": "metres"})
    tolerance: float = field(metadata={"kind": "tolerance_m", "expects": "metres"})
    name: str = field(default="", metadata={"kind": "text"})

    def row(self, tool, scene):
        numbers = np.concatenate([tool_point(tool, self.keypoint_name), scene.keypoint(self.target_keypoint_name)])
        low, high = self.distance_m - self.tolerance, self.distance_m + self.tolerance
        return ExpressionRow(DISTANCE, numbers, low, high)

    def tool_names(self):
        return {"keypoint_name": self.keypoint_name}

    def object_names(self):
        return {"target_keypoint_name": self.target_keypoint_name}
'''
FOREIGN = {
    "type": "keypoint_distance",
    "keypoint_name": "tool_tail",
    "target_keypoint_name": HEAD,
    "distance_m": 0.2,
    "tolerance": 1e-3,
    "name": "two hands away",
}


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Another distribution with a term on the path, as pip would have put it there."""
    (tmp_path / "foreign_term.py").write_text(MODULE)
    info = tmp_path / "foreign_term-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign-term\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[unlatch.terms]\nkeypoint_distance = foreign_term:KeypointDistance\n")
    monkeypatch.syspath_prepend(tmp_path)
    builtin = {name: entry for name, entry in term_kinds.TERMS.entries().items() if entry.origin == "unlatch"}
    found = Catalog("constraint type", builtin, group="unlatch.terms")
    monkeypatch.setattr("unlatch.solver.setting.TERMS", found)
    return found


def test_a_term_of_another_distribution_is_listed_with_its_origin_and_checked(installed):
    assert installed.entries()["keypoint_distance"].origin == "foreign-term"
    with pytest.raises(ConfigError, match=r"constraint_list\[0\].distance is not a field of keypoint_distance"):
        setting_of({**FOREIGN, "distance": 0.3})


@pytest.mark.slow
@pytest.mark.usefixtures("installed")
def test_a_goal_that_a_foreign_term_asks_for_is_found_and_holds(arm, door):
    scene, asked = door(s=0.2), setting_of(FOREIGN, {**OPEN[2], "tolerance": 0.3}).constraint_list
    solution = GoalSolver(arm).solve(asked, scene, q_reference=arm.q_home)
    assert solution.found, solution
    apart = np.linalg.norm(arm.kinematics.pose(solution.q) @ arm.tool_keypoints["tool_tail"] - scene.keypoints[HEAD])
    assert abs(apart - 0.2) <= 1e-3 + 1e-6
    assert (solution.residuals[0].unit, solution.residuals[0].tolerance) == ("m", pytest.approx(1e-3))
    others = solve_all(GoalSolver(arm), asked, scene, q_reference=arm.q_home)
    assert len(others) > 3
    assert all(other.found for other in others)


@pytest.mark.slow
@pytest.mark.usefixtures("installed")
def test_a_foreign_term_that_cannot_hold_is_named(arm, door):
    near = point(tolerance=0.01, keypoint_name="tool_tail", name="at the handle")
    asked, scene = setting_of(FOREIGN, near).constraint_list, door()
    best = GoalSolver(arm).solve(asked, scene, q_reference=arm.q_home)
    assert not best.found
    diagnosis, _ = explain_goal(asked, arm, scene, best)
    assert diagnosis.code == "plan_infeasible"
    assert "two hands away" in diagnosis.message or "at the handle" in diagnosis.message
    out = diagnosis.evidence["constraints"]
    missing = sum(entry["out_by"] for entry in (out.values() if isinstance(out, dict) else out))
    assert missing >= (0.2 - 1e-3 - 0.01 * np.sqrt(3.0)) / np.sqrt(3.0) - 1e-3
