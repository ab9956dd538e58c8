"""`unlatch annotate`: finds what a robot can open, turn or slide on an object, and writes it down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.workflows.cli.arguments import read_pairs, split_paths
from unlatch.workflows.cli.command import run_command
from unlatch.workflows.cli.console import BAD_INPUT, FAILED, OK, print_line, print_note

if TYPE_CHECKING:
    from unlatch.objects.annotate.annotator import Annotated

HELP = """usage: unlatch annotate PATH [key=value ...]

Finds the joints of an object that a skill fits, the moving parts, their handles or free edges and the size of the
object, and writes articulation.yaml beside its URDF, with a picture. PATH is a URDF, the folder of an object (also one
of PartNet-Mobility), or a folder of many. No screen and no simulator is needed.

  out=FOLDER         write there instead; of many objects, into a folder for each
  force=false        replace an annotation that something else made, or that was changed since
  check=false        check the annotations that are there, write nothing
  edit=false         move keypoints in the browser and save (extra viz); port=8080
  picture=true       draw annotation.png as well
  scale=null         metres per unit of the object; else info.json, or a usual size for the category
  size=null          largest extent of the closed object [m], instead of a scale
  category=null      what the object is; else meta.json or the name of the folder says
  info=true          take over keypoints that others set by hand in info.json (GenSim2, InternDataEngine)

Exit code 0: all is well; 1: some of many objects could not be annotated, or a check found something; 2: bad input.
"""

PICTURE_FILE = "annotation.png"
"""Name of the picture beside the annotation."""


@dataclass
class AnnotateCommandCfg:
    """`unlatch annotate`."""

    out: str | None = None
    """Where to write; beside the URDF if null."""
    force: bool = False
    """Whether an annotation made by hand is replaced."""
    check: bool = False
    """Whether only to check."""
    edit: bool = False
    """Whether to open the editor."""
    port: int = 8080
    """Of the editor's page."""
    picture: bool = True
    """Whether to draw a picture."""
    scale: float | None = None
    """Metres per unit."""
    size: float | None = None
    """Largest extent [m]."""
    category: str | None = None
    """What the object is."""
    info: bool = True
    """Whether to take over the keypoints of `info.json`."""

    def __post_init__(self) -> None:
        if self.check and self.edit:
            raise ConfigError("check and edit are both true. Give one of them.", key="check")
        if not 0 <= self.port <= 65535:
            raise ConfigError(f"port={self.port} is out of range. Expected 0 to 65535.", key="port")


@dataclass(frozen=True)
class AnnotateJob:
    """One object: where it is, and where its annotation goes."""

    urdf: Path
    name: str
    """As it is shown."""
    target: Path
    """The annotation file."""


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return run_command(argv, HELP, _main)


def _main(arguments: list[str]) -> int:
    paths, pairs = split_paths("annotate", arguments, count=1)
    cfg = read_pairs(AnnotateCommandCfg, pairs)
    jobs = find_jobs(Path(paths[0]), cfg)
    if cfg.edit:
        return _edit(jobs, cfg)
    if len(jobs) == 1:
        return _one(jobs[0], cfg)
    return _many(jobs, cfg)


def find_jobs(path: Path, cfg: AnnotateCommandCfg) -> list[AnnotateJob]:
    """The objects that a path names, sorted.

    Raises:
        AssetError: There is none.
    """
    from unlatch.objects.annotate.source import PARTNET_URDF, find_urdf
    from unlatch.objects.annotation import ANNOTATION_FILE

    out = None if cfg.out is None else Path(cfg.out)
    if path.is_file() or not path.is_dir() or any(path.glob("*.urdf")):
        urdf = find_urdf(path)
        return [AnnotateJob(urdf, str(path), (out or urdf.parent) / ANNOTATION_FILE)]
    folders = sorted({p.parent for p in path.rglob(PARTNET_URDF)} or {p.parent for p in path.rglob("*.urdf")})
    if not folders:
        raise AssetError(f"'{path}' holds no object: no .urdf in it or below it. Name another folder.", path=str(path))
    return [
        AnnotateJob(
            folder,
            folder.relative_to(path).as_posix(),
            (folder if out is None else out / folder.relative_to(path)) / ANNOTATION_FILE,
        )
        for folder in folders
    ]


