"""Identities between the arrays of a record that hold without any physics: poses, times, and what each arm did when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.robots.description import ArmCfg
from unlatch.simcore.geometry import Pose, matrices_from_quats_xyzw
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.success_rules import PART_MOVED
from unlatch.simcore.recording.verdict import TOLERANCE
from unlatch.simcore.urdf.model import UrdfModel, movable_joints
from unlatch.skills.commands import Phase
from unlatch.solver.kinematics import ChainJoint, Kinematics
from unlatch.workflows.checks.expected_statements import POSES, randomizes
from unlatch.workflows.checks.mechanism_states import mechanism_problems
from unlatch.workflows.episode.criteria import ANSWER_LOST, TAKEOVER, Actor, takeover_frame
from unlatch.workflows.episode.scene import REST_MOVED_M, REST_TURNED_RAD, base_of, kinematics_of

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
    - Mechanisms hold what their conditions say, see `mechanism_states`.
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
    if asset.can_move:
        yield from _rest_problems(key, placed, root_p, root_quat)
    elif not randomizes(cfg, name, *POSES):
        for word, value in (("root_position", placed["position"]), ("root_quat_xyzw", placed["quat_xyzw"])):
            wanted = np.tile(value, (len(s), 1))
            yield from _differing(f"{key}.{word}", arrays[f"{key}.{word}"], wanted, why="the layout")
    if asset.articulation.mechanisms and not randomizes(cfg, name, "mechanism_thresholds"):
        yield from mechanism_problems(name, asset, arrays, frame_s=1.0 / cfg.world.record_hz)
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


_WITHOUT_PLAN = ("plan_infeasible", "path_infeasible")
"""Codes of skills that have no plan, and so never move."""
_OF_SKILLS = (*_WITHOUT_PLAN, "motion_blocked", "grasp_missed", "slipped")
"""Codes of failures that a skill finds while it runs, or at its end."""
_OUTCOMES = ("grasp_kept", "grasp_released")
"""Events that say after a takeover whether the hand went on with its grasp."""


class _Status(NamedTuple):
    """What one arm did, in each state frame: (T+1,) arrays."""

    key: str
    """Beginning of the keys of its arrays."""
    phases: Array
    commands: Array

    @property
    def acts(self) -> Array:
        """(T+1,) whether it carried out a command of its skill."""
        return (self.commands >= 0) & (self.phases != Phase.settle.value)


def frame_problems(cfg: EpisodeCfg, record: EpisodeRecord, actor: Actor) -> Iterator[str]:
    """Yields where frames of skills, of settling or of events contradict the arrays that say what each arm did.

    - A skill carries out its commands from the state after `frame_start` to `frame_end`, without a break and in order.
      Each command has one phase. With a policy, a skill ends where the next one begins, or with the episode.
    - The scene settles from the end of the last skill on, in the phase `settle`.
    - The arrays without an arm are those of the arm whose skill began last.
    - The planner takes over from a policy once, and its targets label all frames from there on.

    Args:
        cfg: The episode.
        record: The record; its entries follow the chain, and its arrays have the right shapes.
        actor: What moves the arms.
    """
    yield from _event_problems(record, actor)
    if record.code in ("diverged", "error"):
        return  # they may end in the middle of a frame
    arms = [arm.name for arm in cfg.robot.arms]
    skills = [{**entry, "arm": entry.get("arm", arms[0]), "index": n} for n, entry in enumerate(record.skills)]
    takeover = takeover_frame(record)
    statuses = {
        arm: _Status(key, record.arrays[f"{key}.phase"], record.arrays[f"{key}.command_index"])
        for arm, key in ((arm, f"skills.{arm}" if len(arms) > 1 else "skills") for arm in arms)
    }
    # the last skill of an arm has a code if the episode ended as the hand stepped back, before the next attempt
    steps_back = any("code" in entry for entry in {entry["arm"]: entry for entry in skills}.values())
    ends = [record.n_actions] if steps_back else [entry["frame_end"] for entry in skills]
    settle_start = max(ends, default=record.n_actions)
    for arm, status in statuses.items():
        own = [entry for entry in skills if entry["arm"] == arm]
        if actor is Actor.policy or (actor is Actor.both and takeover > record.n_actions):
            yield from _policy_problems(own, skills, status, record.n_actions)
        else:
            yield from _command_problems(own, status, record.n_actions, takeover)
    if len(arms) > 1:
        yield from _current_problems(skills, statuses, record)
    if actor is Actor.planner:
        yield from _settle_problems(skills, statuses, record, settle_start)
    yield from _code_problems(skills, record, settle_start)


def _command_problems(skills: list[dict[str, Any]], status: _Status, n_actions: int, takeover: int) -> Iterator[str]:
    """Yields where the skills of an arm do not begin and end as its commands do."""
    unknown = np.flatnonzero(~np.isin(status.phases, [phase.value for phase in Phase]) | (status.commands < -1))
    if unknown.size:
        yield f"'{status.key}.phase' or '.command_index' has a value at frame {unknown[0]} that no skill gives."
    begun = skills[0]["frame_start"] if skills else n_actions
    early = np.flatnonzero((status.commands[: begun + 1] != -1) | (status.phases[: begun + 1] != Phase.idle.value))
    if early.size:
        yield f"'{status.key}.phase' or '.command_index' is not idle at frame {early[0]}, before its first skill."
    for entry, following in zip_longest(skills, skills[1:]):
        start, end = entry["frame_start"], entry["frame_end"]
        last = n_actions if following is None else following["frame_start"]
        acting = start + 1 + np.flatnonzero(status.acts[start + 1 : last + 1])
        expected = int(acting[-1]) if acting.size else start
        if start <= takeover < last and end in range(max(takeover, expected), last + 1):
            expected = end  # the arm brakes before its skill ends
        if end != expected:
            yield (
                f"skills[{entry['index']}].frame_end is {end} in the record, expected {expected} from "
                f"'{status.key}.command_index'."
            )
        if entry.get("code") == PART_MOVED and end == start:
            yield f"skills[{entry['index']}] was broken off at frame {start}, at which it began."
        commands, phases = status.commands[acting], status.phases[acting]
        label = f"of skills[{entry['index']}]"
        if acting.size and acting[0] != start + 1 and not start <= takeover < last:
            found = status.commands[start + 1]
            yield f"'{status.key}.command_index' is {found} at frame {start + 1}, the first {label}."
        broken = np.flatnonzero((np.diff(acting) != 1) | (np.diff(commands) < 0))
        if broken.size:
            frame = int(acting[broken[0] + 1])
            yield f"'{status.key}.command_index' does not grow without a break up to frame {frame} {label}."
        # a state has the phase of the command before it, and the index of the command after it
        mixed = np.flatnonzero((np.diff(phases)[1:] != 0) & (np.diff(commands)[:-1] == 0))
        if mixed.size:
            frame = int(acting[mixed[0] + 2])
            yield (
                f"'{status.key}.phase' is {status.phases[frame]} at frame {frame}, expected "
                f"{status.phases[frame - 1]} as at the frame before, in the same command."
            )


def _policy_problems(
    own: list[dict[str, Any]], skills: list[dict[str, Any]], status: _Status, n_actions: int
) -> Iterator[str]:
    """Yields where an arm that a policy moves has commands, or where its skill does not end as the next one begins."""
    busy = np.flatnonzero((status.commands != -1) | (status.phases != Phase.idle.value))
    if busy.size:
        yield f"'{status.key}.phase' or '.command_index' is not idle at frame {busy[0]}, but a policy moves the arm."
    for entry, following in zip_longest(own, own[1:]):
        later = [other for other in skills[entry["index"] + 1 :] if other.get("stage") != entry.get("stage")]
        end = (following or next(iter(later), {"frame_start": n_actions}))["frame_start"]
        if entry["frame_end"] != end:
            yield f"skills[{entry['index']}].frame_end is {entry['frame_end']} in the record, expected {end}."


def _current_problems(
    skills: list[dict[str, Any]], statuses: dict[str, _Status], record: EpisodeRecord
) -> Iterator[str]:
    """Yields where the arrays of several arms do not say which skill of which arm runs."""
    n_frames = record.n_actions + 1
    indices = {arm: np.full(n_frames, -1) for arm in statuses}
    phases, commands = np.full(n_frames, Phase.idle.value), np.full(n_frames, -1)
    current: list[dict[str, Any]] = []
    for entry in skills:
        rows = slice(entry["frame_start"] + 1, None)
        current = [run for run in current if run["stage"] == entry["stage"] and run["arm"] != entry["arm"]] + [entry]
        for arm in statuses:
            indices[arm][rows] = next((run["index"] for run in current if run["arm"] == arm), -1)
        phases[rows] = statuses[entry["arm"]].phases[rows]
        commands[rows] = statuses[entry["arm"]].commands[rows]
    wanted = {f"{statuses[arm].key}.index": found for arm, found in indices.items()}
    for key, values in {**wanted, "skills.phase": phases, "skills.command_index": commands}.items():
        differing = np.flatnonzero(record.arrays[key] != values)
        if differing.size:
            frame = int(differing[0])
            yield f"'{key}' is {record.arrays[key][frame]} at frame {frame}, expected {values[frame]} by the skills."


def _settle_problems(
    skills: list[dict[str, Any]], statuses: dict[str, _Status], record: EpisodeRecord, start: int
) -> Iterator[str]:
    """Yields where the phase `settle` is not that of the frames after the last skill, and where `settle` is not."""
    settles: Array = np.zeros(record.n_actions + 1, dtype=bool)
    for status in statuses.values():
        settles |= status.phases == Phase.settle.value
    wrong = np.flatnonzero(settles != (np.arange(len(settles)) > start)) if skills else np.flatnonzero(settles)
    if wrong.size:
        frame = int(wrong[0])
        said = "is" if settles[frame] else "is not"
        yield f"'skills.phase' {said} that of settling at frame {frame}; the last skill ends at frame {start}."
    if settles.any() and record.settle is None:
        yield f"settle is None in the record, but the scene settles from frame {start} on."
    if record.settle is not None and not record.success and record.settle["frame_start"] != start:
        yield f"settle.frame_start is {record.settle['frame_start']} in the record, expected {start}."


def _code_problems(skills: list[dict[str, Any]], record: EpisodeRecord, start: int) -> Iterator[str]:
    """Yields failure codes that no skill can have had, by when the skills began and ended."""
    if record.code == "invalid_layout" and skills:
        yield "code is 'invalid_layout' in the record, but skills began."
    elif record.code in _WITHOUT_PLAN and all(entry["frame_start"] != record.n_actions for entry in skills):
        yield f"code is {record.code!r} in the record, but each skill had a plan: none began in the last frame."
    elif record.code in _OF_SKILLS and skills and record.n_actions > start:
        yield f"code is {record.code!r} in the record, but the last skill ended before the episode, at frame {start}."


def _event_problems(record: EpisodeRecord, actor: Actor) -> Iterator[str]:
    """Yields events that did not happen."""
    events = record.events
    if actor in (Actor.policy, Actor.both):
        frames = [event["frame"] for event in events if event["event"] == ANSWER_LOST]
        events = [event for event in events if event["event"] != ANSWER_LOST]
        last = min(takeover_frame(record), record.n_actions)
        if frames != sorted({frame for frame in frames if 0 <= frame <= last}):
            yield f"events: '{ANSWER_LOST}' is at the frames {frames}, expected rising ones up to {last}."
    names = [event["event"] for event in events]
    possible = [[], [TAKEOVER], *([TAKEOVER, outcome] for outcome in _OUTCOMES)] if actor is Actor.both else [[]]
    if names not in possible:
        yield f"events are {names} in the record, expected {' or '.join(map(str, possible))}."
        return
    broken = [entry["frame_end"] for entry in record.skills if entry.get("code") == "taken_over"]
    for event in events:
        name, frame = event["event"], event["frame"]
        keys = {TAKEOVER: {"policy", "reason"}, "grasp_released": {"reason"}}.get(name, set())
        if event.keys() != {"event", "frame", *keys}:
            yield f"events: '{name}' has the keys {sorted(event)}, expected {sorted({'event', 'frame', *keys})}."
        if name != TAKEOVER and broken != [frame]:
            yield f"events: '{name}' is at frame {frame}, expected the frame_end of the skill that was taken over."
        elif name == TAKEOVER and not _is_takeover(record, frame):
            yield f"events: '{name}' is at frame {frame}, where the arrays show no takeover."


def _is_takeover(record: EpisodeRecord, frame: int) -> bool:
    """Returns whether no arm carried out a command up to a frame, and labels are the planner's after it."""
    if not 0 <= frame <= record.n_actions:
        return False
    valid = [array for key, array in record.arrays.items() if key.startswith("labels.") and key.endswith(".valid")]
    idle = record.arrays["skills.phase"][: frame + 1] == Phase.idle.value
    return bool(idle.all()) and all(bool(array[frame:].all()) for array in valid)
