"""Moving the whole scene, robot and object alike, changes no plan: the same joints come out, for every kind of term."""

from types import SimpleNamespace

import numpy as np
import pytest

from unlatch.simcore.geometry import Pose, matrix_from_axis_angle
from unlatch.simcore.sim.pose_estimate_error import PoseEstimateError
from unlatch.skills.open import Open
from unlatch.solver.goal_solver import GoalSolver
from unlatch.solver.setting import PlannerSettingCfg

HEAD, TAIL = "articulated_object_head", "articulated_object_tail"
POINT = {
    "type": "point2point_constraint",
    "keypoint_name": "tool_head",
    "target_keypoint_name": HEAD,
    "tolerance": 1e-3,
}
AXIS = {"axis_from_keypoint_name": "tool_head", "axis_to_keypoint_name": "tool_tail", "tolerance": 0.1}
CROSS = {
    "cross_target_axis1_from_keypoint_name": HEAD,
    "cross_target_axis1_to_keypoint_name": TAIL,
    "target_axis": "link0_contact_axis",
}
PLANE = {"keypoint_name": "tool_side", "target_keypoint_name": TAIL}
TERMS = {
    "point": [POINT],
    "frame_axis_parallel": [POINT, {**AXIS, **CROSS, "type": "frame_axis_parallel"}],
    "frame_axis_orthogonal": [POINT, {**AXIS, "target_axis": [0, 0, 1], "type": "frame_axis_orthogonal"}],
    "keypoint_axis_parallel": [
        POINT,
        {
            **AXIS,
            "axis_to_keypoint_name": "tool_side",
            "target_axis_from_keypoint_name": HEAD,
            "target_axis_to_keypoint_name": TAIL,
            "type": "keypoint_axis_parallel",
        },
    ],
    "keypoint_axis_orthogonal": [
        POINT,
        {
            **AXIS,
            "target_axis_from_keypoint_name": HEAD,
            "target_axis_to_keypoint_name": TAIL,
            "type": "keypoint_axis_orthogonal",
        },
    ],
    "point2plane": [
        POINT,
        {**PLANE, "plane_normal": "link0_contact_axis", "tolerance": 1e-3, "type": "point2plane_constraint"},
    ],
    "the vertical of the world": [
        POINT,
        {**AXIS, "target_axis": [0, 0, 1], "target_axis_frame": "world", "type": "frame_axis_orthogonal"},
    ],
    "an axis of the arm's base": [
        POINT,
        {
            **AXIS,
            "target_axis": [-1, 0, 0],
            "target_axis_frame": "base",
            "tolerance": 0.6,
            "type": "frame_axis_parallel",
        },
    ],
}
COSTS = {
    "point2point_cost": {
        "type": "point2point_cost",
        "keypoint_name": "tool_tail",
        "target_keypoint_name": TAIL,
        "weight": 50.0,
    },
    "point2plane_cost": {**PLANE, "plane_normal": [0, 1, 0], "weight": 50.0, "type": "point2plane_cost"},
}


class Stage:
    """The door of the solver's tests standing in a world, with the arm somewhere in it."""

    def __init__(self, scene, T_world_base):
        self.scene, self.T = scene, T_world_base

    def snapshot(self):
        scene, T_world_base = self.scene, self.T
        T_base_link = Pose(scene.R_base_link, scene.joint.origin)
        T_base_obj = Pose.identity()
        frames = dict.fromkeys(("base", "obj"), T_world_base @ T_base_obj)
        frames["link"] = T_world_base @ T_base_link
        inverse = {name: (T_world_base.inverse() @ T).inverse() for name, T in frames.items()}
        of = {name: "link" if name in scene.moving_names else "base" for name in (*scene.keypoints, *scene.axes)}
        skill = Open.__new__(Open)
        skill.cfg = SimpleNamespace(planner_setting=SimpleNamespace(keypoint_shifts={}))
        skill.context = SimpleNamespace(arm=SimpleNamespace(T_world_base=T_world_base))
        skill.part = SimpleNamespace(
            name="door",
            joint="hinge",
            keypoints={n: SimpleNamespace(frame=of[n], xyz=inverse[of[n]] @ p) for n, p in scene.keypoints.items()},
            axes={n: SimpleNamespace(frame=of[n], xyz=inverse[of[n]].rotate(a)) for n, a in scene.axes.items()},
            openness=SimpleNamespace(closed=scene.s_closed, open=scene.s_open),
        )
        joint = SimpleNamespace(
            prismatic=False,
            axis=T_base_link.inverse().rotate(scene.joint.axis),
            lower=scene.joint.lower,
            upper=scene.joint.upper,
        )
        skill.object = SimpleNamespace(
            seen_frames=lambda part: frames,
            asset=SimpleNamespace(R_obj_peer=np.eye(3)),
            pose_error=PoseEstimateError([("door", name) for name in scene.keypoints], joints=["hinge"]),
            body=SimpleNamespace(joint=lambda name: joint),
            joint_position=lambda name: scene.s,
        )
        return skill.snapshot()


def moved(T_world_base, rng, *, upright):
    axis = [0, 0, 1] if upright else rng.normal(size=3)
    T = Pose(matrix_from_axis_angle(axis, float(rng.uniform(-3, 3))), rng.normal(size=3))
    return T @ T_world_base


@pytest.mark.property
@pytest.mark.parametrize("name", [*TERMS, *COSTS])
def test_the_whole_scene_moved_gives_the_same_joints(name, arm, door):
    costs = [COSTS[name]] if name in COSTS else []
    setting = PlannerSettingCfg(success_threshold=0.1, constraint_list=TERMS.get(name, [POINT]), cost_list=costs)
    solver = GoalSolver(arm)
    rng = np.random.default_rng(4)
    T_world_base = Pose(np.eye(3), np.array([-0.6, 0.1, 0.7]))
    solutions = []
    for T in (T_world_base, *(moved(T_world_base, rng, upright="world" in name) for _ in range(3))):
        scene = Stage(door(s=0.3, yaw=0.2), T).snapshot()
        solution = solver.solve(
            setting.constraint_list, scene, q_reference=arm.q_home, costs=setting.cost_list, waves=2
        )
        assert solution.found, solution
        solutions.append(solution.q)
    np.testing.assert_allclose(solutions[1:], np.broadcast_to(solutions[0], (3, 7)), atol=1e-6)


def test_an_axis_of_the_world_is_none_of_the_scene(arm, door):
    setting = PlannerSettingCfg(success_threshold=0.1, constraint_list=TERMS["the vertical of the world"])
    tilted = Pose(matrix_from_axis_angle([1, 0, 0], 0.5), np.zeros(3))
    targets = [
        setting.constraint_list[1].row(arm.tool_keypoints, Stage(door(), T).snapshot()).target
        for T in (Pose.identity(), tilted)
    ]
    assert float(targets[0] @ targets[1]) == pytest.approx(np.cos(0.5))
