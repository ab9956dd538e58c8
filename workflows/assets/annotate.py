"""Annotates objects: finds the parts that a robot can open, turn or slide, and writes `articulation.yaml`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from unlatch.objects.annotate.annotator import AnnotateCfg, AnnotationResult, annotate_source
from unlatch.objects.annotate.source import PARTNET_URDF, find_urdf, read_source
from unlatch.objects.annotate.storage import (
    AnnotatedUrdf,
    check_replaceable,
    keep_closing_forces,
    load_annotation,
    with_mark,
    write_annotation_file,
)
from unlatch.objects.annotation import ANNOTATION_FILE
from unlatch.objects.importers.usd.stage import is_usd
from unlatch.simcore.errors import AssetError
from unlatch.workflows.viewing.annotation_picture import annotation_png

PICTURE_FILE = "annotation.png"
"""Name of the picture beside the annotation."""


@dataclass(frozen=True)
class AnnotationTarget:
    """One object and the place of its annotation."""

    source: Path
    """The URDF or USD, or the folder that contains it."""
    name: str
    """Name to show."""
    file: Path
    """The annotation file."""

    @property
    def picture(self) -> Path:
        """The picture beside the annotation."""
        return self.file.with_name(PICTURE_FILE)

    def load(self) -> AnnotatedUrdf:
        """Loads the existing annotation with its URDF, without checking it."""
        return load_annotation(self.file, urdf=find_urdf(self.source), check=False)


def annotate(
    path: Path | str,
    *,
    out: Path | str | None = None,
    force: bool = False,
    picture: bool = True,
    category: str | None = None,
    scale: float | None = None,
    size_m: float | None = None,
    use_info: bool = True,
) -> AnnotationResult:
    """Annotates one object and writes `articulation.yaml` and a picture.

    Args:
        path: A URDF or USD, or the folder of one object.
        out: Folder to write into; None: beside the file.
        force: Whether to replace an annotation that was made or changed by hand.
        picture: Whether to draw `annotation.png`.
        category: Category of the object; None: derived from its files.
        scale: Metres per unit; None: derived.
        size_m: Largest extent of the closed object [m], instead of a scale.
        use_info: Whether to use the keypoints of `info.json`.

    Returns:
        The annotation, the posed model, and the joints that were left out with the reasons.

    Raises:
        AssetError: The object cannot be annotated, or an annotation made by hand would be replaced.
        ConfigError: A value is out of range.

    Example:
        >>> found = unlatch.annotate("cabinet.urdf")
        >>> {name: part.kind.name for name, part in found.articulation.parts.items()}
        {'door': 'hinge_vertical'}
    """
    urdf = find_urdf(Path(path))
    target = AnnotationTarget(urdf, str(path), Path(out or urdf.parent) / ANNOTATION_FILE)
    cfg = AnnotateCfg(scale=scale, size_m=size_m, use_info=use_info)
    return annotate_target(target, cfg, category=category, force=force, picture=picture)


def annotate_target(
    target: AnnotationTarget, cfg: AnnotateCfg, *, category: str | None, force: bool, picture: bool
) -> AnnotationResult:
    """Annotates one object; see `annotate`. The annotation is written last, after its picture.

    Closing forces that the replaced file states are kept.
    """
    check_replaceable(target.file, urdf=find_urdf(target.source).name, force=force)
    source = read_source(target.source, category=category, packages=True)
    found = annotate_source(source, cfg)
    found = replace(found, articulation=keep_closing_forces(found.articulation, target.file, found.model))
    if picture:
        write_annotation_file(target.picture, annotation_png(found.model, found.articulation))
    write_annotation_file(target.file, with_mark(found.articulation).to_yaml().encode())
    return found


def find_targets(path: Path, *, out: Path | None) -> list[AnnotationTarget]:
    """Returns the objects that a path names, sorted.

    Args:
        path: A URDF or USD, the folder of one object, or a folder of many.
        out: Folder to write into; if there are many objects, each gets a folder in it. None: beside the URDFs.

    Raises:
        AssetError: The path names no object.
    """
    if path.is_file() or not path.is_dir() or any(path.glob("*.urdf")) or any(map(is_usd, path.iterdir())):
        urdf = find_urdf(path)
        return [AnnotationTarget(urdf, str(path), (out or urdf.parent) / ANNOTATION_FILE)]
    folders = sorted({p.parent for p in path.rglob(PARTNET_URDF)} or {p.parent for p in path.rglob("*.urdf")})
    if not folders:
        raise AssetError(
            f"'{path}' contains no object: no URDF in it or below it, and no USD in it. Name another folder.",
            path=str(path),
        )
    targets = []
    for folder in folders:
        name = folder.relative_to(path)
        place = folder if out is None else out / name
        targets.append(AnnotationTarget(folder, name.as_posix(), place / ANNOTATION_FILE))
    return targets
