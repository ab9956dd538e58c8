"""Annotates objects: finds the parts that a robot can open, turn or slide, and writes `articulation.yaml`."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from unlatch.objects.annotate import storage
from unlatch.objects.annotate.annotator import AnnotateCfg, AnnotationResult, annotate_source
from unlatch.objects.annotate.peer_info import info_problems, make_info, read_peer_info
from unlatch.objects.annotate.source import PARTNET_URDF, find_urdf, has_urdf, read_source, with_freed_joints
from unlatch.objects.annotation import ANNOTATION_FILE
from unlatch.objects.importers.mesh_object import MeshJointCfg, write_mesh_urdf
from unlatch.objects.importers.plausibility import MENDED_FOLDER, find_doubts, mend_further, write_mended
from unlatch.simcore.errors import AssetError, unknown_name
from unlatch.workflows.viewing.object_picture import annotation_png

CONVENTIONS = ("unlatch", "interndata")
"""Conventions in which an annotation can be written."""
PICTURE_FILE = "annotation.png"
"""Name of the picture beside the annotation."""


@dataclass(frozen=True)
class AnnotationTarget:
    """One object and the place of its annotation."""

    source: Path
    """The URDF, USD or glTF, or the folder that contains it."""
    name: str
    """Name to show."""
    file: Path
    """The annotation file."""
    earlier: Path | None = None
    """The annotation of the original of a mended file."""
    said: tuple[str, ...] = ()
    """What was implausible in the original of a mended file, one line each: what was mended, then what cannot be."""

    @property
    def picture(self) -> Path:
        """The picture beside the annotation."""
        return self.file.with_name(PICTURE_FILE)

    def load(self) -> storage.AnnotatedUrdf:
        """Loads the existing annotation with its URDF, without checking it."""
        return storage.load_annotation(self.file, urdf=find_urdf(self.source), check=False)

    def info_problems(self) -> list[str]:
        """Returns what breaks the convention of InternDataEngine in an `info.json` of its form beside the URDF."""
        source = read_source(self.source, packages=True)
        peer = read_peer_info(source)
        if peer is None or not peer.axes:
            return []
        loaded = self.load()
        parts = [part for part in loaded.articulation.parts.values() if part.joint == peer.joint]
        found = [info_problems(part, peer, loaded.model, loaded.articulation.scale) for part in parts]
        return [f"info.json: {problem}" for problems in found for problem in problems]


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
    convention: str = "unlatch",
    joint: MeshJointCfg | None = None,
    fix: bool = False,
) -> AnnotationResult:
    """Annotates one object and writes `articulation.yaml` and a picture.

    Args:
        path: A URDF, USD or glTF, or the folder of one object; with `joint`, a mesh.
        out: Folder to write into; None: beside the file.
        force: Whether to replace an annotation that was made or changed by hand.
        picture: Whether to draw `annotation.png`.
        category: Category of the object; None: derived from its files.
        scale: Metres per unit; None: derived.
        size_m: Largest extent of the closed object [m], instead of a scale.
        use_info: Whether to use the keypoints of `info.json`.
        convention: `interndata` also writes `Kps/PART/info.json` of each part, with the signs of InternDataEngine.
        joint: The joint of a mesh that has none; a URDF is written then, and annotated.
        fix: Whether to write the URDF with all that is implausible mended, and to annotate that; see `mend_target`.

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
    doubts: tuple[str, ...] = ()
    if joint is not None:
        made = write_mesh_urdf(Path(path), joint, Path(out or Path(path).parent), force=force)
        path, doubts = made.path, made.warnings
    urdf = find_urdf(Path(path))
    target = AnnotationTarget(urdf, str(path), Path(out or urdf.parent) / ANNOTATION_FILE)
    cfg = AnnotateCfg(scale=scale, size_m=size_m, use_info=use_info)
    check_convention(convention)
    if fix:
        target = mend_target(target, category=category, force=force, out=None if out is None else Path(out))
    found = annotate_target(target, cfg, category=category, force=force, picture=picture, convention=convention)
    return replace(found, warnings=(*doubts, *found.warnings))


