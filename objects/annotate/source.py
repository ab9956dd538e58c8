"""Reads an object: its URDF, USD or glTF, and the files beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.annotation import ANNOTATION_FILE, read_articulation
from unlatch.objects.importers.made_urdf import MODEL_SUFFIXES, has_urdf, needs_urdf, urdf_of
from unlatch.simcore.cache import content_hash
from unlatch.simcore.errors import AssetError
from unlatch.simcore.files import path_word
from unlatch.simcore.meshes.mesh_dependencies import model_files
from unlatch.simcore.meshes.mesh_reader import MESH_SUFFIXES
from unlatch.simcore.urdf.model import UrdfModel
from unlatch.simcore.urdf.reader import model_folder, read_urdf

PARTNET_URDF = "mobility.urdf"
"""Name of the URDF in a folder of PartNet-Mobility."""

UNKNOWN_CATEGORY = "object"
"""Category of an object whose files name none."""

_MAX_TEXT_BYTES = 1_000_000
_TASK_ENDINGS = ("_rotate", "_press", "_swing", "_move")
"""GenSim2 names the folder of a category after its task."""


@dataclass(frozen=True)
class SourceObject:
    """One object as read, not converted."""

    category: str
    """What it is, in lower case, such as `microwave`; `object` if unknown."""
    instance: str
    folder: Path
    """The folder of its URDF, resolved. For a USD or glTF, whose URDF is in the cache, it is a folder there."""
    model: UrdfModel
    semantics: dict[str, str]
    """Part name by link, from `semantics.txt`."""
    info: dict[str, Any] = field(default_factory=dict)
    """Content of `info.json`, or empty."""
    urdf: str = PARTNET_URDF
    """File name of its URDF."""
    is_metric: bool = False
    """Whether its lengths are metres: true for any URDF, not for PartNet-Mobility, whose objects have unit size."""
    original: Path | None = None
    """The USD or glTF that it was read from, resolved; None for a URDF."""
    notices: tuple[str, ...] = ()
    """What the original has that is left out, one line each."""

    @property
    def file(self) -> Path:
        """The URDF, USD or glTF that the user has; an annotation is beside it and names it."""
        return self.original or self.folder / self.urdf

    @property
    def asset_folder(self) -> Path:
        """The folder that holds all its files: that of its URDF, or that of the packages that the URDF names."""
        return model_folder(self.folder / self.urdf, self.model)

    def files_hash(self, side_files: Iterable[str]) -> str:
        """Returns SHA-256 over the URDF, the existing `side_files` beside it, and every file that it refers to."""
        beside = {name: path for name, path in self._beside(side_files).items() if path.is_file()}
        files = beside | model_files(self.model, self.asset_folder)
        return content_hash({name: path.read_bytes() for name, path in files.items()})

    def all_files(self, side_files: Iterable[str]) -> tuple[Path, ...]:
        """Returns its files, those beside it that may come to exist, and its folder; empty for a USD or glTF.

        Those name other files, which are not known here.
        """
        if self.original is not None:
            return ()
        meshes = model_files(self.model, self.asset_folder).values()
        return (self.folder, *self._beside(side_files).values(), *meshes)

    def _beside(self, side_files: Iterable[str]) -> dict[str, Path]:
        return {self.urdf: self.folder / self.urdf, **{name: self.file.with_name(name) for name in side_files}}

    @property
    def info_scale(self) -> float | None:
        """The scale in `info.json` [m per unit]; None if there is none."""
        value = self.info.get("scale")
        scales = self.info.get("object_scale")
        if isinstance(scales, list) and scales:
            value = scales[0]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        return float(value) if 0.001 <= value <= 100.0 else None

    @property
    def info_head(self) -> np.ndarray | None:
        """(3,) unscaled `articulated_object_head` of GenSim2's `info.json`, in its own frame; None if there is none."""
        keypoints = self.info.get("keypoints")
        value = keypoints.get("articulated_object_head") if isinstance(keypoints, dict) else None
        if not isinstance(value, list) or len(value) != 3 or not all(isinstance(v, (int, float)) for v in value):
            return None
        point = np.array(value, dtype=float)
        return point if np.all(np.isfinite(point)) else None


def find_urdf(path: Path) -> Path:
    """Returns the file that a path names: a URDF, USD or glTF, `mobility.urdf` of a folder, or the only one there.

    A glTF in a folder counts if it has joints: others are meshes.

    Raises:
        AssetError: There is none, or it is not clear which.
    """
    if path.is_file():
        if path.suffix.lower() in MESH_SUFFIXES and not needs_urdf(path):
            raise AssetError(
                f"'{path}' is a mesh without joints. Say which part moves: "
                f"unlatch annotate {path_word(path)} joint=hinge moving=NODE axis=z at=+x",
                path=str(path),
            )
        if path.suffix.lower() != ".urdf" and not needs_urdf(path):
            raise AssetError(
                f"'{path}' is no URDF, USD or glTF: its name ends in '{path.suffix}'. Expected .urdf, "
                f"{', '.join(MODEL_SUFFIXES)}.",
                path=str(path),
            )
        return path
    if not path.is_dir():
        raise AssetError(
            f"'{path}' does not exist. Expected a URDF, a USD, a glTF or the folder of an object.", path=str(path)
        )
    if (path / PARTNET_URDF).is_file():
        return path / PARTNET_URDF
    found = sorted(path.glob("*.urdf")) or sorted(file for file in path.iterdir() if file.is_file() and has_urdf(file))
    if len(found) == 1:
        return found[0]
    names = ", ".join(file.name for file in found)
    have = f"{len(found)} objects ({names})" if found else "no URDF, no USD and no glTF with joints"
    raise AssetError(f"'{path}' holds {have}, expected one. Name the file.", path=str(path))


