"""Models that are changed for a scene: scaled, or turned to rest on another side."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np

from unlatch.objects.annotation import ANNOTATION_FILE, write_articulation
from unlatch.objects.annotation_reader import read_articulation
from unlatch.objects.articulated_object import PHYSICS_FILE, ObjectAsset
from unlatch.objects.config import RestsOn
from unlatch.objects.turned_object import turn_object
from unlatch.simcore.cache import cache_root, cached_folder, json_hash
from unlatch.simcore.files import plain_name
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.mesh_store import model_files
from unlatch.simcore.urdf.model import Inertial, Joint, Link, Shape, UrdfModel


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
