"""Reads the scene of a recorded episode from its record and the header of its data set; simulates nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np

from unlatch.objects.annotation import PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.robots.description import RobotCfg, base_pose
from unlatch.robots.model import model_path
from unlatch.simcore.errors import RecordingError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.skills.contract.command import Phase
from unlatch.workflows.episode.scene import TABLE_CENTER_M, TABLE_SIZE_M
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.viewing.phase_moments import failure_notes, nothing_to_show
from unlatch.workflows.viewing.picture import Rgb
from unlatch.workflows.viewing.scene_picture import add_laid_out_state
from unlatch.workflows.viewing.viewers.link_meshes import ColouredMesh, box_mesh, link_meshes
from unlatch.workflows.viewing.viewers.recorded_scene import (
    RecordedScene,
    ShownBody,
    ShownCurve,
    ShownForce,
    ShownPoint,
    fixed_body,
)

Array = np.ndarray

_TABLE_RGBA = (0.83, 0.79, 0.72, 1.0)
_PLINTH_RGBA = (0.45, 0.47, 0.5, 1.0)
_PHASE_NAMES = {phase.value: phase.name for phase in Phase}
_CONTACT_VIEWS: dict[str, tuple[str, Rgb, str]] = {
    "fingers_link": ("fingers on the moving part", (32, 150, 70), "tcp_position"),
    "fingers_base": ("fingers on the object's body", (240, 150, 20), "tcp_position"),
    "fingers": ("a finger, all contacts", (60, 120, 220), "tcp_position"),
    "forbid_collision": ("arm on the object", (215, 35, 35), "ee_position"),
    "environment": ("robot on its surroundings", (150, 60, 200), "ee_position"),
}
"""Label, colour, and point of the arm for the mark, by the last word of a contact view."""


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
    assets, notices = _load_assets([cfg.object, *cfg.objects], record)
    bodies = [*_fixed_bodies(record, len(times)), *_robot_bodies(robot, arrays), *_object_bodies(assets, arrays)]
    eye, target = _choose_view(assets, arrays)
    numbers = record.arrays.get("skills.phase", np.zeros(len(times), dtype=int))
    scene = RecordedScene(
        title=f"{cfg.task.name} · episode {number} · {record.outcome}",
        success=record.success,
        notes=(*record.language[:1], *failure_notes(record)),
        times_s=arrays["time"] - arrays["time"][0],
        phases=tuple(_PHASE_NAMES.get(int(number), str(int(number))) for number in numbers),
        bodies=tuple(bodies),
        points=tuple(_shown_points(record, arrays)),
        forces=tuple(_shown_forces(robot, arrays)),
        curves=tuple(_shown_curves(record, assets, arrays)),
        tool_paths={arm.name: arrays[f"robots.{robot.name}.{arm.name}.tcp_position"] for arm in robot.arms},
        eye=eye,
        target=target,
    )
    return scene, notices


def _load_assets(objects: list[ObjectCfg], record: EpisodeRecord) -> tuple[dict[str, ObjectAsset], list[str]]:
    """Loads the objects of the episode; returns them and a line for each that has changed since."""
    instances = record.layout.get("instances", {})
    assets, notices = {}, []
    for cfg in objects:
        drawn = instances.get(cfg.name, {}).get("instance", cfg.instance)
        # the generator draws nothing: the instance is known
        named = cfg if drawn is None else cfg.with_instance(drawn)
        asset = load_object(named, rng=np.random.default_rng(0), number=record.number)
        assets[cfg.name] = asset
        if record.assets.get(cfg.name) != asset.content_hash:
            notices.append(
                f"object '{cfg.name}' ({asset.source} {asset.category} {asset.instance}) differs from the recorded "
                "one: it was changed, or another version made it; its shape may differ"
            )
    return assets, notices


def _fixed_bodies(record: EpisodeRecord, frames: int) -> Iterator[ShownBody]:
    yield fixed_body(
        "table", box_mesh(np.array(TABLE_SIZE_M), _TABLE_RGBA), Pose.from_translation(TABLE_CENTER_M), frames=frames
    )
    for name, place in record.layout.get("objects", {}).items():
        size, position = place.get("plinth_size_m"), place.get("plinth_position")
        if size is not None and position is not None:
            pose = Pose.from_quat_xyzw(position, place["plinth_quat_xyzw"])
            yield fixed_body(f"plinth/{name}", box_mesh(np.array(size), _PLINTH_RGBA), pose, frames=frames)


def _robot_bodies(robot: RobotCfg, arrays: Mapping[str, Array]) -> Iterator[ShownBody]:
    path = model_path(robot)
    meshes = _robot_meshes(path)
    names: list[str] = []
    columns: list[Array] = []
    for arm in robot.arms:
        prefix = f"robots.{robot.name}.{arm.name}"
        fingers = arm.gripper.joints
        names += [*arm.joints, *fingers]
        columns.append(arrays[f"{prefix}.joint_positions"])
        shared = np.array([arm.gripper.positions(float(opening)) for (opening,) in arrays[f"{prefix}.gripper_opening"]])
        columns.append(arrays.get(f"{prefix}.gripper_joint_positions", shared))
    with World(WorldCfg()) as world:
        body = world.load_urdf(path, name=robot.name, T_world_root=base_pose(robot))
        yield from _posed_links(f"robot/{robot.name}", body, meshes, names, np.concatenate(columns, axis=1))


@lru_cache(maxsize=4)
def _robot_meshes(path: Path) -> Mapping[str, list[ColouredMesh]]:
    return link_meshes(read_urdf(path, packages=True))


def _object_bodies(assets: Mapping[str, ObjectAsset], arrays: Mapping[str, Array]) -> Iterator[ShownBody]:
    for name, asset in assets.items():
        meshes = link_meshes(read_urdf(asset.drawn_urdf()))
        prefix = f"objects.{name}"
        roots = [
            Pose.from_quat_xyzw(*pair)
            for pair in zip(arrays[f"{prefix}.root_position"], arrays[f"{prefix}.root_quat_xyzw"], strict=True)
        ]
        with World(WorldCfg()) as world:
            body = world.load_urdf(asset.urdf_path, name=name, T_world_root=roots[0])
            joints = [joint.name for joint in body.movable_joints]
            positions = arrays[f"{prefix}.joint_positions"]
            if positions.shape[1] != len(joints):
                raise RecordingError(
                    f"Object '{name}' has {len(joints)} movable joints here ({', '.join(joints)}), the record has "
                    f"{positions.shape[1]}. Expected the object that was recorded. Restore it.",
                    object=name,
                )
            yield from _posed_links(f"object/{name}", body, meshes, joints, positions, roots=roots)


def _posed_links(
    prefix: str,
    body: Body,
    meshes: Mapping[str, list[ColouredMesh]],
    joints: list[str],
    positions: Array,
    *,
    roots: list[Pose] | None = None,
) -> Iterator[ShownBody]:
    """Yields the visible links of a body, posed by joint positions (T, n)."""
    poses: dict[str, list[Pose]] = {link: [] for link in meshes}
    for frame, row in enumerate(positions):
        if roots is not None:
            body.set_root_pose(roots[frame])
        body.set_joint_positions(joints, row)
        for link, track in poses.items():
            track.append(body.link_pose(link))
    for link, track in poses.items():
        yield ShownBody(
            f"{prefix}/{link}",
            tuple(meshes[link]),
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


def _shown_forces(robot: RobotCfg, arrays: Mapping[str, Array]) -> Iterator[ShownForce]:
    first_arm = robot.arms[0].name
    known = list(_CONTACT_VIEWS)
    keys = [key for key in arrays if key.startswith("contacts.") and key.endswith(".force_max_n")]
    for key in sorted(keys, key=lambda key: [view in key for view in known], reverse=True):
        values = arrays[key]
        name = key.removeprefix("contacts.").removesuffix(".force_max_n")
        words = name.split(".")
        label, rgb, point = _CONTACT_VIEWS.get(words[-1], (words[-1].replace("_", " "), (90, 90, 90), "ee_position"))
        arm = words[1] if len(words) > 2 else first_arm
        places = arrays[f"robots.{robot.name}.{arm}.{point}"]
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


def _choose_view(assets: Mapping[str, ObjectAsset], arrays: Mapping[str, Array]) -> tuple[Array, Array]:
    """Returns eye and target (3,) [m]: from behind the robot's right shoulder, which shows hand and object."""
    middles = []
    for name, asset in assets.items():
        pose = Pose.from_quat_xyzw(
            arrays[f"objects.{name}.root_position"][0], arrays[f"objects.{name}.root_quat_xyzw"][0]
        )
        middles.append(pose @ asset.bounds_obj.mean(axis=0))
    target = 0.6 * np.mean(middles, axis=0) + 0.4 * np.array([0.12, 0.0, 0.5])
    return target + np.array([-0.72, -1.3, 0.7]), target


def _fill_gaps(array: Array) -> Array:
    """Replaces rows that are not finite with the last finite row: a diverged episode ends with such rows."""
    if not len(array) or np.isfinite(array).all():
        return array
    good = np.isfinite(array.reshape(len(array), -1)).all(axis=1)
    last = np.maximum.accumulate(np.where(good, np.arange(len(array)), -1))
    filled: Array = np.where(good.any(), array[np.maximum(last, int(np.argmax(good)))], 0.0)
    return filled
