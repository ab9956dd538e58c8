"""Identities between the arrays of a record that hold without any physics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.robots.description import ArmCfg
from unlatch.simcore.geometry import Pose
from unlatch.simcore.geometry.rotations import matrices_from_quats_xyzw
from unlatch.simcore.recording.criteria import TOLERANCE
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.observed.object_geometry import movable_joints
from unlatch.simcore.urdf.model import UrdfModel
from unlatch.solver.kinematics import ChainJoint, Kinematics
from unlatch.workflows.checks.randomized_values import POSES, randomizes
from unlatch.workflows.episode.actor import Actor, takeover_frame
from unlatch.workflows.episode.planner_models import base_of, kinematics_of
from unlatch.workflows.episode.scene import REST_MOVED_M, REST_TURNED_RAD

Array = np.ndarray

_FRAME_TOLERANCE = 5e-6
"""Largest difference between a link frame of the engine and the kinematics of the URDF [m, or of a rotation matrix].
The engine keeps link frames in single precision, which differs by up to 2e-7 m and 7e-7 in 50 episodes of 16 tasks."""
_SINGLE_ROUNDING = 4 * float(np.finfo(np.float32).eps)
"""What rounding to single precision may add to the difference between an array and what follows from others. It is a
share of the value, or of 1 for smaller values: the array and the two that it is made of are off by up to eps each."""
_FORCES = (("force_mean_n", "force_max_n"), ("force_sustained_n", "force_max_n"))
"""Endings of arrays of which the first is at most the second."""


def identity_problems(
    cfg: EpisodeCfg,
    assets: Mapping[str, ObjectAsset],
    layout: Mapping[str, Any],
    record: EpisodeRecord,
    actor: Actor,
) -> Iterator[str]:
    """Yields the arrays that contradict others: each with its first such frame, the recorded and the expected value.

    - `time` counts frames of `world.record_hz`; `skills.index` counts the entries of `skills` that have begun. A first
      violation has the time of its physics step.
    - The poses of ee and tcp, and those of the targets, follow from the joints of the arm; the opening of the gripper
      from its joints. The gripper's target of a state is that of the action before it.
    - Labels are the executed targets where the planner moves an arm without a disturbance.
    - Keypoints follow from the joints of the object and the pose of its root.
    - The first state is that of the layout.
    - No speed at the end of a row is above the largest speed of the row. No mean and no sustained force is above the
      largest force.

    Args:
        cfg: The episode, with its derived task.
        assets: The episode's objects by name.
        layout: The layout that was drawn for the episode, as `Layout.to_dict` gives it.
        record: The record; its arrays have the right shapes.
        actor: What moves the arms.
    """
    if record.code in ("diverged", "error"):
        return  # their arrays may hold values that are not finite, and may end in the middle of a frame
    arrays = record.arrays
    frames = np.arange(record.n_actions + 1)
    dt = 1.0 / cfg.world.physics_hz
    times = frames * cfg.world.steps_per_frame * dt
    yield from _differing("time", arrays["time"], times, why="the rate of frames", tolerance=0.0)
    for number, entry in enumerate(record.skills):
        hit = entry["first_violation"]
        if hit is not None and hit["time_s"] != hit["physics_step"] * dt:
            yield (
                f"skills[{number}].first_violation.time_s is {hit['time_s']} in the record, expected "
                f"{hit['physics_step'] * dt} from its physics_step."
            )
    starts = sorted(entry["frame_start"] for entry in record.skills if isinstance(entry.get("frame_start"), int))
    current = np.searchsorted(starts, frames) - 1  # a skill is the current one from the state after its first
    yield from _differing("skills.index", arrays["skills.index"], current, why="frame_start of the skills")
    for arm in cfg.robot.arms:
        yield from _arm_problems(cfg, arm, record, actor)
        key = f"robots.{cfg.robot.name}.{arm.name}.joint_positions"
        yield from _differing(key, arrays[key][:1], [record.layout["q_home"][arm.name]], why="the layout")
    for name, asset in assets.items():
        yield from _object_problems(cfg, name, asset, layout["objects"][name], record)
    yield from _range_problems(record)


def _arm_problems(cfg: EpisodeCfg, arm: ArmCfg, record: EpisodeRecord, actor: Actor) -> Iterator[str]:
    arrays, key = record.arrays, f"robots.{cfg.robot.name}.{arm.name}"
    kinematics = kinematics_of(cfg.robot, arm)
    q, ee, tcp = arrays[f"{key}.joint_positions"], f"{key}.ee", f"{key}.tcp"
    T_world_base = base_of(cfg.robot, arm)
    if randomizes(cfg, cfg.robot.name, *POSES):  # the robot may stand elsewhere: where the first state has it
        T_world_ee = Pose.from_quat_xyzw(arrays[f"{ee}_position"][0], arrays[f"{ee}_quat_xyzw"][0])
        T_world_base = T_world_ee @ kinematics.pose(q[0]).inverse()
    yield from _pose_problems(arrays, ee, kinematics.fk_batch(q), T_world_base, why="the joints of the arm")
    head = np.asarray(arm.keypoints["tool_head"], dtype=float)
    at_tcp = arrays[f"{ee}_position"] + matrices_from_quats_xyzw(arrays[f"{ee}_quat_xyzw"]) @ head
    yield from _differing(f"{tcp}_position", arrays[f"{tcp}_position"], at_tcp, why="the pose of ee")
    yield from _differing(f"{tcp}_quat_xyzw", arrays[f"{tcp}_quat_xyzw"], arrays[f"{ee}_quat_xyzw"], why="ee")
    fingers = arrays.get(f"{key}.gripper_joint_positions")
    if fingers is not None:
        openings = [[arm.gripper.width(row)] for row in fingers]
        yield from _differing(f"{key}.gripper_opening", arrays[f"{key}.gripper_opening"], openings, why="its joints")
    for word in ("actions", "labels"):
        prefix = f"{word}.{cfg.robot.name}.{arm.name}"
        targets = arrays.get(f"{prefix}.joint_targets")
        if targets is not None and len(targets):
            reached = kinematics.fk_batch(targets)
            yield from _pose_problems(arrays, f"{prefix}.ee_target", reached, T_world_base, why="joint_targets")
    yield from _label_problems(cfg, arm, record, actor)
    if record.n_actions:
        states, actions = f"{key}.gripper_target", f"actions.{cfg.robot.name}.{arm.name}.gripper_target"
        yield from _differing(states, arrays[states][1:], arrays[actions], why=f"'{actions}'", tolerance=0.0, first=1)


def _label_problems(cfg: EpisodeCfg, arm: ArmCfg, record: EpisodeRecord, actor: Actor) -> Iterator[str]:
    """Yields labels that are not the executed targets, in rows in which the planner moved the arm or gave no label.

    A disturbance moves the arm away from the labels, but not its fingers.
    """
    arrays, labels = record.arrays, f"labels.{cfg.robot.name}.{arm.name}"
    valid = arrays.get(f"{labels}.valid")
    if valid is None:
        return
    begun = min((entry["frame_start"] for entry in record.skills), default=0)
    yield from _differing(f"{labels}.valid", valid[:begun], np.ones(begun), why="the frames before the first skill")
    planned = np.arange(len(valid)) >= (0 if actor is Actor.planner else takeover_frame(record))
    undisturbed = ~valid if cfg.disturb.moves_targets else planned | ~valid
    for name, rows in (("gripper_target", planned | ~valid), ("joint_targets", undisturbed)):
        key = f"actions.{cfg.robot.name}.{arm.name}.{name}"
        executed = np.where(rows[:, None], arrays[key], arrays[f"{labels}.{name}"])
        yield from _differing(f"{labels}.{name}", arrays[f"{labels}.{name}"], executed, why=f"'{key}'", tolerance=0.0)


def _pose_problems(
    arrays: Mapping[str, Array], key: str, T_base: tuple[Array, Array], T_world_base: Pose, *, why: str
) -> Iterator[str]:
    R, p = T_base
    at = p @ T_world_base.R.T + T_world_base.p
    found = list(_differing(f"{key}_position", arrays[f"{key}_position"], at, why=why, tolerance=_FRAME_TOLERANCE))
    yield from found
    if not found:
        key = f"{key}_quat_xyzw"
        turned, wanted = matrices_from_quats_xyzw(arrays[key]), T_world_base.R @ R
        yield from _differing(key, turned, wanted, why=why, tolerance=_FRAME_TOLERANCE)


def _object_problems(
    cfg: EpisodeCfg, name: str, asset: ObjectAsset, placed: Mapping[str, Any], record: EpisodeRecord
) -> Iterator[str]:
    arrays, key, model = record.arrays, f"objects.{name}", asset.model
    joints, s = movable_joints(model), arrays[f"{key}.joint_positions"]
    if not randomizes(cfg, name, "joint_positions"):
        at_start = [[placed["joint_positions"].get(joint, 0.0) for joint in joints]]
        yield from _differing(f"{key}.joint_positions", s[:1], at_start, why="the layout")
    root_p, root_quat = arrays[f"{key}.root_position"], arrays[f"{key}.root_quat_xyzw"]
    if asset.free:
        yield from _rest_problems(key, placed, root_p, root_quat)
    elif not randomizes(cfg, name, *POSES):
        for word, value in (("root_position", placed["position"]), ("root_quat_xyzw", placed["quat_xyzw"])):
            wanted = np.tile(value, (len(s), 1))
            yield from _differing(f"{key}.{word}", arrays[f"{key}.{word}"], wanted, why="the layout")
    R_world_root = matrices_from_quats_xyzw(root_quat)
    poses = {model.root: (np.broadcast_to(np.eye(3), (len(s), 3, 3)), np.zeros((len(s), 3)))}
    for part_name, part in asset.articulation.parts.items():
        links = {"link": part.link, "base": part.base, "obj": model.root}
        for point_name, point in part.keypoints.items():
            link = links[point.frame]
            if link not in poses:
                poses[link] = _link_frames(model, link, joints, s)
            R, p = poses[link]
            at = np.einsum("fij,fj->fi", R_world_root, R @ point.xyz + p) + root_p
            place = f"keypoints.{name}.{part_name}.{point_name}"
            why = "the joints of the object"
            if place in arrays:
                yield from _differing(place, arrays[place], at, why=why, tolerance=_FRAME_TOLERANCE)


def _rest_problems(key: str, placed: Mapping[str, Any], root_p: Array, root_quat: Array) -> Iterator[str]:
    """Yields where a free object began far from its place in the layout: it may move a little as it comes to rest."""
    moved_m = float(np.linalg.norm(root_p[0] - placed["position"]))
    now, then = (np.asarray(quat, dtype=float) / np.linalg.norm(quat) for quat in (root_quat[0], placed["quat_xyzw"]))
    chord = min(float(np.linalg.norm(now - then)), float(np.linalg.norm(now + then)))  # q and -q are one rotation
    turned = 4.0 * float(np.arcsin(0.5 * chord))
    if moved_m > REST_MOVED_M or turned > REST_TURNED_RAD:
        yield (
            f"'{key}' begins {moved_m:.3f} m and {turned:.2f} rad from its place in the layout, expected at most "
            f"{REST_MOVED_M:g} m and {REST_TURNED_RAD:g} rad."
        )


def _range_problems(record: EpisodeRecord) -> Iterator[str]:
    """Yields largest values of a row that are below other values of the same row."""
    arrays = record.arrays
    for key, values in sorted(arrays.items()):
        if key.startswith(("robots.", "objects.")) and key.endswith("joint_velocities") and record.n_actions:
            body = key.split(".")[1]
            ended_with = np.abs(values[1:]).max(axis=1, initial=0.0)
            yield from _below(f"speeds.{body}.max", arrays[f"speeds.{body}.max"], ended_with, why=f"'{key}'")
        for lesser, greater in _FORCES if key.startswith("contacts.") else ():
            if key.endswith(lesser):
                most = key.removesuffix(lesser) + greater
                yield from _below(most, arrays[most], values, why=f"'{key}'")


def _differing(
    key: str, got: ArrayLike, wanted: ArrayLike, *, why: str, tolerance: float = TOLERANCE, first: int = 0
) -> Iterator[str]:
    """Yields a message if rows differ by more than a tolerance; row 0 belongs to the frame `first`."""
    found, expected = np.asarray(got, dtype=float), np.asarray(wanted, dtype=float)
    if found.shape != expected.shape:
        yield f"'{key}' has rows of shape {list(found.shape[1:])}, expected {list(expected.shape[1:])} from {why}."
        return
    allowed = tolerance
    if np.asarray(got).dtype == np.float32:
        allowed = tolerance + _SINGLE_ROUNDING * np.maximum(np.abs(expected), 1.0)
    rows = np.flatnonzero((~(np.abs(found - expected) <= allowed)).reshape(len(found), -1).any(axis=1))
    if rows.size:
        row = int(rows[0])
        place = np.unravel_index(int(np.argmax(np.abs(found[row] - expected[row]))), found[row].shape)
        a, b = float(found[row][place]), float(expected[row][place])
        yield f"'{key}' is {a:.9g} at frame {first + row}, expected {b:.9g} from {why} ({rows.size} frames differ)."


def _below(key: str, got: Array, least: Array, *, why: str) -> Iterator[str]:
    # rounding keeps the order of two numbers; `least` may have 32 bits, `got` has 64
    rows = np.flatnonzero(got.astype(least.dtype) < least - TOLERANCE)
    if rows.size:
        row = int(rows[0])
        yield f"'{key}' is {got[row]:.9g} in row {row}, expected at least {least[row]:.9g}, as {why} has there."


def _link_frames(model: UrdfModel, link: str, joints: tuple[str, ...], s: Array) -> tuple[Array, Array]:
    """Returns (T+1, 3, 3) rotations and (T+1, 3) positions [m] of a link in the root frame.

    `s` has the (T+1, m) positions of the movable `joints` [rad or m].
    """
    T, chain = np.eye(4), []
    for joint in reversed(model.joints_above(link)):
        T = T @ joint.T_parent_joint.matrix
        if joint.moves:
            axis = joint.axis / np.linalg.norm(joint.axis)
            slides = joint.kind == "prismatic"
            chain.append(ChainJoint(joint.name, slides, T, axis, joint.lower, joint.upper, joint.velocity))
            T = np.eye(4)
    kinematics = Kinematics(chain, T, base_link=model.root, tip_link=link)
    return kinematics.fk_batch(s[:, [joints.index(joint.name) for joint in chain]])