def annotate(job: AnnotateJob, cfg: AnnotateCommandCfg) -> Annotated:
    """Annotates one object and writes what came of it; the annotation last, so that nothing is left half done.

    Args:
        job: Which object, and where to.
        cfg: How.

    Raises:
        AssetError: It cannot be annotated, or an annotation made by hand is in the way.
    """
    from unlatch.objects.annotate import AnnotateCfg, annotate_source, find_urdf, read_source
    from unlatch.objects.annotate.storage import check_overwriting, marked, write_whole

    check_overwriting(job.target, urdf=find_urdf(job.urdf).name, force=cfg.force)
    source = read_source(job.urdf, category=cfg.category, packages=True)
    found = annotate_source(source, AnnotateCfg(scale=cfg.scale, size_m=cfg.size, use_info=cfg.info))
    text = marked(found.articulation).to_yaml()
    if cfg.picture:
        from unlatch.workflows.viewing.annotation_picture import annotation_png

        write_whole(job.target.with_name(PICTURE_FILE), annotation_png(found.model, found.articulation))
    write_whole(job.target, text.encode())
    return found


def _one(job: AnnotateJob, cfg: AnnotateCommandCfg) -> int:
    if cfg.check:
        problems = _problems(job)
        for problem in problems:
            print_line(f"{job.target}: {problem}")
        if not problems:
            print_line(f"{job.target}: the annotation fits its object")
        return FAILED if problems else OK
    found = annotate(job, cfg)
    for line in described(found):
        print_line(line)
    print_line(f"annotation: {job.target}")
    if cfg.picture:
        print_line(f"picture: {job.target.with_name(PICTURE_FILE)}")
    return OK


def _many(jobs: Sequence[AnnotateJob], cfg: AnnotateCommandCfg) -> int:
    good = 0
    for number, job in enumerate(jobs, start=1):
        label = f"{number}/{len(jobs)} {job.name}"
        try:
            if cfg.check:
                problems = _problems(job)
                good += not problems
                print_line(f"{label}: {problems[0] if problems else 'fits'}")
            else:
                parts = annotate(job, cfg).articulation.parts
                good += 1
                print_line(
                    f"{label}: " + ", ".join(f"{p.name} ({p.kind.name}, {p.handle.type.name})" for p in parts.values())
                )
        except AssetError as exc:
            print_note(f"{label}: {' '.join(exc.message.split())}")
    print_line(f"{good} of {len(jobs)} objects " + ("have annotations that fit" if cfg.check else "annotated"))
    if good == len(jobs):
        return OK
    return FAILED if good or cfg.check else BAD_INPUT


def described(found: Annotated) -> list[str]:
    """What was found, one line each part and each joint that was left out."""
    size = " x ".join(f"{v:.2f}" for v in found.size_m)
    lines = [f"{found.articulation.category}: {size} m, scale {found.articulation.scale:.4g}"]
    for part in found.articulation.parts.values():
        held = part.handle
        extents = " x ".join(f"{1000 * v:.0f}" for v in held.size)
        unit = "m" if part.kind.name == "slider" else "rad"
        lines.append(
            f"  {part.name}: {part.kind.name} by {part.joint}, held at its {held.type.name} ({extents} mm), "
            f"closed {part.openness.closed:.3g}, open {part.openness.open:.3g} {unit}"
        )
    lines += [f"  left out {joint}: {reason}" for joint, reason in found.refused.items()]
    return lines


def _problems(job: AnnotateJob) -> list[str]:
    from unlatch.objects.annotate.source import find_urdf
    from unlatch.objects.annotate.storage import load_annotation

    return load_annotation(job.target, urdf=find_urdf(job.urdf), check=False).problems


def _edit(jobs: Sequence[AnnotateJob], cfg: AnnotateCommandCfg) -> int:
    from unlatch.objects.annotate.source import find_urdf
    from unlatch.objects.annotate.storage import load_annotation
    from unlatch.workflows.viewing.annotation_editor import serve_editor

    if len(jobs) != 1:
        raise ConfigError(f"edit=true takes one object, got {len(jobs)}. Name the folder of one.", key="edit")
    (job,) = jobs
    if not job.target.exists():
        annotate(job, cfg)
    serve_editor(load_annotation(job.target, urdf=find_urdf(job.urdf), check=False), port=cfg.port)
    return OK
