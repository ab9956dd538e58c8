"""Synthetic data sets: a Panda opens a microwave, of a length and with values that depend on the episode's number."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from unlatch.objects.annotation import HandleType, PartKind
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.object_geometry import ObjectGeometry, PartGeometry
from unlatch.simcore.recording.observed_scene import ObservedScene
from unlatch.simcore.urdf.model import Joint, Link, Shape, ShapeKind, UrdfModel

ARM = "panda.left"
SIZES = {"body": (0.4, 0.6, 0.4), "tray": (0.3, 0.5, 0.02), "door": (0.02, 0.4, 0.3)}
"""Size of the box of each link [m]."""
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


def make_part() -> PartGeometry:
    return PartGeometry(
        kind="hinge_vertical",
        link="door",
        joint="door_hinge",
        slides=False,
        closed=0.0,
        open=-1.5,
        limits=(-1.6, 0.1),
        T_link_box=Pose.from_translation([0.0, 0.2, 0.0]),
        box_size=np.array([0.02, 0.4, 0.3]),
        hinge_point=np.zeros(3),
        hinge_axis=np.array([0.0, 0.0, -1.0]),
        T_link_grip=Pose.from_translation([0.05, 0.35, 0.0]),
        grip_type="bar",
        grip_size=np.array([0.02, 0.02, 0.1]),
    )


def scene_of(base: Pose) -> ObservedScene:
    tray = Joint("tray_slide", "prismatic", "body", "tray", Pose.identity())
    hinge = Joint(
        "door_hinge", "revolute", "body", "door", Pose.from_translation([0.2, 0.0, 0.0]), np.array([0, 0, 1.0])
    )
    links = {name: Link(name, visuals=(Shape(ShapeKind.box, SIZES[name], Pose.identity()),)) for name in SIZES}
    model = UrdfModel("microwave", links, {joint.name: joint for joint in (tray, hinge)})
    bounds = np.array([[-0.2, -0.3, 0.0], [0.2, 0.3, 0.4]])
    item = ObjectGeometry(model, ("tray_slide", "door_hinge"), bounds, {"door": make_part()})
    return ObservedScene(
        bases={"left": base, "right": base},
        skills=("open", "close", "rotate", "hold"),
        motionless_skills=("search",),
        keypoints=("head", "tail"),
        part_kinds=tuple(kind.name for kind in PartKind),
        grip_types=tuple(kind.name for kind in HandleType),
        seed=5,
        load_object=lambda _: item,
    )


def with_task_arrays(record: EpisodeRecord) -> EpisodeRecord:
    """Adds what the columns of the task need."""
    n, rng = record.n_actions, np.random.default_rng(3)
    robot, contacts = f"robots.{ARM}", f"contacts.{ARM}"
    record.arrays["skills.index"] = np.where(np.arange(n + 1) < 4, -1, 0)
    record.arrays[f"{robot}.gripper_target"] = rng.uniform(size=(n + 1, 1))
    for word in ("mean", "max"):
        record.arrays[f"{contacts}.fingers.force_{word}_n"] = rng.uniform(size=n)
    record.arrays[f"{contacts}.microwave.fingers_link.force_mean_n"] = rng.uniform(size=n)
    for skill in record.skills:
        skill.update({"s_closed": 0.0, "s_open": -1.5})
    return record


@pytest.fixture
def make_scene() -> Callable[[Pose], ObservedScene]:
    """Makes the scene of these records by the pose of the base of every arm in the world."""
    return scene_of


@pytest.fixture
def make_task_record() -> Callable[..., EpisodeRecord]:
    """Makes an attempt as `make_record` does, with what the columns of the task need."""
    return lambda number: with_task_arrays(record_of(number))


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
