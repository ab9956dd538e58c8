"""Synthetic data sets: a Panda opens a microwave, of a length and with values that depend on the episode's number."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from unlatch.simcore.recording import DataSet, EpisodeRecord

ARM = "panda.left"
JOINTS = [f"panda_joint{index + 1}" for index in range(7)]


def make_arrays(number: int, n_actions: int, *, part: str = "door") -> dict[str, np.ndarray]:
    rng = np.random.default_rng(number)

    def walk(n: int, rows: int) -> np.ndarray:
        return np.cumsum(0.01 * rng.normal(size=(rows, n)), axis=0)

    def turning(rows: int) -> np.ndarray:
        return Rotation.from_rotvec(np.cumsum(0.05 * rng.normal(size=(rows, 3)), axis=0)).as_quat()

    states, robot, action = n_actions + 1, f"robots.{ARM}", f"actions.{ARM}"
    return {
        "time": np.arange(states) / 30,
        f"{robot}.joint_positions": walk(7, states),
        f"{robot}.joint_velocities": walk(7, states),
        f"{robot}.joint_efforts": walk(7, states),
        f"{robot}.ee_position": walk(3, states),
        f"{robot}.ee_quat_xyzw": turning(states),
        f"{robot}.tcp_position": walk(3, states),
        f"{robot}.tcp_quat_xyzw": turning(states),
        f"{robot}.gripper_opening": walk(1, states),
        "objects.microwave.root_position": walk(3, states),
        "objects.microwave.root_quat_xyzw": turning(states),
        "objects.microwave.joint_positions": walk(2, states),
        "objects.microwave.joint_velocities": walk(2, states),
        f"keypoints.microwave.{part}.head": walk(3, states),
        f"keypoints.microwave.{part}.tail": walk(3, states),
        "keypoints.microwave.tray.head": walk(3, states),
        f"{action}.joint_targets": walk(7, n_actions),
        f"{action}.ee_target_position": walk(3, n_actions),
        f"{action}.ee_target_quat_xyzw": turning(n_actions),
        f"{action}.gripper_target": walk(1, n_actions),
    }


def record_of(number: int, *, success: bool = True, n_actions: int | None = None, part: str = "door") -> EpisodeRecord:
    skill = {"name": "open", "object": "microwave", "part": part, "joint_index": 1}
    return EpisodeRecord(
        number=number,
        seed=1000 + number,
        success=success,
        code=None if success else "slipped",
        language=[f"open the microwave, way {number % 2}", "open it"],
        layout={"instances": {"microwave": {"category": "microwave", "instance": str(number)}}},
        skills=[skill],
        arrays=make_arrays(number, 12 + number if n_actions is None else n_actions, part=part),
    )


@pytest.fixture
def make_record() -> Callable[..., EpisodeRecord]:
    """Makes an attempt by its number; `success`, `n_actions` and `part` may be given."""
    return record_of


@pytest.fixture
def make_set(tmp_path: Path) -> Callable[..., DataSet]:
    """Makes a data set of records, or of successful episodes with these numbers."""

    def make(records: Sequence[EpisodeRecord | int], *, name: str = "data", seed: int = 0, fps: int = 30) -> DataSet:
        config: dict[str, Any] = {
            "task": {"name": "open_microwave"},
            "robot": {"name": "panda", "arms": [{"name": "left", "joints": JOINTS}]},
            "world": {"record_hz": fps},
            "seed": seed,
        }
        with DataSet.create_or_resume(tmp_path / name, header={"config": config}) as data_set:
            for record in records:
                data_set.write(record_of(record) if isinstance(record, int) else record)
        return data_set

    return make
