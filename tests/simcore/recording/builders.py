"""A synthetic attempt: a Panda opens a microwave, T = 20, with the door turned from 0 to 0.8 rad in frames 5 to 15."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from unlatch.simcore.recording.episode import EpisodeRecord

T = 20
DOOR = "objects.microwave.joint_positions"
TOUCH, BASE, FORBIDDEN = (
    f"contacts.panda.left.microwave.{view}.force_max_n" for view in ("fingers_link", "fingers_base", "forbid_collision")
)
ENVIRONMENT = "contacts.panda.environment.force_max_n"
SUSTAINED = "contacts.panda.left.fingers.force_sustained_n"
SPEED = "speeds.panda.max"
TARGETS, GRIPPER = "actions.panda.left.joint_targets", "actions.panda.left.gripper_target"
Q = "robots.panda.left.joint_positions"
SETTLES = {"frame_start": 17, "frame_end": T, "max_change": 0.02}
NOT_RUN = {"frame_start": None, "frame_end": None}


def synthetic_arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    arm, action = "robots.panda.left", "actions.panda.left"
    identity = np.tile([0.0, 0.0, 0.0, 1.0], (T + 1, 1))
    door = np.concatenate([np.zeros(5), np.linspace(0.0, 0.8, 11), np.full(5, 0.8)])
    moving = slice(4, 16)
    arrays = {
        "time": np.arange(T + 1) / 30,
        **{f"{arm}.{key}": rng.normal(size=(T + 1, 7)) for key in ("joint_positions", "joint_velocities")},
        f"{arm}.joint_efforts": rng.normal(size=(T + 1, 7)),
        **{f"{arm}.{key}_position": rng.normal(size=(T + 1, 3)) for key in ("ee", "tcp")},
        **{f"{arm}.{key}_quat_xyzw": identity for key in ("ee", "tcp")},
        **{f"{arm}.gripper_{key}": np.full((T + 1, 1), 0.04) for key in ("opening", "target")},
        "objects.microwave.root_position": np.tile([0.7, 0.0, 0.1], (T + 1, 1)),
        "objects.microwave.root_quat_xyzw": identity,
        DOOR: np.stack([np.full(T + 1, 0.1), door], axis=1),
        "objects.microwave.joint_velocities": np.zeros((T + 1, 2)),
        "keypoints.microwave.door.articulated_object_head": rng.normal(size=(T + 1, 3)),
        **{f"skills.{key}": np.zeros(T + 1, dtype=np.int64) for key in ("index", "command_index", "phase")},
        **{f"validity.{key}_valid": np.ones(T + 1, dtype=bool) for key in ("collision", "process")},
        TARGETS: rng.normal(size=(T, 7)),
        f"{action}.ee_target_position": rng.normal(size=(T, 3)),
        f"{action}.ee_target_quat_xyzw": identity[:T],
        GRIPPER: np.full((T, 1), 0.04),
        f"{arm}.joint_efforts_mean": rng.normal(size=(T, 7)),
        SPEED: np.full(T, 1.0),
        "speeds.microwave.max": np.full(T, 0.5),
    }
    for largest in (TOUCH, BASE, FORBIDDEN, ENVIRONMENT):
        arrays[largest], arrays[largest.replace("max", "mean")] = np.zeros(T), np.zeros(T)
    for key, force_n in (("max", 14.0), ("mean", 10.0), ("sustained", 11.0)):
        arrays[f"contacts.panda.left.fingers.force_{key}_n"] = np.zeros(T)
        arrays[f"contacts.panda.left.fingers.force_{key}_n"][moving] = force_n
    arrays[TOUCH][moving] = 12.0
    arrays[TOUCH.replace("max", "mean")][moving] = 9.0
    return arrays


def synthetic_skill() -> dict[str, Any]:
    return {
        "name": "open",
        "object": "microwave",
        "part": "door",
        "language": [],
        "strategy": None,
        "refused": [],
        "plan": None,
        "zero_force_contacts": 0,
        "grip_force_n": 50.0,
        "joint": "joint_0",
        "joint_index": 1,
        "success_mode": "abs",
        "success_threshold": 0.7,
        "s0": 0.0,
        "s_end": 0.8,
        "s_closed": 0.0,
        "s_open": 1.6,
        "frame_start": 2,
        "frame_end": 17,
        "collision_valid_enabled": True,
        "process_valid_enabled": True,
        "contact_force_threshold_n": 1.0,
        "finger_force_limit_n": 140.0,
        "finger_contact_required": True,
        "first_violation": None,
        "success": True,
    }


def synthetic_place() -> dict[str, Any]:
    turned = {"position": [0.7, 0.0, 0.1], "quat_xyzw": [0.0, 0.0, 0.0, 1.0], "rotation": np.eye(3).tolist()}
    plinth = dict.fromkeys(("plinth_size_m", "plinth_position", "plinth_quat_xyzw", "plinth_rotation"))
    return {**turned, **plinth, "joint_positions": {}, "drawn": {}}


def make_record(number: int = 0, **changes: Any) -> EpisodeRecord:
    """Returns a successful attempt; keyword arguments replace fields of the record."""
    condition = {"object": "microwave", "part": "door", "joint_index": 1, "kind": "moved", "value": 0.7}
    fields = {
        "number": number,
        "seed": 1000 + number,
        "success": True,
        "language": ["open the microwave"],
        "assets": {"microwave": "ab12"},
        "layout": {"objects": {"microwave": synthetic_place()}},
        "skills": [synthetic_skill()],
        "goal": {"conditions": [condition]},
        "settle": dict(SETTLES),
        "timings_ms": {"plan": 80.0, "reset": 40.0, "execute": 90.0},
        "arrays": synthetic_arrays(),
    }
    return EpisodeRecord(**{**fields, **changes})


def attempt(
    skill: Mapping[str, Any] | None = None,
    *,
    goal: Mapping[str, Any] | None = None,
    door: Mapping[Any, Any] | None = None,
    rows: Mapping[str, Mapping[Any, Any]] | None = None,
    **changes: Any,
) -> EpisodeRecord:
    """Returns an attempt that succeeds but for some changes.

    `skill` and `goal` replace keys of its skill and of its goal's condition, `door` positions of the door by frame, and
    `rows` values of arrays by row (`...`: all of them). `changes` replace fields of the record.
    """
    made = make_record(**changes)
    made.skills[0].update(skill or {})
    made.goal["conditions"][0].update(goal or {})
    for frame, position in (door or {}).items():
        made.arrays[DOOR][frame, 1] = position
    for key, values in (rows or {}).items():
        for row, value in values.items():
            made.arrays[key][row] = value
    return made


def stopped(code: str, evidence: Mapping[str, Any] | None = None, **changes: Any) -> EpisodeRecord:
    """Returns an attempt that was stopped with a code before the scene settled; see `attempt`."""
    return attempt(success=False, code=code, settle=None, evidence=dict(evidence or {}), **changes)


def never_began(code: str, number: int = 0) -> EpisodeRecord:
    """Returns a failed attempt without skills, goal and arrays."""
    return make_record(number, success=False, code=code, skills=[], goal={}, settle=None, arrays={})


def of_policy() -> EpisodeRecord:
    """Returns an episode of a policy: the door passes 0.7 rad in frame 14, and stays for three frames from 15 on."""
    made = make_record()
    made.goal |= {"hold_frames": 3, "chain_length": 1, "chain_motions": 1, "max_changes": {"microwave.1": 0.02}}
    made.goal |= {"reached": True, "reached_frame": 18}
    made.skills[0]["frame_end"] = T
    return made
