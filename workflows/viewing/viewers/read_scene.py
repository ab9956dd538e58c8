"""Reads the scene of a recorded episode from its record and the header of its data set; simulates nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from unlatch.objects.annotation import PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.robots.description import RobotCfg
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.success_rules import OBJECT_VIEWS
from unlatch.skills.contract.command import Phase
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.viewing.phase_moments import failure_notes, nothing_to_show
from unlatch.workflows.viewing.picture import Rgb
from unlatch.workflows.viewing.scene_picture import add_laid_out_state
from unlatch.workflows.viewing.viewers.recorded_scene import (
    RecordedScene,
    ShownBody,
    ShownCurve,
    ShownForce,
    ShownPoint,
    fixed_body,
)
from unlatch.workflows.viewing.viewers.scene_models import (
    SceneModel,
    choose_view,
    fixed_meshes,
    load_assets,
    object_joints,
    open_object,
    open_robot,
    robot_joints,
)

Array = np.ndarray

_PHASE_NAMES = {phase.value: phase.name for phase in Phase}
_CONTACT_VIEWS: dict[str, tuple[str, Rgb, str]] = {
    "fingers_link": ("fingers on the moving part", (32, 150, 70), "tcp_position"),
    "fingers_base": ("fingers on the object's body", (240, 150, 20), "tcp_position"),
    "fingers": ("a finger, all contacts", (60, 120, 220), "tcp_position"),
    "forbid_collision": ("arm on the object", (215, 35, 35), "ee_position"),
    "environment": ("robot on its surroundings", (150, 60, 200), "ee_position"),
    "furniture": ("on furniture", (120, 120, 120), "root_position"),
    "other_objects": ("on other objects", (200, 110, 40), "root_position"),
}
"""Label, colour, and point of the arm or of the object for the mark, by the last word of a contact view. Views of an
object have its name before the label."""


def read_scene(data_set: DataSet, number: int) -> tuple[RecordedScene, list[str]]:
    """Returns the scene of an episode, and one line for each thing that differs from the recording.

    Raises:
        RecordingError: The episode cannot be read or has no states.
        ConfigError, AssetError: Its robot or an object is not available.
    """
    cfg = config_of(data_set)
    record = add_laid_out_state(cfg, data_set.read(number))
    times = record.arrays.get("time")
    if times is None or len(times) == 0:
        raise nothing_to_show(record)
    robot = cfg.robot
    arrays = {key: _fill_gaps(array) for key, array in record.arrays.items() if array.dtype.kind == "f"}
    assets, notices = load_assets([cfg.object, *cfg.objects], record.layout, record.assets, number=number)
    bodies = [*_fixed_bodies(record, len(times)), *_robot_bodies(robot, arrays), *_object_bodies(assets, arrays)]
    eye, target = choose_view(assets, arrays)
    numbers = record.arrays.get("skills.phase", np.zeros(len(times), dtype=int))
    scene = RecordedScene(
        title=f"{cfg.task.name} · episode {number} · {record.outcome}",
        success=record.success,
        notes=(*record.language[:1], *failure_notes(record)),
        times_s=arrays["time"] - arrays["time"][0],
        phases=tuple(_PHASE_NAMES.get(int(number), str(int(number))) for number in numbers),
        bodies=tuple(bodies),
        points=tuple(_shown_points(record, arrays)),
        forces=tuple(shown_forces(robot, arrays)),
        curves=tuple(_shown_curves(record, assets, arrays)),
        tool_paths={arm.name: arrays[f"robots.{robot.name}.{arm.name}.tcp_position"] for arm in robot.arms},
        eye=eye,
        target=target,
    )
    return scene, notices


def _fixed_bodies(record: EpisodeRecord, frames: int) -> Iterator[ShownBody]:
    for name, mesh, pose in fixed_meshes(record.layout):
        yield fixed_body(name, mesh, pose, frames=frames)


def _robot_bodies(robot: RobotCfg, arrays: Mapping[str, Array]) -> Iterator[ShownBody]:
    with open_robot(robot) as model:
        yield from _moving_bodies(model, *robot_joints(robot, arrays))


def _object_bodies(assets: Mapping[str, ObjectAsset], arrays: Mapping[str, Array]) -> Iterator[ShownBody]:
    for name, asset in assets.items():
        with open_object(name, asset) as model:
            yield from _moving_bodies(model, *object_joints(model, name, arrays))


def _moving_bodies(
    model: SceneModel, joints: list[str], positions: Array, roots: list[Pose] | None = None
) -> Iterator[ShownBody]:
    """Yields the visible links of a model, posed by joint positions (T, n)."""
    frames = [
        model.link_poses(joints, row, None if roots is None else roots[frame]) for frame, row in enumerate(positions)
    ]
    for link, meshes in model.meshes.items():
        track = [poses[link] for poses in frames]
        yield ShownBody(
            f"{model.name}/{link}",
            tuple(meshes),
            np.array([pose.p for pose in track]),
            np.array([pose.quat_xyzw for pose in track]),
        )


def _shown_points(record: EpisodeRecord, arrays: Mapping[str, Array]) -> Iterator[ShownPoint]:
    acted_on = {(skill.get("object"), skill.get("part")) for skill in record.skills}
    for key, positions in arrays.items():
        first, _, rest = key.partition(".")
        if first == "keypoints":
            owner, part, point = rest.split(".", 2)
            yield ShownPoint(f"{owner}/{part}/{point}", point, positions, (owner, part) in acted_on)


def shown_forces(robot: RobotCfg, arrays: Mapping[str, Array]) -> Iterator[ShownForce]:
    """Yields the largest force of every contact view in each of the T states of a record."""
    first_arm = robot.arms[0].name
    known = list(_CONTACT_VIEWS)
    keys = [key for key in arrays if key.startswith("contacts.") and key.endswith(".force_max_n")]
    for key in sorted(keys, key=lambda key: [view in key for view in known], reverse=True):
        values = arrays[key]
        name = key.removeprefix("contacts.").removesuffix(".force_max_n")
        words = name.split(".")
        label, rgb, point = _CONTACT_VIEWS.get(words[-1], (words[-1].replace("_", " "), (90, 90, 90), "ee_position"))
        arm = words[1] if len(words) > 2 else first_arm
        owner = f"robots.{robot.name}.{arm}"
        if words[-1] in OBJECT_VIEWS:
            owner, label = f"objects.{words[0]}", f"{words[0]} {label}"
        places = arrays[f"{owner}.{point}"]
        # a force between two frames belongs to the later one
        yield ShownForce(name, label, rgb, np.concatenate([np.zeros(1), values])[: len(places)], places)


def _shown_curves(
    record: EpisodeRecord, assets: Mapping[str, ObjectAsset], arrays: Mapping[str, Array]
) -> Iterator[ShownCurve]:
    """Yields the positions of the parts that a skill acted on."""
    shown = set()
    for skill in record.skills:
        owner, part, column = str(skill.get("object")), str(skill.get("part")), skill.get("joint_index")
        key = f"objects.{owner}.joint_positions"
        if owner not in assets or key not in arrays or column is None or (key, column) in shown:
            continue
        shown.add((key, column))
        slides = assets[owner].articulation.part(part).kind is PartKind.slider
        yield ShownCurve(f"{part} of {owner}", "m" if slides else "rad", arrays[key][:, column])


def _fill_gaps(array: Array) -> Array:
    """Replaces rows that are not finite with the last finite row: a diverged episode ends with such rows."""
    if not len(array) or np.isfinite(array).all():
        return array
    good = np.isfinite(array.reshape(len(array), -1)).all(axis=1)
    last = np.maximum.accumulate(np.where(good, np.arange(len(array)), -1))
    filled: Array = np.where(good.any(), array[np.maximum(last, int(np.argmax(good)))], 0.0)
    return filled
