"""Finds objects of PartNet-Mobility and makes them ready for simulation: frames, scale, colliders, annotation."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.annotate.annotator import PARTNET_LICENCE, AnnotateCfg, PosedPart, annotated_part, sized_parts
from unlatch.objects.annotate.joints import JointChoice, all_joint_ends, joint_limits, part_names
from unlatch.objects.annotate.posing import Ends, PosedMesh, PosedObject, pose_object
from unlatch.objects.annotate.source import PARTNET_URDF, ObjectGeometry, SourceObject, read_json, read_source
from unlatch.objects.annotate.view import Grip
from unlatch.objects.annotation import ANNOTATION_FILE, Articulation, PartKind, write_articulation
from unlatch.objects.annotation_reader import read_articulation
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import PARTNET_VARIABLE, ObjectCfg
from unlatch.objects.importers.converted_asset import mesh_collider
from unlatch.objects.validation import articulation_problems, raise_problems
from unlatch.simcore.cache import cache_root, cached_folder, json_hash
from unlatch.simcore.errors import AssetError, ConfigError, close_matches, unknown_name
from unlatch.simcore.files import user_path
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.convex_decomposition import ConvexDecompositionCfg, Decomposition, coacd_version, decompose
from unlatch.simcore.meshes.mesh_store import model_files
from unlatch.simcore.meshes.obj_file import format_obj, mesh_colour
from unlatch.simcore.meshes.solids import hulls_inertial
from unlatch.simcore.rng import sum_in_order
from unlatch.simcore.urdf.model import Joint, Link, Shape, ShapeKind, UrdfModel


@dataclass(frozen=True, kw_only=True)
class PartnetCategory:
    """What we add to a category of the data set; by default, a door with a vertical hinge is acted on."""

    folders: tuple[str, ...]
    """Folder names under the root; the first folder that holds the instance counts."""
    part: str = "door"
    """Name of the acted part in our annotation."""
    kinds: tuple[PartKind, ...] = (PartKind.hinge_vertical,)
    """Kinds that the acted joint may have, by its axis."""
    semantics: tuple[str, ...] = ("door",)
    """Part names in `semantics.txt` that qualify, best first; empty accepts any moving part."""
    size_m: float
    """Largest extent of the object if no `info.json` gives a scale [m]."""
    largest_m: float
    """An object whose handle is too small for a hand is enlarged up to this extent [m]."""
    body_mass_kg: float
    part_density_kg_m3: float
    """Density of the convex pieces of the moving part; its mass is then clipped to `part_mass_kg`."""
    part_mass_kg: tuple[float, float]
    friction: float = 0.5
    """Dry friction of the joints [N m or N]."""
    damping: float = 0.3
    """Viscous damping of the joints [N m s/rad or N s/m]."""
    summary: str


CATEGORIES: dict[str, PartnetCategory] = {
    "drawer": PartnetCategory(
        folders=("drawer", "StorageFurniture", "Table"),
        part="drawer",
        kinds=(PartKind.slider,),
        semantics=("drawer",),
        size_m=0.50,
        largest_m=0.62,
        body_mass_kg=15.0,
        part_density_kg_m3=500.0,
        part_mass_kg=(1.0, 4.0),
        friction=1.5,
        damping=1.0,
        summary="cabinets and tables: the drawer with the best handle is acted on",
    ),
    "microwave": PartnetCategory(
        folders=("microwave", "Microwave"),
        size_m=0.46,
        largest_m=0.56,
        body_mass_kg=11.0,
        part_density_kg_m3=500.0,
        part_mass_kg=(1.2, 2.5),
        friction=0.3,
        damping=0.1,
        summary="microwave ovens with a side-hinged door",
    ),
    "refrigerator": PartnetCategory(
        folders=("refrigerator", "Refrigerator"),
        size_m=0.80,
        largest_m=1.00,
        body_mass_kg=30.0,
        part_density_kg_m3=200.0,
        part_mass_kg=(3.0, 8.0),
        summary="refrigerators: the door with the best handle is acted on",
    ),
    "safe": PartnetCategory(
        folders=("safe", "safe_rotate", "Safe"),
        size_m=0.45,
        largest_m=0.60,
        body_mass_kg=25.0,
        part_density_kg_m3=1500.0,
        part_mass_kg=(3.0, 8.0),
        summary="safes with a side-hinged door",
    ),
}
"""Categories by name, sorted."""


SIDE_FILES = ("info.json", "semantics.txt")
"""Files beside the URDF of an object."""
_MESH_SUFFIXES = (".obj", ".mtl")


def partnet_category(name: str) -> PartnetCategory:
    """Returns the category of a name.

    Raises:
        ConfigError: There is no such category.
    """
    if name not in CATEGORIES:
        kind = "a category of source=partnet_mobility"
        raise unknown_name(name, kind, where="object.category", known=CATEGORIES)
    return CATEGORIES[name]


def partnet_root(root: str | None) -> Path:
    """Returns the folder of the data set: the argument, else the environment variable.

    Raises:
        ConfigError: Neither is set.
        AssetError: There is no such folder.
    """
    chosen = root or os.environ.get(PARTNET_VARIABLE)
    both = f"Set object.root=FOLDER or the environment variable {PARTNET_VARIABLE}"
    if not chosen:
        raise ConfigError(f"No folder of PartNet-Mobility objects is given. {both}.", key="object.root")
    path = user_path(chosen)
    if not path.is_dir():
        raise AssetError(f"The folder of PartNet-Mobility objects '{chosen}' does not exist. {both}.", path=str(path))
    return path.resolve()


def source_instances(cfg: ObjectCfg) -> list[str]:
    """Returns the ids of the objects of a category.

    Raises:
        ConfigError: Unknown category, or no folder given.
    """
    return list(partnet_instances(partnet_root(cfg.root), cfg.category))


def partnet_instances(root: Path, category: str) -> dict[str, Path]:
    """Returns folders by instance id, sorted: `<category>/<id>/` or, as downloaded, `<id>/` with a `meta.json`."""
    return {name: path for name, path in _category_folders(root, category).items() if (path / PARTNET_URDF).is_file()}


def check_source_objects(cfg: ObjectCfg, *, among: Sequence[str] | None) -> None:
    """Checks that objects of a category have a URDF and readable side files, without converting them.

    `among` are their ids; None: every object of the category.

    Raises:
        AssetError: Some objects are damaged; the message names the first three.
    """
    root, category = partnet_root(cfg.root), cfg.category
    folders = [path for name, path in _category_folders(root, category).items() if among is None or name in among]
    problems = [problem for path in folders if (problem := _find_damage(path))]
    if problems:
        more = f" And {len(problems) - 3} more." if len(problems) > 3 else ""
        raise AssetError(
            f"{len(problems)} objects of category '{category}' are damaged: {' '.join(problems[:3])}{more} "
            "Restore or remove these folders, or set object.instance to the id of another one.",
            path=str(root),
            problems=problems,
        )


def source_state(folder: Path) -> str:
    """Returns a quick hash of an object: over its URDF and side files, and over names and sizes of its meshes."""
    digest = hashlib.sha256()
    for name in (PARTNET_URDF, *SIDE_FILES):
        path = folder / name
        digest.update(f"{name}\0{path.stat().st_size if path.is_file() else -1}\0".encode())
        digest.update(path.read_bytes() if path.is_file() else b"")
    for path in sorted(p for p in folder.rglob("*") if p.suffix in _MESH_SUFFIXES):
        digest.update(f"{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0".encode())
    return digest.hexdigest()


def _category_folders(root: Path, category: str) -> dict[str, Path]:
    """Returns folders of a category by id, sorted by id: those with a URDF, and those with a number as their name."""
    names = partnet_category(category).folders
    found: dict[str, Path] = {}
    for name in names:
        if (root / name).is_dir():
            found = {p.name: p for p in (root / name).iterdir() if p.is_dir()} | found
    found = {name: path for name, path in found.items() if name.isdigit() or (path / PARTNET_URDF).is_file()}
    if not any((path / PARTNET_URDF).is_file() for path in found.values()):
        found |= {
            path.name: path for path in root.iterdir() if (path / PARTNET_URDF).is_file() and _has_category(path, names)
        }
    return {name: found[name] for name in sorted(found, key=lambda n: (len(n), n))}


def _has_category(folder: Path, names: Sequence[str]) -> bool:
    """Returns whether the `meta.json` of a folder names one of some categories; a damaged file names none."""
    try:
        return read_json(folder / "meta.json").get("model_cat") in names
    except AssetError:
        return False


def _find_damage(folder: Path) -> str | None:
    urdf = folder / PARTNET_URDF
    if not urdf.is_file():
        return f"{folder} has no {PARTNET_URDF}."
    if not urdf.stat().st_size:
        return f"{urdf} is empty."
    try:
        read_json(folder / "info.json")
    except AssetError as exc:
        return exc.message
    return None


def instance_folder(root: Path, category: str, *, instance: str | None) -> Path:
    """Returns the folder of an instance.

    Raises:
        AssetError: `instance` is None or unknown, or the category has no instances.
    """
    instances = partnet_instances(root, category)
    if not instances or instance is None:
        names = ", ".join(partnet_category(category).folders)
        raise AssetError(
            f"No object of category '{category}' in {root} (looked for folders {names}). "
            f"Set object.root=FOLDER or {PARTNET_VARIABLE} to the folder that holds them.",
            path=str(root),
        )
    if instance not in instances:
        raise AssetError(
            f"No {category} '{instance}' in {root}.{close_matches(instance, instances)} "
            f"Set object.instance to one of: {', '.join(instances)}.",
            name=instance,
            available=list(instances),
        )
    return instances[instance]


__all__ = ["check_source_objects", "load_source_object", "source_instances", "source_object_set"]

CONVERTER_VERSION = 11
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
    source = read_source(folder / PARTNET_URDF, category=cfg.category)
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
    return {
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
