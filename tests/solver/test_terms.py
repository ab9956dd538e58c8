"""Terms: their derivatives, their targets, and that nothing changes when the whole scene is moved."""

import math
from dataclasses import replace

import numpy as np
import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import matrix_from_axis_angle
from unlatch.solver.parameter_layout import POINT_WEIGHT, RowCounts
from unlatch.solver.program import program_of
from unlatch.solver.setting import PlannerSettingCfg
from unlatch.solver.solution import measure_rows, row_excess, row_tolerances
from unlatch.solver.term import PlaneRow, PointRow

HEAD, TAIL = "articulated_object_head", "articulated_object_tail"
POINT = {
    "type": "point2point_constraint",
    "keypoint_name": "tool_head",
    "target_keypoint_name": HEAD,
    "tolerance": 0.01,
}
AXIS = {
    "type": "frame_axis_parallel",
    "axis_from_keypoint_name": "tool_tail",
    "axis_to_keypoint_name": "tool_head",
    "tolerance": 0.1,
}
TERMS = {
    "point": POINT,
    "plane": {
        "type": "point2plane_constraint",
        "keypoint_name": "tool_side",
        "target_keypoint_name": TAIL,
        "plane_normal": [0, 1, 0],
        "tolerance": 0.02,
    },
    "axis of numbers": {**AXIS, "target_axis": [0, 0, 1]},
    "axis by name": {**AXIS, "target_axis": "object_link0_contact_axis"},
    "axis at an angle": {**AXIS, "target_axis": [1, 0, 0], "target_inner_product": 0.7},
    "opposite axis": {**AXIS, "target_axis": [1, 0, 0], "target_inner_product": -1},
    "orthogonal": {**AXIS, "type": "frame_axis_orthogonal", "target_axis": [0, 0, 1]},
    "two keypoints": {
        **AXIS,
        "type": "keypoint_axis_parallel",
        "target_axis_from_keypoint_name": HEAD,
        "target_axis_to_keypoint_name": TAIL,
    },
    "cross product": {
        **AXIS,
        "cross_target_axis1_from_keypoint_name": HEAD,
        "cross_target_axis1_to_keypoint_name": TAIL,
        "target_axis": "link0_contact_axis",
    },
    "cross alone": {**AXIS, "cross_target_axis1_from_keypoint_name": HEAD, "cross_target_axis1_to_keypoint_name": TAIL},
}


def term_of(entry):
    return PlannerSettingCfg(success_threshold=0.1, constraint_list=[entry]).constraint_list[0]


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
    P = program.layout.pack(
        [row], lower=arm.q_lower, upper=arm.q_upper, box=np.array([[-9.0] * 3, [9.0] * 3]), tighten=1.0
    )
    rng = np.random.default_rng(1)
    step, mu = 1e-6, 3.0
    for _ in range(8):
        q = rng.uniform(arm.q_lower, arm.q_upper)
        gradient = program.model(q, P, [mu, 0.0, 0.0, 1.0])[0].toarray().ravel()
        numeric = [
            (merit(arm, row, q + step * e, mu) - merit(arm, row, q - step * e, mu)) / (2 * step) for e in np.eye(7)
        ]
        np.testing.assert_allclose(gradient, numeric, atol=2e-6)


@pytest.mark.property
@pytest.mark.parametrize("name", TERMS)
def test_value_is_unchanged_when_scene_and_tool_move_together(name, arm, door):
    term = term_of({**TERMS[name], **({"target_axis_frame": "object"} if "axis" in str(TERMS[name]) else {})})
    rng = np.random.default_rng(2)
    scene = door(s=0.4, yaw=-0.3)
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
    q = np.random.default_rng(3).uniform(arm.q_lower, arm.q_upper, (6, 7))
    R, p = arm.kinematics.fk_batch(q)
    single = [[row.value(R[i], p[i]) for row in rows] for i in range(6)]
    np.testing.assert_allclose(measure_rows(rows, R, p)[0], single, atol=1e-12)
    np.testing.assert_allclose(
        row_excess(rows, R, p), np.maximum(0, np.array(single) - row_tolerances(rows)), atol=1e-12
    )


def test_an_interval_cut_off_at_zero_keeps_its_upper_end(arm, door):
    row = term_of({**AXIS, "target_axis": [0, 0, 1], "target_inner_product": 0.99, "tolerance": 0.5})
    cut = row.row(arm.tool_keypoints, door())
    assert (cut.lower, cut.upper) == (0.0, pytest.approx(math.acos(0.99) + 0.5))


def test_target_forms_give_the_direction_they_name(arm, door):
    scene = door(s=0.5, yaw=0.1)
    line = scene.keypoints[TAIL] - scene.keypoints[HEAD]
    line /= np.linalg.norm(line)
    contact = scene.axes["link0_contact_axis"]

    def target(name):
        return term_of(TERMS[name]).row(arm.tool_keypoints, scene).target

    np.testing.assert_allclose(target("two keypoints"), line, atol=1e-12)
    np.testing.assert_allclose(target("cross alone"), line, atol=1e-12)
    np.testing.assert_allclose(target("axis by name"), contact, atol=1e-12)
    np.testing.assert_allclose(target("cross product"), np.cross(line, contact), atol=1e-12)
    np.testing.assert_allclose(target("axis of numbers"), scene.R_base_link[:, 2], atol=1e-12)
    base = term_of({**AXIS, "target_axis": [0, 2, 0], "target_axis_frame": "base"})
    np.testing.assert_allclose(base.row(arm.tool_keypoints, scene).target, [0, 1, 0])


def test_a_target_without_direction_is_refused_with_its_name(arm, door):
    scene = door()
    entry = {**TERMS["cross product"], "name": "front", "target_axis": (scene.R_base_link.T @ [0, 1, 0]).tolist()}
    with pytest.raises(ConfigError, match="target of constraint 'front' has no direction on this object"):
        term_of(entry).row(arm.tool_keypoints, scene)


def test_unknown_tool_keypoint_is_named_at_solve_time(arm, door):
    with pytest.raises(ConfigError, match=r"'tool_hed' is not a tool keypoint. Did you mean 'tool_head'"):
        term_of({**POINT, "keypoint_name": "tool_hed"}).row(arm.tool_keypoints, door())
