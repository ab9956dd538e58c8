"""Synthetic data sets: a Panda opens a microwave, of a length and with values that depend on the episode's number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from unlatch.objects.annotation import HandleType, PartKind
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.frame_video import FrameVideoWriter
from unlatch.simcore.recording.modality import ImageStream
from unlatch.simcore.recording.observed_scene import ObservedObject, ObservedScene, PartGeometry
from unlatch.simcore.recording.renders import CAMERAS_FILE, RenderSet, stream_file
from unlatch.simcore.recording.state_file import encode_npz
from unlatch.simcore.urdf.model import Joint, Link, Shape, ShapeKind, UrdfModel

ROBOT, ARM_ACTION = "robots.panda.left", "actions.panda.left"
SIZES = {"body": (0.4, 0.6, 0.4), "tray": (0.3, 0.5, 0.02), "door": (0.02, 0.4, 0.3)}
"""Size of the box of each link [m]."""
JOINTS = [f"panda_joint{index + 1}" for index in range(7)]
T_WORLD_BASE = Pose.from_rpy([0.3, -0.2, 0.1], [0.0, 0.0, 0.7])


def make_arrays(number: int, n_actions: int, *, part: str = "door") -> dict[str, np.ndarray]:
    rng = np.random.default_rng(number)

    def walk(n: int, rows: int) -> np.ndarray:
        return np.cumsum(0.01 * rng.normal(size=(rows, n)), axis=0)

    def turning(rows: int) -> np.ndarray:
        return Rotation.from_rotvec(np.cumsum(0.05 * rng.normal(size=(rows, 3)), axis=0)).as_quat()

    states = n_actions + 1
    return {
        "time": np.arange(states) / 30,
        **{f"{ROBOT}.joint_{what}": walk(7, states) for what in ("positions", "velocities", "efforts")},
        f"{ROBOT}.ee_position": walk(3, states),
        f"{ROBOT}.ee_quat_xyzw": turning(states),
        f"{ROBOT}.tcp_position": walk(3, states),
        f"{ROBOT}.tcp_quat_xyzw": turning(states),
        f"{ROBOT}.gripper_opening": walk(1, states),
        "objects.microwave.root_position": walk(3, states),
        "objects.microwave.root_quat_xyzw": turning(states),
        "objects.microwave.joint_positions": walk(2, states),
        "objects.microwave.joint_velocities": walk(2, states),
        **{f"keypoints.microwave.{name}": walk(3, states) for name in (f"{part}.head", f"{part}.tail", "tray.head")},
        f"{ARM_ACTION}.joint_targets": walk(7, n_actions),
        f"{ARM_ACTION}.ee_target_position": walk(3, n_actions),
        f"{ARM_ACTION}.ee_target_quat_xyzw": turning(n_actions),
        f"{ARM_ACTION}.gripper_target": walk(1, n_actions),
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


def task_record_of(number: int) -> EpisodeRecord:
    """Returns a record with what the columns of the task need."""
    record, rng = record_of(number), np.random.default_rng(3)
    n, contacts = record.n_actions, "contacts.panda.left"
    record.arrays["skills.index"] = np.where(np.arange(n + 1) < 4, -1, 0)
    record.arrays[f"{ROBOT}.gripper_target"] = rng.uniform(size=(n + 1, 1))
    for name in ("fingers.force_mean_n", "fingers.force_max_n", "microwave.fingers_link.force_mean_n"):
        record.arrays[f"{contacts}.{name}"] = rng.uniform(size=n)
    record.skills[0].update({"s_closed": 0.0, "s_open": -1.5})
    return record


def add_right_arm(record: EpisodeRecord, more: float = 0.0) -> EpisodeRecord:
    """Adds a right arm whose arrays are those of the left one, or more than those."""
    for key in [key for key in record.arrays if ".left." in key]:
        record.arrays[key.replace(".left.", ".right.")] = record.arrays[key] + more
    return record


def scene_of(base: Pose) -> ObservedScene:
    """Returns the scene of these records, with the base of every arm at a pose in the world."""
    part = PartGeometry(
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
    T_body_hinge = Pose.from_translation([0.2, 0.0, 0.0])
    tray = Joint("tray_slide", "prismatic", "body", "tray", Pose.identity())
    hinge = Joint("door_hinge", "revolute", "body", "door", T_body_hinge, np.array([0, 0, 1.0]))
    links = {name: Link(name, visuals=(Shape(ShapeKind.box, SIZES[name], Pose.identity()),)) for name in SIZES}
    model = UrdfModel("microwave", links, {joint.name: joint for joint in (tray, hinge)})
    bounds = np.array([[-0.2, -0.3, 0.0], [0.2, 0.3, 0.4]])
    item = ObservedObject(model, ("tray_slide", "door_hinge"), bounds, {"door": part})
    return ObservedScene(
        bases={"left": base, "right": base},
        skills=("open", "close", "rotate", "hold", "pick", "place", "home"),
        motionless_skills=("search",),
        counted_as={"hold_pressed": "hold"},
        keypoints=("head", "tail"),
        part_kinds=tuple(kind.name for kind in PartKind),
        grip_types=tuple(kind.name for kind in HandleType),
        seed=5,
        load_object=lambda _: item,
    )


def write_set(folder: Path, records: Sequence[EpisodeRecord | int], *, seed: int = 0, fps: int = 30) -> DataSet:
    """Makes or continues a data set of records, or of successful episodes with these numbers."""
    config: dict[str, Any] = {
        "task": {"name": "open_microwave"},
        "robot": {"name": "panda", "arms": [{"name": "left", "joints": JOINTS}]},
        "world": {"record_hz": fps},
        "seed": seed,
    }
    with DataSet.create_or_resume(folder, header={"config": config}) as data_set:
        for record in records:
            data_set.write(record_of(record) if isinstance(record, int) else record)
    return data_set


def write_renders(
    data_set: DataSet,
    streams: Sequence[ImageStream],
    image_of: Any,
    *,
    width: int,
    height: int,
    name: str = "default",
    lens: str = "pinhole",
    track: Any = None,
    labels: Mapping[str, Any] | None = None,
) -> RenderSet:
    """Writes a render set of a camera `front`: `image_of(stream, number, frame)`, and `track(n_frames)`, its motion."""
    size = {"width": width, "height": height}
    camera = {"name": "front", "lens": lens, **size, "streams": [asdict(stream) for stream in streams]}
    header = {"cameras": [camera], "modalities": [stream.modality for stream in streams], "rate_hz": 30}
    with RenderSet.create_or_resume(data_set.path, name, header) as renders:
        for summary in data_set.summaries():
            n = summary.n_actions + 1

            def fill(folder: Path, number: int = summary.number, n: int = n, sha256: str = summary.state_sha256) -> Any:
                for stream in streams:
                    path = folder / stream_file("front", stream)
                    with FrameVideoWriter(path, stream.encoding, **size, rate_hz=30) as writer:
                        for frame in range(n):
                            writer.add(stream.pack(image_of(stream, number, frame)))
                if track is not None:
                    arrays = {f"front.{key}": values for key, values in track(n).items()}
                    (folder / CAMERAS_FILE).write_bytes(encode_npz(arrays))
                return {"n_frames": n, "state_sha256": sha256, "labels": dict(labels or {})}

            renders.write(summary.number, fill)
    return renders
