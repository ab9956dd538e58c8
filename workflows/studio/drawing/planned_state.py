"""The state of the objects at a frame of a planned chain: parts that are led, and objects that are carried."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from unlatch.robots.description import RobotCfg
from unlatch.simcore.geometry import Pose
from unlatch.workflows.studio.drawing.plan_ghosts import hand_pose, row_at
from unlatch.workflows.studio.jobs import Array, PlanResult, ShownPlan
from unlatch.workflows.viewing.live.scene import LiveScene

State = dict[str, Array]
"""Arrays (1, ...) by the key of the record."""


def planned_state(plan: PlanResult, frame: int, robot: RobotCfg, scene: LiveScene) -> State:
    """Returns the state at a frame of the chain; the robot stays where it is at the start."""
    stage, frame = plan.moment(frame)
    state = {key: np.asarray(value)[None] for key, value in plan.scene.state.items()}
    begun = plan.states[stage] if stage < len(plan.states) else {}
    state.update({key: np.asarray(value)[None] for key, value in begun.items() if not key.startswith("robots.")})
    present = [each for each in plan.plans if each.stage == stage]
    for each in present:
        if each.joint is not None and each.keyframes:
            at = _position_of_part(each, frame)
            _move_contents(state, each, at, scene)
            state = move_parts(state, {(each.object, each.joint): at}, scene)
        _carry(state, each, frame, robot, scene)
    return state


def move_parts(state: Mapping[str, Array], moved: Mapping[tuple[str, str], float], scene: LiveScene) -> State:
    """Returns a state with other positions of joints, by (object, joint), and of their keypoints."""
    result = dict(state)
    for name, model in scene.objects.items():
        joints = [joint.name for joint in model.body.movable_joints]
        key = f"objects.{name}.joint_positions"
        positions = np.array(state[key])
        for column, joint in enumerate(joints):
            positions[0, column] = moved.get((name, joint), positions[0, column])
        result[key] = positions
        model.body.set_joint_positions(joints, positions[0])
        for part in scene.assets[name].articulation.parts.values():
            for label, point in part.keypoints.items():
                frame = model.body.link_pose({"link": part.link, "base": part.base}.get(point.frame, part.base))
                if point.frame not in ("link", "base"):
                    frame = model.body.root_pose()
                if (place := f"keypoints.{name}.{part.name}.{label}") in result:
                    result[place] = np.asarray(frame @ point.xyz)[None]
    return result


def _position_of_part(plan: ShownPlan, frame: int) -> float:
    """Returns the position of the part that a plan leads, at a frame of its motion [rad or m]."""
    at, first = plan.keyframes[0].s, 0
    for segment in plan.segments:
        if frame < first:
            break
        if segment.s is not None:
            at = float(segment.s[min(frame - first, len(segment.s) - 1)])
        first += len(segment.q)
    return at


def _move_contents(state: State, plan: ShownPlan, at: float, scene: LiveScene) -> None:
    """Moves what lies in a part, such as a drawer, along with it."""
    model, asset = scene.objects[plan.object], scene.assets[plan.object]
    link = next(part.link for part in asset.articulation.parts.values() if part.joint == plan.joint)
    joints = [joint.name for joint in model.body.movable_joints]
    model.body.set_root_pose(_root_pose(state, plan.object))
    model.body.set_joint_positions(joints, state[f"objects.{plan.object}.joint_positions"][0])
    T_world_start = model.body.link_pose(link)
    model.body.set_joint_positions([str(plan.joint)], np.array([at]))
    T_world_now = model.body.link_pose(link)
    regions = [region for region in asset.regions.values() if region.link == link]
    for name, other in scene.assets.items():
        if name == plan.object:
            continue
        pose = _root_pose(state, name)
        middle = pose @ other.bounds_obj.mean(axis=0)
        if any(region.holds((T_world_start @ region.T_link_region).inverse() @ middle) for region in regions):
            _set_root_pose(state, name, T_world_now @ T_world_start.inverse() @ pose)


def _carry(state: State, plan: ShownPlan, frame: int, robot: RobotCfg, scene: LiveScene) -> None:
    """Moves what the hand of a plan has at a frame of its motion."""
    carried, model = plan.carried, scene.robot
    if carried is None or model is None or not plan.segments or carried.object not in scene.objects:
        return
    arm = next(entry for entry in robot.arms if entry.name == plan.arm)
    now = min(max(frame, carried.first), carried.last)
    T_world_hand, T_world_first = (hand_pose(model, arm, row_at(plan, each)) for each in (now, carried.first))
    _set_root_pose(state, carried.object, T_world_hand @ T_world_first.inverse() @ _root_pose(state, carried.object))


def _root_pose(state: Mapping[str, Array], name: str) -> Pose:
    return Pose.from_quat_xyzw(state[f"objects.{name}.root_position"][0], state[f"objects.{name}.root_quat_xyzw"][0])


def _set_root_pose(state: State, name: str, pose: Pose) -> None:
    state[f"objects.{name}.root_position"] = pose.p[None]
    state[f"objects.{name}.root_quat_xyzw"] = pose.quat_xyzw[None]
