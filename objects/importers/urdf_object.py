"""Loads the object of any URDF: converts it, turns its front to +x, annotates it; and finds the URDFs of a folder."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.annotate.annotator import AnnotateCfg, annotate_source
from unlatch.objects.annotate.joints import all_joint_ends
from unlatch.objects.annotate.source import (
    PARTNET_URDF,
    UNKNOWN_CATEGORY,
    ObjectGeometry,
    SourceObject,
    read_category,
    read_source,
    with_freed_joints,
)
from unlatch.objects.annotate.storage import load_annotation, read_stated, with_stated_mechanics
from unlatch.objects.annotation import ANNOTATION_FILE, Articulation, Part
from unlatch.objects.annotation_reader import read_articulation
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg
from unlatch.objects.friction import joint_friction, rail_friction
from unlatch.objects.importers.converted_asset import ConvertedLink
from unlatch.objects.importers.plausibility import find_doubts
from unlatch.objects.importers.urdf_converter import UrdfConverter, UrdfConverterCfg, merge_fixed
from unlatch.objects.turned_object import moved_annotation, scaled_model
from unlatch.simcore.cache import cache_root, cached_folder, json_hash
from unlatch.simcore.errors import AssetError, ConfigError, close_matches, count_noun, unknown_name
from unlatch.simcore.files import plain_name, user_path
from unlatch.simcore.geometry import Pose, turn_to_x, unit
from unlatch.simcore.meshes.convex_decomposition import coacd_version
from unlatch.simcore.meshes.shape_surface import shape_cloud
from unlatch.simcore.urdf.model import Inertial, Joint, Link, UrdfModel
from unlatch.simcore.urdf.reader import read_urdf

_DEPTH = 3
"""Number of searched levels below the folder: a data set has folders for a category, an object, and its URDF."""
_MOST_ENTRIES = 100_000


def is_urdf_folder(path: Path) -> bool:
    """Returns whether a path is a folder of many objects, and not a URDF or the folder of one."""
    if not path.is_dir() or (path / PARTNET_URDF).is_file():
        return False
    count = len(_list_urdfs(path))
    return count > 1 or (count == 0 and next(_find_instances(path, path, _DEPTH, [0]), None) is not None)


def urdf_instances(root: Path) -> dict[str, Path]:
    """Returns URDFs by instance id, sorted; the id is the path from the folder, such as `oven_3` or `drawer/19179`.

    Raises:
        AssetError: The folder holds no URDF, more than `_MOST_ENTRIES` files and folders, or is a repository with
            objects somewhere below.
    """
    found = dict(_find_instances(root, root, _DEPTH, [0]))
    if not found:
        raise AssetError(
            f"'{root}' holds no URDF, {_DEPTH} folders deep. Expected URDFs, or folders with one each. Name another "
            "folder, or a file.",
            path=str(root),
        )
    _check_is_no_repository(root, found)
    return {name: found[name] for name in sorted(found, key=lambda n: (len(n), n))}


def urdf_state(urdf: Path) -> str:
    """Returns a quick hash of an object: over its URDF, and the names and sizes of the files beside it."""
    digest = hashlib.sha256(urdf.read_bytes())
    for path in sorted(p for p in urdf.parent.rglob("*") if p.is_file() and p.suffix != ".urdf"):
        digest.update(f"{path.relative_to(urdf.parent).as_posix()}\0{path.stat().st_size}\0".encode())
    return digest.hexdigest()


def _check_is_no_repository(root: Path, found: Mapping[str, Path]) -> None:
    """Refuses the root of a repository whose URDFs are all in a folder further down: it was hardly meant."""
    common = Path(os.path.commonpath([path.parent for path in found.values()]))
    if (root / ".git").exists() and common != root:
        raise AssetError(
            f"'{root}' is a repository with {count_noun(len(found), 'URDF')} somewhere below. Expected a URDF, the "
            f"folder of an object, or a folder of objects. Name that folder, such as '{common}'.",
            path=str(root),
        )


def _find_instances(folder: Path, root: Path, depth: int, seen: list[int]) -> Iterator[tuple[str, Path]]:
    """Yields the instances below a folder; `seen` counts the entries."""
    entries = sorted(folder.iterdir())
    seen[0] += len(entries)
    if seen[0] > _MOST_ENTRIES:
        raise AssetError(
            f"'{root}' holds more than {_MOST_ENTRIES} files and folders. Expected a folder of objects. Name one "
            "further down.",
            path=str(root),
        )
    inside = folder.relative_to(root)
    urdfs = [folder / PARTNET_URDF] if (folder / PARTNET_URDF).is_file() else _list_urdfs(folder)
    if urdfs:
        is_own_folder = len(urdfs) == 1 and folder != root
        yield from ((inside.as_posix() if is_own_folder else (inside / p.stem).as_posix(), p) for p in urdfs)
        if folder != root:
            return
    for path in entries:
        if depth and path.is_dir() and not path.name.startswith("."):
            yield from _find_instances(path, root, depth - 1, seen)


def _list_urdfs(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.urdf") if path.is_file())


ROOT = "object_root"
"""Name of the root link; underscores are appended if the file uses it."""
_LEVEL = 0.1
_TOKEN_KG = 1e-3


def front_turn(model: UrdfModel, part: Part) -> int:
    """Returns the number of quarter turns about z, 0 to 3, from +x of the root to the `base_front_axis` of a part."""
    axis = part.axis("base_front_axis")
    frame = {"link": part.link, "base": part.base}.get(axis.frame)
    front = axis.xyz if frame is None else model.link_pose(frame, {part.joint: part.openness.closed}).rotate(axis.xyz)
    if float(np.hypot(front[0], front[1])) < _LEVEL:
        return 0
    return round(float(np.arctan2(front[1], front[0])) / (np.pi / 2)) % 4


def facing_model(
    model: UrdfModel, articulation: Articulation, *, held: Mapping[str, float], turn: int
) -> tuple[UrdfModel, Articulation]:
    """Turns the front of an object to +x, and merges all links that no annotated joint moves.

    Args:
        model: The URDF in metres.
        articulation: Its annotation.
        held: Positions at which joints without an annotation are fixed, by name [rad or m].
        turn: Quarter turns from +x to the front, see `front_turn`.

    Returns:
        The object, and the annotation in the frames of its new links.
    """
    root = ROOT
    while root in model.links:
        root += "_"
    T_root_source = Pose(turn_to_x(turn), np.zeros(3))
    moving = {part.joint for part in articulation.parts.values()}
    moving |= {joint for each in articulation.mechanisms.values() for joint in each.joints_named}
    joints = {
        name: joint
        if name in moving
        else replace(joint, kind="fixed", follows=None, T_parent_joint=joint.child_pose(held.get(name, 0.0)))
        for name, joint in model.joints.items()
    }
    standing = "stands_on_" + root
    joints[standing] = Joint(standing, "fixed", root, model.root, T_root_source)
    # a gram: Bullet gives a link without inertial a kilogram, and warns
    body = Link(root, inertial=Inertial(_TOKEN_KG, np.zeros(3), np.eye(3) * 1e-7))
    turned = UrdfModel(model.name, {root: body, **model.links}, joints)
    links, kept = merge_fixed({name: ConvertedLink(link) for name, link in turned.links.items()}, joints, kept=set())
    facing = UrdfModel(model.name, {name: item.link for name, item in links.items()}, kept)
    free = replace(articulation, freed_joints={})  # the new URDF has them so
    return facing, moved_annotation(free, partial(_to_owner, turned), T_root_source)


def closed_bounds(model: UrdfModel, articulation: Articulation) -> np.ndarray:
    """Returns (2, 3) corners of the object with its parts closed, root frame [m]."""
    points = shape_cloud(model, articulation.closed_positions())
    return np.stack([points.min(axis=0), points.max(axis=0)])


def _to_owner(model: UrdfModel, link: str) -> tuple[str, Pose]:
    """Returns the link that a link becomes part of, and `T_owner_link`."""
    nearest = next((joint for joint in model.joints_above(link) if joint.moves), None)
    owner = model.root if nearest is None else nearest.child
    return owner, model.link_pose(owner).inverse() @ model.link_pose(link)


VERSION = 20
"""Raise it with every change of the output: cached objects are then converted again."""

DENSITY_KG_M3 = 400.0
"""Density of links without an inertial: furniture and appliances are boards and hollows, not solid."""

FACE_DENSITY_KG_M2 = 5.0
"""Least mass of such a link for each square metre of its face: a board of 8 mm, a pane of 2 mm, plastic of 5 mm."""
APPLIANCE_FACE_DENSITY_KG_M2 = 10.0
"""The same for appliances, whose doors are two sheets of steel or glass with a filling."""
APPLIANCES = frozenset({"dishwasher", "microwave", "oven", "refrigerator", "washing_machine", "washingmachine"})
"""Categories in lower case."""

_FACTS_FILE = "asset.json"
_MODEL_FOLDER = "model"
_SIDE_FILES = ("info.json", "semantics.txt", "meta.json")


def load_source_object(cfg: ObjectCfg) -> ObjectAsset:
    """Loads the object of the URDF at `cfg.root`, and converts and annotates it first unless the cache holds it.

    If an `articulation.yaml` beside the URDF describes it, it is used without changes. Joints that the annotation does
    not name are fixed in their closed positions.

    Raises:
        ConfigError: The object has no part `cfg.part`, or two different scales are given.
        AssetError: There is no such URDF, it is damaged, or it has no joint that a skill fits.
    """
    source = _find_source(cfg)
    return load_annotated(source, cfg, _read_given_annotation(source, cfg))


def load_annotated(source: SourceObject, cfg: ObjectCfg, given: Articulation | None) -> ObjectAsset:
    """Loads an object with an annotation; without one, or without its parts, they are derived.

    Raises:
        ConfigError: The object has no part `cfg.part`.
        AssetError: It is damaged, or it has no joint that a skill fits.
    """
    key = _cache_key(source, cfg, given)
    folder = cache_root(cfg.cache_dir) / "urdf" / f"{plain_name(source.instance)[:64]}-{key[:16]}"
    digest = cached_folder(folder, key=key, make=lambda temporary: _convert(source, cfg, given, temporary))
    facts = json.loads((folder / _FACTS_FILE).read_text(encoding="utf-8"))
    turn = facts["turns"][_choose_part(facts["turns"], cfg)]
    facing = facts["facing"][str(turn)]
    return ObjectAsset(
        name=cfg.name,
        category=source.category,
        instance=cfg.instance or source.instance,
        source=cfg.source.value,
        urdf_path=folder / _MODEL_FOLDER / f"facing_{turn}.urdf",
        articulation=read_articulation(folder / f"articulation_{turn}.yaml"),
        content_hash=digest,
        bounds_obj=np.array(facing["bounds_obj"]),
        friction=facing["friction"],
        damping=facing["damping"],
        parameters=facts["parameters"],
        word=source.word,
        info_frames={name: np.array(rows) for name, rows in facts["frames"].items()},
        # GenSim2 states axes in the root link of the file
        R_obj_peer=turn_to_x(turn if source.urdf == PARTNET_URDF else 2),
        files=source.all_files((*_SIDE_FILES, ANNOTATION_FILE)),
    )


def source_object_set(cfg: ObjectCfg, *, among: Sequence[str] = ()) -> dict[str, Any]:
    """Returns the identity of the set that an object is drawn from, see `describe_object_set`.

    `among` are the instances of a folder that may be drawn; it is empty if the configuration names one.

    Raises:
        AssetError: There is no such URDF, or it is damaged.
    """
    if among:
        urdfs = urdf_instances(user_path(cfg.root or ""))
        instances = {name: urdf_state(urdfs[name])[:16] for name in among}
        return {"converter": VERSION, "coacd": coacd_version(), "instances": instances}
    source = _find_source(cfg)
    given = _read_given_annotation(source, cfg) is not None
    files = source.files_hash(_list_side_files(given=given))
    return {"converter": VERSION, "coacd": coacd_version(), "files": files[:16]}


def source_instances(cfg: ObjectCfg) -> list[str]:
    """Returns the instances in the folder of many objects at `cfg.root`, see `urdf_instances`."""
    return list(urdf_instances(user_path(cfg.root or "")))


def check_source_objects(cfg: ObjectCfg, *, among: Sequence[str] | None) -> None:
    """Checks nothing: what is wrong with a URDF is found when it is read."""


def describe_doubts(cfg: ObjectCfg) -> list[str]:
    """Returns a line for each thing in a user's URDF that no real object has.

    An annotation beside the URDF changes none of it, but for a scale that it states. There is none for a folder of
    several objects.

    Raises:
        ConfigError: The object does not exist.
        AssetError: It is damaged.
    """
    if cfg.instance is None and is_urdf_folder(user_path(cfg.root or "")):
        return []
    source = _find_source(cfg)
    stated = read_stated(source.file.with_name(ANNOTATION_FILE), urdf=source.file.name)
    is_scaled = stated is not None and stated.stated_scale is not None
    advice = f"`unlatch annotate {source.file} fix=true` writes a mended file"
    found = [each for each in find_doubts(source) if each.mesh_scale == 1.0 or not is_scaled]
    return [f"{source.file.name}: {each.text}" + (f" {advice}." if each.has_mend else "") for each in found]


def _find_source(cfg: ObjectCfg) -> SourceObject:
    if not cfg.root:
        raise ConfigError(
            "object.root is missing. Expected the path of a URDF, or of the folder of one object. Set it, or write "
            "object=PATH.",
            key="object.root",
        )
    path = user_path(cfg.root)
    if is_urdf_folder(path):
        return _source_in_folder(path, cfg)
    source = read_source(path, category=cfg.category, packages=True, cache_dir=cfg.cache_dir)
    if cfg.instance not in (None, source.instance):
        raise ConfigError(
            f"object.instance='{cfg.instance}' does not fit {cfg.root}, which holds '{source.instance}'. Remove "
            "object.instance, or change object.root.",
            key="object.instance",
        )
    return source


def _source_in_folder(folder: Path, cfg: ObjectCfg) -> SourceObject:
    """Returns the instance from a folder of objects; without a configured category, that of its own files counts."""
    urdfs = urdf_instances(folder)
    if cfg.instance not in urdfs:
        raise ConfigError(
            f"object.instance='{cfg.instance}' is not in {cfg.root}.{close_matches(cfg.instance or '', urdfs)} "
            f"It has {len(urdfs)}, such as {', '.join(list(urdfs)[:5])}. Name one of them.",
            key="object.instance",
            available=list(urdfs),
        )
    urdf = urdfs[cfg.instance]
    category = read_category(urdf) if cfg.category == UNKNOWN_CATEGORY else cfg.category
    return read_source(urdf, category=category, packages=True, cache_dir=cfg.cache_dir)


def _read_given_annotation(source: SourceObject, cfg: ObjectCfg) -> Articulation | None:
    """Returns the checked annotation beside the URDF; None if there is none, or if it is about another URDF."""
    path = source.file.with_name(ANNOTATION_FILE)
    if not path.is_file():
        return None
    if not read_articulation(path).is_about(source.file.name):
        return None
    found = load_annotation(path, urdf=source.file).articulation
    scale = found.urdf_scale
    if found.parts and cfg.scale is not None and cfg.scale != scale:
        raise ConfigError(
            f"object.scale={cfg.scale:g} contradicts the scale {scale:g} in {path}. Remove object.scale or the file.",
            key="object.scale",
        )
    return found


def _list_side_files(*, given: bool) -> tuple[str, ...]:
    """Returns the names of the files that count beside the URDF: the annotation only if it is `given`."""
    return (*_SIDE_FILES, ANNOTATION_FILE) if given else _SIDE_FILES


def _cache_key(source: SourceObject, cfg: ObjectCfg, given: Articulation | None) -> str:
    versions = (VERSION, UrdfConverter.VERSION, coacd_version())
    files = source.files_hash(_SIDE_FILES)
    annotation = [] if given is None else [given.to_dict()]
    return json_hash([*versions, files, source.instance, source.category, cfg.scale, *annotation])


def _convert(source: SourceObject, cfg: ObjectCfg, given: Articulation | None, folder: Path) -> None:
    # annotated first: an object without a usable part is refused before minutes of convex decomposition
    # keypoints of `info.json` are not used: they suit the skills of other projects and may lie beside a handle
    freed = {} if given is None else given.freed_joints
    where = str(source.file.with_name(ANNOTATION_FILE))
    unconverted = source  # the colliders of the converted object are those of the file
    source = replace(source, model=with_freed_joints(source.model, freed, where=where))
    if given is not None and given.parts:
        annotation = given
    else:
        scale = cfg.scale if given is None or cfg.scale is not None else given.stated_scale
        found = annotate_source(source, AnnotateCfg(scale=scale, use_info=False))
        annotation = found.articulation
        if given is not None:
            annotation = with_stated_mechanics(annotation, given, found.model, where=where)
    scale = annotation.urdf_scale
    model = read_urdf(_convert_model(unconverted, cfg, scale, folder / _MODEL_FOLDER))
    # the converted URDF states no axis of joints that its original fixes
    joints = scaled_model(source.model, scale).joints
    moving = {name: replace(joints[name], axis=unit(joints[name].axis)) for name in freed}
    model = replace(model, joints={**model.joints, **moving})
    held = {
        name: ends[0] * (scale if model.joints[name].kind == "prismatic" else 1.0)
        for name, ends in all_joint_ends(ObjectGeometry(source)).items()
    }
    turns = {name: front_turn(model, part) for name, part in annotation.parts.items()}
    facing: dict[str, Any] = {}
    for turn in sorted(set(turns.values())):
        turned, articulation = facing_model(model, annotation, held=held, turn=turn)
        (folder / _MODEL_FOLDER / f"facing_{turn}.urdf").write_text(turned.to_urdf(), encoding="utf-8")
        (folder / f"articulation_{turn}.yaml").write_text(articulation.to_yaml(), encoding="utf-8")
        parts = articulation.parts.values()
        dynamics = {joint.name: rail_friction(joint) for joint in turned.joints.values() if joint.moves}
        dynamics |= {part.joint: joint_friction(turned, part) for part in parts}
        facing[str(turn)] = {
            "bounds_obj": closed_bounds(turned, articulation).round(6).tolist(),
            "friction": {joint: values[0] for joint, values in dynamics.items()},
            "damping": {joint: values[1] for joint, values in dynamics.items()},
        }
    parameters = {
        "annotation": "derived" if given is None else "given",
        "scale": round(scale, 6),
        "handles": ", ".join(f"{name} {part.handle.type.value}" for name, part in annotation.parts.items()),
    }
    frames = {name: affine.tolist() for name, affine in source.frames.items()}
    facts = {"turns": turns, "facing": facing, "parameters": parameters, "frames": frames}
    # keys keep their order: if the configuration names no part, the first one faces the robot
    (folder / _FACTS_FILE).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def _convert_model(source: SourceObject, cfg: ObjectCfg, scale: float, folder: Path) -> Path:
    """Returns the URDF of the converted object, copied into a folder.

    The converter caches its own copy by content, so a new annotation of the same object needs no new colliders.
    """
    is_appliance = source.category.lower() in APPLIANCES
    face_density = APPLIANCE_FACE_DENSITY_KG_M2 if is_appliance else FACE_DENSITY_KG_M2
    key = json_hash([source.files_hash(_SIDE_FILES), UrdfConverter.VERSION, coacd_version(), scale, face_density])
    name = f"{plain_name(source.instance)[:64]}-{key[:16]}"
    made = UrdfConverter(
        UrdfConverterCfg(
            asset_path=str(source.folder / source.urdf),
            out_dir=str(cache_root(cfg.cache_dir) / "colliders" / name),
            fix_base=False,
            convex_decompose_mesh=True,
            link_density=DENSITY_KG_M3,
            link_face_density=face_density,
            scale=scale,
        )
    )
    urdf = Path(made.urdf_path)
    shutil.copytree(urdf.parent, folder)
    return folder / urdf.name


def _choose_part(turns: Mapping[str, int], cfg: ObjectCfg) -> str:
    if cfg.part is None:
        return next(iter(turns))
    if cfg.part not in turns:
        raise unknown_name(cfg.part, f"a part of {cfg.root}", where="object.part", known=turns, heading="Parts")
    return cfg.part
