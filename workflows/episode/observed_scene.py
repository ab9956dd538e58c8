"""The scene as observations and exports see it: its objects, and the triangles of their parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.annotation import KEYPOINT_NAMES, HandleType, Part, PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.robots.description import RobotCfg
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.observed_scene import (
    ActedPart,
    ObservedObject,
    ObservedScene,
    PartGeometry,
    recorded_parts,
)
from unlatch.simcore.rng import stream
from unlatch.simcore.urdf.model import UrdfModel, movable_joints, rigid_shapes
from unlatch.workflows.episode.assets import load_assets
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.episode.scene import base_of

Array = np.ndarray


def object_geometry(asset: ObjectAsset) -> ObservedObject:
    """Returns the geometry of an object and of all its annotated parts."""
    model = asset.model
    return ObservedObject(
        model=model,
        joints=movable_joints(model),
        bounds=asset.bounds_obj,
        parts={name: part_geometry(part, model) for name, part in asset.articulation.parts.items()},
    )


def part_geometry(part: Part, model: UrdfModel) -> PartGeometry:
    """Returns the geometry of a part.

    Where the annotation has no pose of a handle, the grip is the keypoint `articulated_object_head`; its axes are those
    of the part.
    """
    joint = model.joints[part.joint]
    R_link_part = part_axes(part)
    T_link_grip = _grip_pose(part, model, R_link_part)
    T_link_child = model.link_pose(part.link).inverse() @ model.link_pose(joint.child)
    axis = T_link_child.rotate(part.openness.sign * joint.axis / np.linalg.norm(joint.axis))
    slides = joint.kind == "prismatic"
    along = axis * (axis @ (T_link_grip.p - T_link_child.p))
    limits = (joint.lower, joint.upper) if joint.kind != "continuous" else (part.openness.closed, part.openness.open)
    center, size = _bound_part(part, model, R_link_part)
    return PartGeometry(
        kind=part.kind.name,
        link=part.link,
        joint=part.joint,
        slides=slides,
        closed=part.openness.closed,
        open=part.openness.open,
        limits=(min(limits), max(limits)),
        T_link_box=Pose(R_link_part, center),
        box_size=size,
        hinge_point=T_link_grip.p if slides else T_link_child.p + along,
        hinge_axis=axis,
        T_link_grip=T_link_grip,
        grip_type=part.handle.type.name,
        grip_size=part.handle.size,
    )


def _grip_pose(part: Part, model: UrdfModel, R_link_part: Array) -> Pose:
    """Returns the grip in the link frame; its z points left, up or to the front of the closed object.

    The fingers are the same from both sides, so equal grips have equal numbers.
    """
    T_link_grip = part.handle.T_link_handle or Pose(R_link_part, part.keypoint("articulated_object_head").xyz)
    T_root_link = model.link_pose(part.link, {part.joint: part.openness.closed})
    along = T_root_link.rotate(T_link_grip.R[:, 2])
    sign = 1.0 if along[np.argmax(np.abs(along))] >= 0.0 else -1.0
    return Pose(T_link_grip.R * [1.0, sign, sign], T_link_grip.p)


def part_axes(part: Part) -> Array:
    """Returns (3, 3) directions in the link frame, one per column: out of the part, across and along its grip."""
    across = part.keypoint("articulated_object_tail").xyz - part.keypoint("articulated_object_head").xyz
    across = across / np.linalg.norm(across)
    along = part.axis("link0_contact_axis").xyz
    out = np.cross(across, along)
    out = out / np.linalg.norm(out)
    return np.column_stack([out, np.cross(along, out), along])


def _bound_part(part: Part, model: UrdfModel, R_link_part: Array) -> tuple[Array, Array]:
    """Returns centre (3,) in the link frame and extents (3,) of the box with given axes around a part [m]."""
    clouds = [shape.T_link_shape @ shape_mesh(shape).vertices for shape in rigid_shapes(model, part.link)]
    points = np.concatenate([np.zeros((0, 3)), *clouds]) @ R_link_part
    if not len(points):
        return part.keypoint("articulated_object_head").xyz, np.zeros(3)
    low, high = points.min(axis=0), points.max(axis=0)
    return R_link_part @ ((low + high) / 2), high - low


SKILL_KINDS = ("open", "close", "rotate", "hold", "pick", "place", "home")
"""Skills that move an arm, in the order of the column `skill`. A skill of a plugin has no number there."""
COUNTED_AS = {"hold_pressed": "hold"}
"""Skills that count as another one in the column `skill`."""

MOTIONLESS = "artpreplan"
"""The skill that only searches for a layout."""


def observed_scene(robot: RobotCfg, assets: Callable[[], Mapping[str, ObjectAsset]], *, seed: int) -> ObservedScene:
    """Returns the scene of an episode with a seed: a robot and the objects that `assets` loads when first needed."""
    loaded: dict[str, ObjectAsset] = {}
    geometries: dict[str, ObservedObject] = {}

    def load_geometry(name: str) -> ObservedObject:
        if not loaded:
            loaded.update(assets())
        if name not in geometries:
            geometries[name] = object_geometry(loaded[name])
        return geometries[name]

    return ObservedScene(
        bases={arm.name: base_of(robot, arm) for arm in robot.arms},
        skills=SKILL_KINDS,
        motionless_skills=(MOTIONLESS,),
        counted_as=COUNTED_AS,
        keypoints=KEYPOINT_NAMES,
        part_kinds=tuple(kind.name for kind in PartKind),
        grip_types=tuple(kind.name for kind in HandleType),
        seed=seed,
        load_object=load_geometry,
    )


def recorded_scene(cfg: EpisodeCfg, record: EpisodeRecord) -> ObservedScene:
    """Returns the scene of a recorded episode.

    A column that needs an object raises an `AssetError` if the object does not exist, and a `RecordingError` if it is
    not the one that was recorded.
    """
    rng = stream(record.seed, "layout")
    return observed_scene(cfg.robot, lambda: load_assets(cfg, record.number, record, rng), seed=record.seed)


def acted_parts(episode: Episode) -> list[ActedPart]:
    """Returns the part of every skill of a running episode: of those that have begun, then of those to come.

    Raises:
        RecordingError: No skill moves a part.
    """
    begun = [run.chain_index for run in episode.judge.runs]
    to_come = [index for index in range(len(episode.cfg.skills)) if index not in begun]
    return recorded_parts([_describe_skill(episode, index) for index in (*begun, *to_come)], number=episode.number)


def _describe_skill(episode: Episode, index: int) -> dict[str, Any]:
    """Returns what a record states of a skill and its part."""
    name, part = episode.planner.acted_on[index]
    entry = {"name": episode.cfg.skills[index].name, "object": name, "part": part}
    if part is None:
        return entry
    item = episode.scene.objects[name]
    found = item.asset.articulation.part(part)
    joint = {"joint_index": item.joint_index(found.joint)}
    return {**entry, **joint, "s_closed": found.openness.closed, "s_open": found.openness.open}