def read_source(
    path: Path, *, category: str | None = None, packages: bool = False, cache_dir: str | None = None
) -> SourceObject:
    """Reads an object with all files beside it.

    Args:
        path: A URDF, USD or glTF, or a folder that holds one.
        category: What it is; without it, `meta.json` or the name of the folder above says.
        packages: Whether its files may lie in the packages around it, see `SourceObject.asset_folder`.
        cache_dir: Folder of the cache for the URDF of a USD or glTF; None: see `cache_root`.

    Raises:
        AssetError: There is no such file, it is damaged, or it names files that are missing or lie outside the folder.
    """
    file = find_urdf(Path(path)).resolve()
    folder = file.parent
    is_partnet = file.name == PARTNET_URDF
    made = urdf_of(file, cache_dir=cache_dir) if needs_urdf(file) else None
    urdf = file if made is None else made.path
    return SourceObject(
        category=category or category_of(folder, is_partnet=is_partnet),
        instance=folder.name if is_partnet else file.stem,
        folder=urdf.parent,
        model=read_urdf(urdf, packages=packages),
        semantics=read_semantics(folder),
        info=read_json(folder / "info.json"),
        urdf=urdf.name,
        is_metric=not is_partnet,
        original=None if made is None else file,
        notices=() if made is None else made.notices,
    )


def read_model(file: Path, *, packages: bool = True) -> UrdfModel:
    """Returns the links and joints of a URDF, USD or glTF.

    Raises:
        AssetError: The file cannot be read.
    """
    return read_urdf(urdf_of(file).path if needs_urdf(file) else file, packages=packages)


def read_category(urdf: Path) -> str:
    """Returns the category of the object of a URDF: from an annotation beside it, else see `category_of`."""
    path = urdf.resolve()
    annotated = path.parent / ANNOTATION_FILE
    if annotated.is_file():
        try:
            found = read_articulation(annotated)
        except AssetError:  # reported when the object is loaded
            return UNKNOWN_CATEGORY
        if found.is_about(path.name):
            return found.category
    return category_of(path.parent, is_partnet=path.name == PARTNET_URDF) or UNKNOWN_CATEGORY


def category_of(folder: Path, *, is_partnet: bool) -> str:
    """Returns the category of an object: `model_cat` of `meta.json`, or a data set's folder name."""
    stated = read_json(folder / "meta.json").get("model_cat")
    if isinstance(stated, str) and stated.strip():
        return plain_category(stated)
    # numbers are ids, not categories; the folder above a user's own URDF may have any name
    name = plain_category(folder.parent.name) if is_partnet else ""
    return name if name and not name.isdigit() else UNKNOWN_CATEGORY


def plain_category(name: str) -> str:
    """Returns a category in the spelling of our tables, for example `safe` for `safe_rotate`."""
    plain = name.strip().lower()
    for ending in _TASK_ENDINGS:
        plain = plain.removesuffix(ending)
    return re.sub(r"[^a-z0-9]", "", plain)


def read_semantics(folder: Path) -> dict[str, str]:
    """Returns part names by link from the `semantics.txt` of a folder; empty without the file."""
    semantics: dict[str, str] = {}
    for line in read_text(folder / "semantics.txt").splitlines():
        words = line.split()
        if len(words) == 3:
            semantics[words[0]] = words[2]
    return semantics


def read_text(path: Path) -> str:
    """Returns the text of a small file; empty if it is missing.

    Raises:
        AssetError: It is not small.
    """
    if not path.is_file():
        return ""
    if path.stat().st_size > _MAX_TEXT_BYTES:
        raise AssetError(f"{path}: more than {_MAX_TEXT_BYTES} bytes.", path=str(path))
    return path.read_text(encoding="utf-8-sig", errors="replace")


def read_json(path: Path) -> dict[str, Any]:
    """Returns the JSON object of a small file; empty if the file is missing or empty.

    Raises:
        AssetError: It holds anything else.
    """
    text = read_text(path)
    if not text:
        return {}
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise AssetError(f"{path}: no readable JSON ({exc}).", path=str(path)) from exc
    if not isinstance(data, dict):
        raise AssetError(f"{path}: expected a JSON object, got {type(data).__name__}.", path=str(path))
    return data
