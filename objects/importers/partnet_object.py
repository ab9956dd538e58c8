"""Makes objects of PartNet-Mobility ready for simulation: frames, scale, colliders, masses, annotation; cached."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.annotate.annotator import PARTNET_LICENCE, AnnotateCfg, PosedPart, annotated_part, sized_parts
from unlatch.objects.annotate.joints import JointChoice, all_joint_ends, joint_limits, part_names
from unlatch.objects.annotate.posing import Ends, PosedMesh, PosedObject, pose_object
from unlatch.objects.annotate.source import PARTNET_URDF, ObjectGeometry, SourceObject, read_source
from unlatch.objects.annotate.view import Grip
from unlatch.objects.annotation import ANNOTATION_FILE, Articulation, PartKind, write_articulation
from unlatch.objects.annotation_reader import read_articulation
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg
from unlatch.objects.importers.converted_asset import mesh_collider
from unlatch.objects.importers.partnet_source import (
    SIDE_FILES,
    PartnetCategory,
    check_source_objects,
    instance_folder,
    partnet_category,
    partnet_root,
    source_instances,
    source_state,
    stated_mechanisms,
)
from unlatch.objects.importers.urdf_object import load_annotated
from unlatch.objects.validation import articulation_problems, raise_problems
from unlatch.simcore.cache import cache_root, cached_folder, json_hash
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.convex_decomposition import ConvexDecompositionCfg, Decomposition, coacd_version, decompose
from unlatch.simcore.meshes.mesh_store import model_files
from unlatch.simcore.meshes.obj_file import format_obj, mesh_colour
from unlatch.simcore.meshes.solids import hulls_inertial
from unlatch.simcore.rng import sum_in_order
from unlatch.simcore.urdf.model import Joint, Link, Shape, ShapeKind, UrdfModel

__all__ = ["check_source_objects", "load_source_object", "source_instances", "source_object_set"]

CONVERTER_VERSION = 14
"""Raise it with every change of the output: cached objects are then converted again."""

_URDF_FILE = "object.urdf"
_FACTS_FILE = "asset.json"
_SOURCE_FOLDER = "source"
_SETTINGS = ConvexDecompositionCfg()
_MOST_CANDIDATES = 8
"""At most this many joints are posed to find the best one."""
MIN_RANGE_RAD = 0.5
MIN_RANGE_UNITS = 0.12
"""Joints that move less are not doors or drawers."""


def load_source_object(cfg: ObjectCfg) -> ObjectAsset:
    """Loads one object, and converts it first unless the cache holds it intact.

    Raises:
        ConfigError: Unknown category, or no folder given.
        AssetError: The object is missing, damaged or cannot be annotated.
    """
    partnet_category(cfg.category)
    root = partnet_root(cfg.root)
    folder = instance_folder(root, cfg.category, instance=cfg.instance)
    stated = stated_mechanisms(cfg.category).get(folder.name)
    source = read_source(folder / PARTNET_URDF, category=cfg.category if stated is None else stated.category)
    if stated is not None:
        return load_annotated(source, cfg, stated)
    category = repr(partnet_category(source.category))
    files = source.files_hash(SIDE_FILES)
    key = json_hash([CONVERTER_VERSION, coacd_version(), files, cfg.scale, asdict(_SETTINGS), category])
    converted = cache_root(cfg.cache_dir) / "partnet_mobility" / source.category / f"{source.instance}-{key[:16]}"
    digest = cached_folder(converted, key=key, make=lambda temporary: _convert(source, temporary, scale=cfg.scale))
    facts = json.loads((converted / _FACTS_FILE).read_text(encoding="utf-8"))
    return ObjectAsset(
        name=cfg.name,
        category=cfg.category,
        instance=source.instance,
        source=cfg.source.value,
        urdf_path=converted / _URDF_FILE,
        articulation=read_articulation(converted),
        content_hash=digest,
        bounds_obj=np.array(facts["bounds_obj"]),
        friction=facts["friction"],
        damping=facts["damping"],
        parameters=facts["parameters"],
        files=source.all_files(SIDE_FILES),
    )


def source_object_set(cfg: ObjectCfg, *, among: Sequence[str]) -> dict[str, Any]:
    """Returns the identity of the set that an object is drawn from, see `describe_object_set`.

    `among` are the instances that may be drawn; it is empty if the configuration names one.

    Raises:
        ConfigError: Unknown category, or no folder given.
        AssetError: There is no such object.
    """
    root = partnet_root(cfg.root)
    names: list[str | None] = [*among] if among else [cfg.instance]
    found = [instance_folder(root, cfg.category, instance=name) for name in names]
    stated = stated_mechanisms(cfg.category)
    return {
        **({"mechanisms": json_hash({name: each.to_dict() for name, each in stated.items()})} if stated else {}),
        "converter": CONVERTER_VERSION,
        "coacd": coacd_version(),
        "instances": {path.name: source_state(path)[:16] for path in found},
    }


def _convert(source: SourceObject, folder: Path, *, scale: float | None) -> None:
    """Writes URDF, annotation, meshes and facts of an object into a folder."""
    category = partnet_category(source.category)
    best = _choose_part(source, category, scale)
    posed = best.posed
    if not posed.body_collisions:
        raise AssetError(
            f"{source.folder}: joint '{posed.joint.name}' has no meshes on the body.", path=str(source.folder)
        )
    size_m = float(np.max(posed.bounds[1] - posed.bounds[0]))
    joint = Joint(
        name=posed.joint.name,
        kind="prismatic" if posed.kind is PartKind.slider else "revolute",
        parent="body",
        child=category.part,
        T_parent_joint=Pose.from_translation(posed.origin),
        axis=posed.axis,
        lower=posed.lower,
        upper=posed.upper,
        friction=category.friction,
        damping=category.damping,
    )
    T_root_link = joint.child_pose(posed.closed)
    _copy_sources(source, folder)
    where = str(source.folder)
    body_meshes = [p.mesh for p in posed.body_collisions]
    body_pieces = decompose(body_meshes, _SETTINGS, size_m=size_m, where=where)
    part_meshes = [p.mesh.moved(T_root_link.inverse()) for p in posed.part_collisions]
    part_pieces = decompose(part_meshes, _SETTINGS, size_m=size_m, where=where)
    part_mass_kg = category.part_density_kg_m3 * sum_in_order(hull.volume for hull in part_pieces.hulls)
    part_mass_kg = float(np.clip(part_mass_kg, *category.part_mass_kg))
    body = Link(
        "body",
        _list_visuals(posed.body_visuals, Pose.identity(), source),
        _write_collider("body", body_pieces, folder),
        hulls_inertial(body_pieces.hulls, category.body_mass_kg),
    )
    part = Link(
        category.part,
        _list_visuals(posed.part_visuals, T_root_link, source),
        _write_collider(category.part, part_pieces, folder),
        hulls_inertial(part_pieces.hulls, part_mass_kg),
    )
    model = UrdfModel(f"{source.category}_{source.instance}", {"body": body, category.part: part}, {joint.name: joint})
    articulation = Articulation(
        category=source.category,
        source={"dataset": "partnet_mobility", "id": source.instance, "licence": PARTNET_LICENCE},
        parts={
            category.part: annotated_part(
                posed,
                best.view,
                best.grip,
                name=category.part,
                link=category.part,
                base="body",
                T_root_link=T_root_link,
                T_root_base=Pose.identity(),
            )
        },
        scale=posed.scale,
    )
    (folder / _URDF_FILE).write_text(model.to_urdf(), encoding="utf-8")
    write_articulation(articulation, folder / ANNOTATION_FILE)
    facts = {
        "bounds_obj": posed.bounds.round(6).tolist(),
        "friction": {joint.name: category.friction},
        "damping": {joint.name: category.damping},
        "parameters": _record_parameters(source, posed, best.root_grip, {"body": body_pieces, "part": part_pieces}),
    }
    (folder / _FACTS_FILE).write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    raise_problems(articulation_problems(articulation, model, size_m=size_m), where=where)


def _choose_part(source: SourceObject, category: PartnetCategory, scale: float | None) -> PosedPart:
    """Returns the part to act on: a graspable one, at the smallest scale at which it is."""
    geometry = ObjectGeometry(source)
    ends = all_joint_ends(geometry)
    choices = _find_candidates(geometry, category, ends)
    size_m = category.size_m if source.info_scale is None and scale is None else None
    cfg = AnnotateCfg(scale=scale, use_info=True)
    return sized_parts(geometry, choices, ends, cfg, usual_m=size_m, largest_m=category.largest_m)[0]


def _find_candidates(geometry: ObjectGeometry, category: PartnetCategory, ends: Ends) -> list[JointChoice]:
    """Returns the joints that may be acted on, in the order of the file.

    If the names of some parts belong to the category, only the joints of these parts count.
    """
    source = geometry.source
    fitting = []
    for joint in source.model.joints.values():
        if not joint.moves:
            continue
        lower, upper = joint_limits(joint)
        least = MIN_RANGE_UNITS if joint.kind == "prismatic" else MIN_RANGE_RAD
        choice = JointChoice(joint, part_names(geometry, joint), "")
        if upper - lower > least and _find_kind(geometry, choice, ends) in category.kinds:
            fitting.append(choice)
    named = [c for c in fitting if source.semantics.get(c.joint.child) in category.semantics]
    if not fitting:
        kinds = ", ".join(kind.name for kind in category.kinds)
        raise AssetError(
            f"{source.folder}: no joint of kind {kinds} that moves. Joints: "
            + ", ".join(f"{joint.name} ({joint.kind})" for joint in source.model.joints.values())
            + ".",
            path=str(source.folder),
        )
    return (named or fitting)[:_MOST_CANDIDATES]


def _find_kind(geometry: ObjectGeometry, choice: JointChoice, ends: Ends) -> PartKind | None:
    try:
        return pose_object(geometry, choice.joint, scale=1.0, ends=ends, names=choice.names).kind
    except AssetError:  # nothing of it is visible
        return None


def _list_visuals(visuals: list[PosedMesh], T_root_link: Pose, source: SourceObject) -> tuple[Shape, ...]:
    """Returns the visuals of a link; their meshes are the copied files of the source."""
    T_link_root = T_root_link.inverse()
    return tuple(
        Shape(
            ShapeKind.mesh,
            (float(p.scale[0]), float(p.scale[1]), float(p.scale[2])),
            T_link_root @ p.T_root_mesh,
            p.shape.name,
            mesh_colour(p.shape, source.folder),
            mesh=f"{_SOURCE_FOLDER}/{p.shape.mesh}",
        )
        for p in visuals
    )


def _write_collider(name: str, pieces: Decomposition, folder: Path) -> tuple[Shape]:
    """Writes the convex pieces of a link into one OBJ, and returns the collider."""
    file = f"collision_{name}.obj"
    (folder / file).write_text(format_obj(pieces.hulls, named=True, decimals=6), encoding="utf-8")
    return (mesh_collider(folder, file),)


def _record_parameters(
    source: SourceObject, posed: PosedObject, grip: Grip, reports: dict[str, Decomposition]
) -> dict[str, float | str]:
    values: dict[str, Any] = {
        "scale": round(posed.scale, 6),
        "scale_of_info": source.info_scale if source.info_scale is not None else "none",
        "handle_name": grip.name or "none",
        "handle_clearance_m": round(grip.clearance_m, 4),
    }
    if posed.info_head is not None:
        values["head_to_info_head_m"] = round(float(np.linalg.norm(grip.centre - posed.info_head)), 4)
    for name, report in reports.items():
        values[f"{name}_hulls"] = float(len(report.hulls))
        values[f"{name}_methods"] = ", ".join(f"{method} {count}" for method, count in report.methods.items())
    return values


def _copy_sources(source: SourceObject, folder: Path) -> None:
    for name, path in model_files(source.model, source.folder).items():
        target = folder / _SOURCE_FOLDER / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
