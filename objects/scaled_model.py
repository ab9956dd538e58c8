"""Models that are changed for a scene: scaled, or turned to rest on another side."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from unlatch.objects.annotation import (
    ANNOTATION_FILE,
    Articulation,
    FramedVector,
    Openness,
    Part,
    PartKind,
    write_articulation,
)
from unlatch.objects.annotation_reader import read_articulation
from unlatch.objects.articulated_object import PHYSICS_FILE, ObjectAsset
from unlatch.objects.config import RestsOn
from unlatch.objects.turned_object import turn_object
from unlatch.simcore.cache import cache_root, cached_folder, json_hash
from unlatch.simcore.files import plain_name
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.mesh_store import model_files
from unlatch.simcore.temporary_folders import scratch_files
from unlatch.simcore.urdf.model import Inertial, Joint, Link, Shape, UrdfModel
from unlatch.simcore.urdf.reader import read_urdf


def scaled_model(model: UrdfModel, factor: float) -> UrdfModel:
    """Returns a model with all lengths multiplied. Densities stay the same, so masses grow with the third power."""
    if factor == 1.0:
        return model
    links = {
        name: Link(
            name,
            tuple(_scaled_shape(shape, factor) for shape in link.visuals),
            tuple(_scaled_shape(shape, factor) for shape in link.collisions),
            _scaled_inertial(link.inertial, factor),
        )
        for name, link in model.links.items()
    }
    return UrdfModel(model.name, links, {name: _scaled_joint(joint, factor) for name, joint in model.joints.items()})


def scaled_pose(pose: Pose, factor: float) -> Pose:
    """Returns the pose with its position multiplied."""
    return Pose(pose.R, pose.p * factor)


def _scaled_shape(shape: Shape, factor: float) -> Shape:
    size = tuple(value * factor for value in shape.size)
    return replace(shape, size=size, T_link_shape=scaled_pose(shape.T_link_shape, factor))


def _scaled_inertial(inertial: Inertial | None, factor: float) -> Inertial | None:
    if inertial is None:
        return None
    return Inertial(inertial.mass_kg * factor**3, inertial.com_link * factor, inertial.inertia * factor**5)


def _scaled_joint(joint: Joint, factor: float) -> Joint:
    limits = factor if joint.kind == "prismatic" else 1.0
    return replace(
        joint,
        T_parent_joint=scaled_pose(joint.T_parent_joint, factor),
        lower=joint.lower * limits,
        upper=joint.upper * limits,
    )


def scaled_object(asset: ObjectAsset, factor: float) -> ObjectAsset:
    """Returns an object all of whose lengths are multiplied; its files are in the temporary folder of this process.

    Forces change with the third power, as weights do, and speeds with the root: the small object moves like the large
    one in slow motion. Drives and masses of `physics.json` are left out.

    Raises:
        AssetError: The temporary folder cannot be written.
    """
    articulation = _scaled_articulation(asset.articulation, factor)
    model = scaled_model(asset.model, factor)
    is_slide = {name: joint.kind == "prismatic" for name, joint in model.joints.items()}
    files = {
        _URDF_FILE: model.to_urdf().encode(),
        ANNOTATION_FILE: articulation.to_yaml().encode(),
        **{
            name: path.read_bytes() for name, path in model_files(asset.model, asset.urdf_path.parent.resolve()).items()
        },
    }
    digest = json_hash([asset.content_hash, factor])
    folder = scratch_files(f"{plain_name(asset.instance)[:64]}-sized-{digest[:24]}", files)

    def write_textured(write: Callable[[], Path]) -> Path:
        drawn = write()
        shapes = scaled_model(read_urdf(drawn), factor)
        meshes = {path.name: path.read_bytes() for path in drawn.parent.iterdir() if path.name != drawn.name}
        name = f"{folder.name}-drawn"
        return scratch_files(name, {drawn.name: shapes.to_urdf().encode(), **meshes}) / drawn.name

    return replace(
        asset,
        urdf_path=folder / _URDF_FILE,
        articulation=articulation,
        content_hash=digest,
        bounds_obj=asset.bounds_obj * factor,
        friction={name: value * factor ** (3 if is_slide[name] else 4) for name, value in asset.friction.items()},
        damping={name: value * factor ** (2.5 if is_slide[name] else 4.5) for name, value in asset.damping.items()},
        parameters={**asset.parameters, "size": factor},
        write_textured=None if asset.write_textured is None else partial(write_textured, asset.write_textured),
    )


def _scaled_articulation(articulation: Articulation, factor: float) -> Articulation:
    """Returns an annotation with all lengths multiplied; directions stay."""

    def scaled_points(points: Mapping[str, FramedVector]) -> dict[str, FramedVector]:
        return {name: FramedVector(point.frame, point.xyz * factor) for name, point in points.items()}

    def scaled_part(part: Part) -> Part:
        handle, openness = part.handle, part.openness
        T = None if handle.T_link_handle is None else scaled_pose(handle.T_link_handle, factor)
        reach = factor if part.kind is PartKind.slider else 1.0
        forces = part.closing_forces
        return replace(
            part,
            keypoints=scaled_points(part.keypoints),
            handle=replace(handle, size=handle.size * factor, T_link_handle=T),
            openness=Openness(openness.closed * reach, openness.open * reach),
            closing_forces=None if forces is None else forces.scaled(factor),
        )

    regions = articulation.regions
    return replace(
        articulation,
        parts={name: scaled_part(part) for name, part in articulation.parts.items()},
        scale=articulation.scale * factor,
        handles={
            name: replace(handle, middle=handle.middle * factor, thickness_m=handle.thickness_m * factor)
            for name, handle in articulation.handles.items()
        },
        keypoints=scaled_points(articulation.keypoints),
        regions=None
        if regions is None
        else {
            name: replace(each, T_link_region=scaled_pose(each.T_link_region, factor), size=each.size * factor)
            for name, each in regions.items()
        },
    )


VERSION = 2
"""Raise it with every change of the output: cached objects are then turned again."""

_URDF_FILE = "object.urdf"
_FACTS_FILE = "asset.json"


def write_turned_object(
    asset: ObjectAsset, side: RestsOn, *, front_part: str | None, cache_dir: str | None
) -> ObjectAsset:
    """Returns an object that lies on a side; its files are written first unless the cache holds them.

    Args:
        asset: The standing object.
        side: The side that is down.
        front_part: The part whose front faces the robot; None: the first one.
        cache_dir: See `unlatch.simcore.cache`.

    Raises:
        AssetError: The cache cannot be written.
    """
    key = json_hash([VERSION, asset.content_hash, asset.urdf_path.name, side.value, front_part])
    folder = cache_root(cache_dir) / "turned" / f"{plain_name(asset.instance)[:64]}-{side.value}-{key[:16]}"
    digest = cached_folder(folder, key=key, make=lambda made: _write_turned(asset, side, front_part, made))
    facts = json.loads((folder / _FACTS_FILE).read_text(encoding="utf-8"))
    return replace(
        asset,
        urdf_path=folder / _URDF_FILE,
        articulation=read_articulation(folder),
        content_hash=digest,
        bounds_obj=np.array(facts["bounds_obj"]),
        R_obj_peer=np.array(facts["R_lying_standing"]) @ asset.R_obj_peer,
    )


def _write_turned(asset: ObjectAsset, side: RestsOn, front_part: str | None, folder: Path) -> None:
    lying = turn_object(asset.model, asset.articulation, asset.bounds_obj, side, front_part=front_part)
    source = asset.urdf_path.parent.resolve()
    for name, path in model_files(asset.model, source).items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    if (source / PHYSICS_FILE).is_file():
        shutil.copyfile(source / PHYSICS_FILE, folder / PHYSICS_FILE)
    (folder / _URDF_FILE).write_text(lying.model.to_urdf(), encoding="utf-8")
    write_articulation(lying.articulation, folder / ANNOTATION_FILE)
    facts = {
        "bounds_obj": lying.bounds_obj.round(6).tolist(),
        "R_lying_standing": lying.R_lying_standing.round().tolist(),  # quarter turns: exact
    }
    (folder / _FACTS_FILE).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
