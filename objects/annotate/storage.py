"""Reads and writes annotation files beside their URDF, and protects those made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from unlatch.objects.annotate.source import read_model
from unlatch.objects.annotation import ANNOTATION_FILE, Articulation, read_articulation
from unlatch.objects.scaled_model import scaled_model
from unlatch.objects.validation import articulation_problems, raise_problems
from unlatch.simcore.cache import json_hash
from unlatch.simcore.errors import AssetError
from unlatch.simcore.files import write_whole_file
from unlatch.simcore.meshes.shape_surface import shape_cloud
from unlatch.simcore.urdf.model import UrdfModel
from unlatch.simcore.urdf.reader import resolve_inside

TOOL = "unlatch annotate"
"""Mark in a file that the command made."""


@dataclass(frozen=True)
class AnnotatedUrdf:
    """An annotation with its URDF."""

    articulation: Articulation
    model: UrdfModel
    """The URDF in metres."""
    path: Path
    size_m: float
    """Largest extent of the closed object [m]."""

    @property
    def problems(self) -> list[str]:
        """What the validator finds, one line each."""
        return articulation_problems(self.articulation, self.model, size_m=self.size_m)


def with_mark(articulation: Articulation) -> Articulation:
    """Returns the annotation with a mark: the command made it, and the digest of its content."""
    plain = _without_mark(articulation)
    return replace(plain, extra={**plain.extra, "made_by": {"tool": TOOL, "digest": _content_digest(plain)}})


def is_hand_made(articulation: Articulation) -> bool:
    """Returns whether a person wrote the annotation, or changed one that the command made."""
    mark = articulation.extra.get("made_by")
    if not isinstance(mark, Mapping) or mark.get("tool") != TOOL:
        return True
    return bool(mark.get("digest") != _content_digest(_without_mark(articulation)))


def check_replaceable(path: Path, *, urdf: str, force: bool) -> None:
    """Refuses to replace an annotation made by hand, or one about another URDF than `urdf`, unless `force` is set.

    Raises:
        AssetError: A person made or changed the annotation, or it is about another URDF.
    """
    if force or not path.exists():
        return
    try:
        found = read_articulation(path)
        hand_made = is_hand_made(found)
    except AssetError:
        hand_made = True  # the command did not make a file that it cannot read
    else:
        about = found.urdf_record.get("file")
        if not hand_made and about != urdf:
            raise AssetError(
                f"{path} is about {about}, not {urdf}. Give out=FOLDER, or force=true to replace it.", path=str(path)
            )
    if hand_made:
        raise AssetError(
            f"{path} was not made by `unlatch annotate`, or was changed since. It is kept; force=true replaces it.",
            path=str(path),
        )


def keep_closing_forces(found: Articulation, path: Path, model: UrdfModel) -> Articulation:
    """Returns a new annotation with the closing forces that the file it replaces states: no rule finds them.

    Parts are matched by their joints. Parts that state nothing stay so, and get the values of their category. A file
    that cannot be read, or that is about another URDF, states nothing for this object.

    Args:
        found: The new annotation.
        path: The file that it replaces; it may be missing.
        model: The URDF in metres.

    Raises:
        AssetError: A part cannot have the closing forces that the file states for it.
    """
    try:
        old = read_articulation(path) if path.exists() else None
    except AssetError:
        old = None
    if old is None or not old.is_about(str(found.urdf_record.get("file"))):
        return found
    stated = {part.joint: part.closing_forces for part in old.parts.values() if part.closing_forces is not None}
    parts = {
        name: replace(part, closing_forces=stated.get(part.joint, part.closing_forces))
        for name, part in found.parts.items()
    }
    kept = replace(found, parts=parts)
    raise_problems(articulation_problems(kept, model, size_m=model_extent(model, kept)), where=str(path))
    return kept


def write_annotation_file(path: Path, data: bytes) -> None:
    """Writes a file of an annotation completely or not at all.

    Raises:
        AssetError: The file cannot be written.
    """
    try:
        write_whole_file(path, data)
    except OSError as exc:
        raise AssetError(
            f"{path} cannot be written ({exc.strerror or exc}). Give out=FOLDER, a folder that can be written.",
            path=str(path),
        ) from exc


def load_annotation(path: Path | str, *, urdf: Path | None = None, check: bool = True) -> AnnotatedUrdf:
    """Reads an annotation and its URDF, in metres.

    Args:
        path: The annotation file, or its folder.
        urdf: The URDF or USD; without it, the one that the annotation names, or the only URDF in the folder.
        check: Whether to check that the annotation fits the URDF.

    Raises:
        AssetError: One of them is missing or damaged, or the annotation does not fit the URDF.
    """
    file = Path(path)
    file = file / ANNOTATION_FILE if file.is_dir() else file
    articulation = read_articulation(file)
    record = articulation.urdf_record
    name, scale = record.get("file"), record.get("scale", 1.0)
    if not record:
        found = sorted(file.parent.glob("*.urdf"))
        name = found[0].name if len(found) == 1 else "object.urdf"
    if not isinstance(name, str) or isinstance(scale, bool) or not isinstance(scale, (int, float)) or not scale > 0:
        raise AssetError(
            f"{file}: urdf is {dict(record)!r}, expected {{file: NAME, scale: METRES_PER_UNIT}}.", path=str(file)
        )
    place = urdf if urdf is not None else resolve_inside(file.parent, name, where=str(file))
    model = scaled_model(read_model(place), float(scale))
    loaded = AnnotatedUrdf(articulation, model, file, model_extent(model, articulation))
    if check:
        raise_problems(loaded.problems, where=str(file))
    return loaded


def model_extent(model: UrdfModel, articulation: Articulation) -> float:
    """Largest extent of an object with its parts closed [m]; 0 without shapes."""
    points = shape_cloud(model, articulation.closed_positions())
    return float(np.max(np.ptp(points, axis=0))) if len(points) else 0.0


def _without_mark(articulation: Articulation) -> Articulation:
    return replace(articulation, extra={k: v for k, v in articulation.extra.items() if k != "made_by"})


def _content_digest(articulation: Articulation) -> str:
    return json_hash(articulation.to_dict())[:16]