def annotate_target(
    target: AnnotationTarget,
    cfg: AnnotateCfg,
    *,
    category: str | None,
    force: bool,
    picture: bool,
    convention: str = "unlatch",
) -> AnnotationResult:
    """Annotates one object; see `annotate`. The annotation is written last, after its picture.

    Freed joints, closing forces and mechanisms that the replaced file states are kept; where nothing is replaced, those
    of the file beside the URDF or its original.
    """
    storage.check_replaceable(target.file, urdf=find_urdf(target.source).name, force=force)
    urdf = find_urdf(target.source)
    places = (target.file, target.earlier, urdf.with_name(ANNOTATION_FILE))
    where = next((place for place in places if place is not None and place.exists()), target.file)
    stated = storage.read_stated(where, urdf=urdf.name)
    if stated is not None and not (stated.parts and storage.is_hand_made(stated)):
        category = category or stated.category
    source = read_source(target.source, category=category, packages=True)
    found_now = find_doubts(source)
    doubts = (*target.said, *(doubt.text for doubt in found_now if doubt.text not in target.said))
    if stated is not None:
        freed = with_freed_joints(source.model, stated.freed_joints, where=str(where))
        source = replace(source, model=freed)
        if not stated.parts and cfg.scale is None and cfg.size_m is None:
            cfg = replace(cfg, scale=stated.stated_scale)
    try:
        found = annotate_source(source, cfg)
    except AssetError as exc:
        hints = [f"{text[0].upper()}{text[1:]}" for text in doubts]
        if any(doubt.has_mend for doubt in found_now):
            hints.append("fix=true writes the mended file.")
        if source.info and cfg.use_info:
            hints.append("Keypoints of info.json are used; info=false leaves them out.")
        if not hints:
            raise
        # a scale of the whole object, which is advised otherwise, would be wrong
        is_unit = any(doubt.mesh_scale != 1.0 for doubt in found_now)
        said = f"{source.file}: {' '.join(hints)}" if is_unit else " ".join([exc.message, *hints])
        raise AssetError(said, path=str(target.source)) from exc
    articulation = found.articulation
    if stated is not None:
        articulation = storage.with_stated_mechanics(articulation, stated, found.model, where=str(where))
    warnings = (*doubts, *storage.range_warnings(found.model, articulation), *storage.mechanism_warnings(articulation))
    found = replace(found, articulation=articulation, warnings=warnings)
    if picture:
        storage.write_annotation_file(target.picture, annotation_png(found.model, found.articulation))
    if convention == "interndata":
        for part in found.articulation.parts.values():
            if part.kind.turns_in_hand:  # InternDataEngine has none for knobs and levers
                continue
            info = make_info(part, found.model, found.articulation.scale, instance=source.instance)
            path = target.file.parent / "Kps" / part.name / "info.json"
            if path.exists() and not force:
                raise AssetError(f"{path} exists. It is kept; force=true replaces it.", path=str(path))
            path.parent.mkdir(parents=True, exist_ok=True)
            storage.write_annotation_file(path, (json.dumps(info, indent=4) + "\n").encode())
    storage.write_annotation_file(target.file, storage.with_mark(found.articulation).to_yaml().encode())
    return found


def mend_target(target: AnnotationTarget, *, category: str | None, force: bool, out: Path | None) -> AnnotationTarget:
    """Writes the URDF of an object with all that is implausible mended, and returns it as a target.

    It has the name of the original, and lies with its meshes in `out`; without it, in `mended` beside the original.

    Raises:
        AssetError: Nothing in it has a mend, or the file exists.
    """
    source = read_source(target.source, category=category, packages=True)
    folder = out or source.file.parent / MENDED_FOLDER
    doubts = find_doubts(source)
    urdf = write_mended(source, doubts, folder, force=force)
    more = [doubt for doubt in find_doubts(read_source(urdf, packages=True)) if doubt.has_mend]
    mend_further(urdf, more)
    doubts += more
    said = [
        *(doubt.text.replace(" Mend: ", " Mended: ") for doubt in doubts if doubt.has_mend),
        *(doubt.text for doubt in doubts if not doubt.has_mend),
    ]
    earlier = source.file.with_name(ANNOTATION_FILE)
    return AnnotationTarget(urdf, target.name, folder / ANNOTATION_FILE, earlier, tuple(said))


def check_convention(convention: str) -> None:
    """Checks the name of a convention.

    Raises:
        ConfigError: It is not one of `CONVENTIONS`.
    """
    if convention not in CONVENTIONS:
        raise unknown_name(convention, "a convention of annotations", where="convention", known=CONVENTIONS)


def find_targets(path: Path, *, out: Path | None) -> list[AnnotationTarget]:
    """Returns the objects that a path names, sorted.

    Args:
        path: A URDF, USD or glTF, the folder of one object, or a folder of many.
        out: Folder to write into; if there are many objects, each gets a folder in it. None: beside the URDFs.

    Raises:
        AssetError: The path names no object.
    """
    if (
        path.is_file()
        or not path.is_dir()
        or any(path.glob("*.urdf"))
        or any(file.is_file() and has_urdf(file) for file in path.iterdir())
    ):
        urdf = find_urdf(path)
        return [AnnotationTarget(urdf, str(path), (out or urdf.parent) / ANNOTATION_FILE)]
    folders = sorted({p.parent for p in path.rglob(PARTNET_URDF)} or {p.parent for p in path.rglob("*.urdf")})
    if not folders:
        raise AssetError(
            f"'{path}' contains no object: no URDF in it or below it, and no USD or glTF with joints in it. Name "
            "another folder.",
            path=str(path),
        )
    targets = []
    for folder in folders:
        name = folder.relative_to(path)
        place = folder if out is None else out / name
        targets.append(AnnotationTarget(folder, name.as_posix(), place / ANNOTATION_FILE))
    return targets
