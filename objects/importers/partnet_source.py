"""Finds objects of PartNet-Mobility in the user's folder; its categories, and the files beside a URDF."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from unlatch.objects.annotate.source import PARTNET_URDF, read_json
from unlatch.objects.annotation import SCHEMA, Articulation, PartKind
from unlatch.objects.annotation_reader import articulation_from_dict
from unlatch.objects.config import PARTNET_VARIABLE, ObjectCfg
from unlatch.simcore.errors import AssetError, ConfigError, close_matches, unknown_name
from unlatch.simcore.files import user_path


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
    has_mechanisms: bool = False
    """Whether it has the objects whose mechanisms `partnet_mechanisms.yaml` states, with all their parts."""


_SAFE = PartnetCategory(
    folders=("safe", "safe_rotate", "Safe"),
    size_m=0.45,
    largest_m=0.60,
    body_mass_kg=25.0,
    part_density_kg_m3=1500.0,
    part_mass_kg=(3.0, 8.0),
    summary="safes with a side-hinged door",
)

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
    "locked_safe": replace(
        _SAFE, has_mechanisms=True, summary="safes whose dial or lever must be turned before the door opens"
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
    "safe": _SAFE,
}
"""Categories by name, sorted."""


SIDE_FILES = ("info.json", "semantics.txt")
"""Files beside the URDF of an object."""
_MESH_SUFFIXES = (".obj", ".mtl")


def stated_mechanisms(category: str) -> dict[str, Articulation]:
    """Returns what we state of the objects of a category with mechanisms, by id: annotations without parts."""
    data = yaml.safe_load(_MECHANISMS.read_text(encoding="utf-8"))
    return {
        name: articulation_from_dict({"schema": SCHEMA, **stated}, where=f"{_MECHANISMS.name}: {name}")
        for name, stated in data.get(category, {}).items()
    }


_MECHANISMS = Path(__file__).with_name("partnet_mechanisms.yaml")


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
    stated = stated_mechanisms(category) if partnet_category(category).has_mechanisms else None
    found: dict[str, Path] = {}
    for name in names:
        if (root / name).is_dir():
            found = {p.name: p for p in (root / name).iterdir() if p.is_dir()} | found
    found = {name: path for name, path in found.items() if name.isdigit() or (path / PARTNET_URDF).is_file()}
    if not any((path / PARTNET_URDF).is_file() for path in found.values()):
        found |= {
            path.name: path for path in root.iterdir() if (path / PARTNET_URDF).is_file() and _has_category(path, names)
        }
    found = {name: path for name, path in found.items() if stated is None or name in stated}
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
        ids = stated_mechanisms(category)
        names += f" with one of {', '.join(ids)}" if ids else ""
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
