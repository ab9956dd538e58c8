"""A synthetic attempt: a Panda opens a microwave, T = 20, with the door turned from 0 to 0.8 rad in frames 5 to 15."""

from collections.abc import Callable

import numpy as np
import pytest

from unlatch.simcore.recording.episode import EpisodeRecord

T = 20
VIEWS = ("fingers_link", "fingers_base", "forbid_collision")


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
        "objects.microwave.joint_positions": np.stack([np.full(T + 1, 0.1), door], axis=1),
        "objects.microwave.joint_velocities": np.zeros((T + 1, 2)),
        "keypoints.microwave.door.articulated_object_head": rng.normal(size=(T + 1, 3)),
        "skills.index": np.zeros(T + 1, dtype=np.int64),
        "skills.command_index": np.zeros(T + 1, dtype=np.int64),
        "skills.phase": np.zeros(T + 1, dtype=np.int64),
        "validity.collision_valid": np.ones(T + 1, dtype=bool),
        "validity.process_valid": np.ones(T + 1, dtype=bool),
        f"{action}.joint_targets": rng.normal(size=(T, 7)),
        f"{action}.ee_target_position": rng.normal(size=(T, 3)),
        f"{action}.ee_target_quat_xyzw": identity[:T],
        f"{action}.gripper_target": np.full((T, 1), 0.04),
        f"{arm}.joint_efforts_mean": rng.normal(size=(T, 7)),
        "speeds.panda.max": np.full(T, 1.0),
        "speeds.microwave.max": np.full(T, 0.5),
    }
    for view in (*(f"panda.left.microwave.{view}" for view in VIEWS), "panda.environment"):
        arrays[f"contacts.{view}.force_max_n"] = np.zeros(T)
        arrays[f"contacts.{view}.force_mean_n"] = np.zeros(T)
    for key, force_n in (("max", 14.0), ("mean", 10.0), ("sustained", 11.0)):
        arrays[f"contacts.panda.left.fingers.force_{key}_n"] = np.zeros(T)
        arrays[f"contacts.panda.left.fingers.force_{key}_n"][moving] = force_n
    arrays["contacts.panda.left.microwave.fingers_link.force_max_n"][moving] = 12.0
    arrays["contacts.panda.left.microwave.fingers_link.force_mean_n"][moving] = 9.0
    return arrays


def synthetic_skill() -> dict:
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


def synthetic_place() -> dict:
    turned = {"position": [0.7, 0.0, 0.1], "quat_xyzw": [0.0, 0.0, 0.0, 1.0], "rotation": np.eye(3).tolist()}
    plinth = dict.fromkeys(("plinth_size_m", "plinth_position", "plinth_quat_xyzw", "plinth_rotation"))
    return {**turned, **plinth, "joint_positions": {}, "drawn": {}}


@pytest.fixture
def make_record() -> Callable[..., EpisodeRecord]:
    """Makes a successful attempt; keyword arguments replace fields of the record."""

    def make(number: int = 0, **changes) -> EpisodeRecord:
        fields = {
            "number": number,
            "seed": 1000 + number,
            "success": True,
            "language": ["open the microwave"],
            "assets": {"microwave": "ab12"},
            "layout": {"objects": {"microwave": synthetic_place()}},
            "skills": [synthetic_skill()],
            "goal": {
                "conditions": [{"object": "microwave", "part": "door", "joint_index": 1, "kind": "moved", "value": 0.7}]
            },
            "settle": {"frame_start": 17, "frame_end": T, "max_change": 0.02},
            "timings_ms": {"plan": 80.0, "reset": 40.0, "execute": 90.0},
            "arrays": synthetic_arrays(),
        }
        return EpisodeRecord(**{**fields, **changes})

    return make
