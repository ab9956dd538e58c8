"""Commands about objects: `annotate`, `convert` and `make-object`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from unlatch.objects.annotate.annotator import AnnotateCfg, AnnotationResult
from unlatch.objects.annotate.source import named_category
from unlatch.objects.annotation import HandleType
from unlatch.objects.importers.mesh_object import MeshJointCfg, MeshUrdf, write_mesh_urdf
from unlatch.objects.importers.mjcf_reader import write_body_urdf
from unlatch.simcore.errors import AssetError, ConfigError, count_noun
from unlatch.simcore.files import plain_name
from unlatch.simcore.ranges import Range, check_ranges
from unlatch.workflows.assets.annotate import (
    AnnotationTarget,
    annotate_target,
    check_convention,
    find_targets,
    mend_target,
)
from unlatch.workflows.assets.convert import USD_FOLDER, ConvertCfg, MakeObjectCfg, convert_all, find_jobs, make_objects
from unlatch.workflows.cli.arguments import read_pairs, split_paths, split_words
from unlatch.workflows.cli.terminal import BAD_INPUT, FAILED, OK, command, print_line, print_note, relative_path
from unlatch.workflows.viewing.annotation_editor import serve_editor


@dataclass
class AnnotateCommandCfg:
    """Options of `unlatch annotate`."""

    out: str | None = None
    """Folder to write into; null: the folder of the URDF."""
    force: bool = False
    """Whether to replace an annotation made by hand."""
    check: bool = False
    """Whether to check only."""
    edit: bool = False
    """Whether to open the editor."""
    port: Annotated[int, Range(0, 65535)] = 8080
    """Port of the editor's page."""
    picture: bool = True
    """Whether to draw a picture."""
    scale: float | None = None
    """Metres per unit."""
    size: float | None = None
    """Largest extent [m]."""
    category: str | None = None
    """Category of the object."""
    info: bool = True
    """Whether to use the keypoints of `info.json`."""
    convention: str = "unlatch"
    """`interndata` also writes an `info.json` for each part."""
    fix: bool = False
    """Whether to write the URDF with all that is implausible mended, and to annotate that."""
    body: str | None = None
    """The body of an MJCF scene that is the object."""
    joint: str | None = None
    """`hinge` or `slider`: the joint of a mesh without joints; see `MeshJointCfg`, also for the fields below."""
    moving: Any = None
    axis: Any = None
    at: Any = None
    range: Any = None
    up: str | None = None

    def __post_init__(self) -> None:
        if self.fix and (self.check or self.edit):
            raise ConfigError("fix writes a file, and check and edit do not. Give one of them.", key="fix")
        if self.check and self.edit:
            raise ConfigError("check and edit are both true. Give one of them.", key="check")
        check_ranges(self)
        check_convention(self.convention)
        for key in ("moving", "axis", "at", "range", "up"):
            if self.joint is None and getattr(self, key) is not None:
                raise ConfigError(f"{key} describes the joint of a mesh. Add joint=hinge or joint=slider.", key=key)

    @property
    def mesh_joint(self) -> MeshJointCfg | None:
        """The joint of a mesh; None if none is given."""
        if self.joint is None:
            return None
        return MeshJointCfg(
            self.joint,
            moving=tuple(map(str, _as_list(self.moving))),
            axis=_place("axis", self.axis),
            at=_place("at", self.at),
            range=None if self.range is None else _numbers("range", self.range),
            up=self.up,
        )


def _as_list(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def _place(key: str, value: Any) -> str | tuple[float, ...] | None:
    return value if value is None or isinstance(value, str) else _numbers(key, value)


def _numbers(key: str, value: Any) -> tuple[float, ...]:
    try:
        return tuple(float(item) for item in value)
    except (TypeError, ValueError) as exc:
        raise ConfigError(f"{key}={value} is no list of numbers. Expected [0,0,1] or the like.", key=key) from exc


@command
def annotate_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    (name,), pairs = split_paths("annotate", arguments, exactly=1)
    cfg = read_pairs(AnnotateCommandCfg, pairs)
    path, out = Path(name), None if cfg.out is None else Path(cfg.out)
    joint = cfg.mesh_joint
    if joint is not None:
        made = write_mesh_urdf(path, joint, out or path.parent, force=cfg.force)
        print_line(f"URDF: {made.path} ({made.description})")
        for warning in made.warnings:
            print_line(f"  warning: {warning}")
        with _blame_joint(made):
            (target,) = find_targets(made.path, out=None)
            return _edit([target], cfg) if cfg.edit else _annotate_one(target, cfg)
    if cfg.body is not None:
        path, notices = write_body_urdf(path, cfg.body, out or path.parent / plain_name(cfg.body), force=cfg.force)
        cfg.category = cfg.category or named_category(cfg.body)
        print_line(f"URDF: {path}")
        for notice in notices:
            print_line(f"  note: {notice}")
        out = None
    targets = find_targets(path, out=out)
    if cfg.edit:
        return _edit(targets, cfg)
    if cfg.fix:
        if len(targets) != 1:
            raise ConfigError(f"fix=true takes one object, got {len(targets)}. Name the folder of one.", key="fix")
        targets = [mend_target(targets[0], category=cfg.category, force=cfg.force, out=out)]
        print_line(f"mended: {targets[0].source}")
    if len(targets) == 1:
        return _annotate_one(targets[0], cfg)
    return _annotate_many(targets, cfg)


@contextmanager
def _blame_joint(made: MeshUrdf) -> Iterator[None]:
    """Adds to an error that the URDF exists now, and which joint to look at: the next command has to replace it."""
    try:
        yield
    except AssetError as exc:
        joint = made.description.partition(": ")[2]
        raise AssetError(
            f"{exc.message} {made.path} has a {joint}. If that is not the joint you mean, change axis= or at=, and add "
            "force=true to replace the URDF.",
            path=str(made.path),
        ) from exc


def _annotate(target: AnnotationTarget, cfg: AnnotateCommandCfg) -> AnnotationResult:
    values = AnnotateCfg(scale=cfg.scale, size_m=cfg.size, use_info=cfg.info)
    return annotate_target(
        target, values, category=cfg.category, force=cfg.force, picture=cfg.picture, convention=cfg.convention
    )


def _annotate_one(target: AnnotationTarget, cfg: AnnotateCommandCfg) -> int:
    if cfg.check:
        problems = [*target.load().problems, *target.info_problems()]
        for problem in problems:
            print_line(f"{target.file}: {problem}")
        if not problems:
            print_line(f"{target.file}: the annotation fits its object")
        return FAILED if problems else OK
    for line in _describe_result(_annotate(target, cfg)):
        print_line(line)
    print_line(f"annotation: {target.file}")
    if cfg.picture:
        print_line(f"picture: {target.picture}")
    return OK


def _annotate_many(targets: Sequence[AnnotationTarget], cfg: AnnotateCommandCfg) -> int:
    good = 0
    for number, target in enumerate(targets, start=1):
        label = f"{number}/{len(targets)} {target.name}"
        try:
            if cfg.check:
                problems = [*target.load().problems, *target.info_problems()]
                good += not problems
                print_line(f"{label}: {problems[0] if problems else 'fits'}")
            else:
                found = _annotate(target, cfg)
                parts = found.articulation.parts
                good += 1
                print_line(
                    f"{label}: " + ", ".join(f"{p.name} ({p.kind.name}, {p.handle.type.name})" for p in parts.values())
                )
                for warning in found.warnings:
                    print_line(f"{label}: warning: {warning}")
        except AssetError as exc:
            print_note(f"{label}: {' '.join(exc.message.split())}")
    print_line(f"{good} of {len(targets)} objects " + ("have annotations that fit" if cfg.check else "annotated"))
    if good == len(targets):
        return OK
    return FAILED if good or cfg.check else BAD_INPUT


def _describe_result(found: AnnotationResult) -> list[str]:
    """Returns one line for the object, each part and each joint that was left out."""
    size = " x ".join(f"{v:.2f}" for v in found.size_m)
    lines = [f"{found.articulation.category}: {size} m, scale {found.articulation.scale:.4g}"]
    for part in found.articulation.parts.values():
        held = part.handle
        extents = " x ".join(f"{1000 * v:.0f}" for v in held.size)
        unit = "m" if part.kind.name == "slider" else "rad"
        acts = f"held at its {held.type.name} ({extents} mm)"
        if part.is_button:
            acts = "pressed with a finger"
        elif held.type is HandleType.none:
            acts = "nothing of it fits between the fingers" + (f" ({extents} mm)" if np.any(held.size) else "")
        closed, opened = part.openness.closed + 0.0, part.openness.open + 0.0  # adding 0 turns -0 into 0
        lines.append(
            f"  {part.name}: {part.kind.name} by {part.joint}, {acts}, closed {closed:.3g}, open {opened:.3g} {unit}"
        )
        lines.append(f"    {found.reasons[part.name]}")
    for name, mechanism in found.articulation.mechanisms.items():
        values = ", ".join(f"{key} {value}" for key, value in mechanism.to_dict().items() if key != "kind")
        lines.append(f"  {name}: a mechanism, {mechanism.kind}: {values}")
    lines += [f"  left out {joint}: {reason}" for joint, reason in found.refused.items()]
    lines += [f"  note: {notice}" for notice in found.notices]
    lines += [f"  warning: {warning}" for warning in found.warnings]
    return lines + ["  fix=true writes the mended file"] * any(" Mend: " in warning for warning in found.warnings)


def _edit(targets: Sequence[AnnotationTarget], cfg: AnnotateCommandCfg) -> int:
    if len(targets) != 1:
        raise ConfigError(f"edit=true takes one object, got {len(targets)}. Name the folder of one.", key="edit")
    (target,) = targets
    if not target.file.exists():
        _annotate(target, cfg)
    serve_editor(target.load(), port=cfg.port, on_ready=lambda url: print_line(f"editor: {url} (Ctrl-C ends it)"))
    return OK


@command
def convert_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    (path,), pairs = split_paths("convert", arguments, exactly=1)
    cfg = read_pairs(ConvertCfg, pairs)
    started = time.perf_counter()
    jobs = find_jobs(Path(path), cfg)
    failed = fresh = 0
    for number, outcome in enumerate(convert_all(jobs, workers=cfg.workers), start=1):
        count = f"[{number}/{len(jobs)}] " if len(jobs) > 1 else ""
        if outcome.failed:
            print_note(f"unlatch: {count}{outcome.name}: {' '.join(outcome.message.split())}")
        else:
            print_line(f"{count}{outcome.name}: {outcome.message}")
        for notice in outcome.notices:
            print_note(f"unlatch: {outcome.name}: {notice}")
        failed += outcome.failed
        fresh += outcome.was_converted
    if len(jobs) > 1:
        print_line(
            f"{count_noun(len(jobs), 'object')}: {fresh} converted, {len(jobs) - fresh - failed} up to date, "
            f"{failed} failed; {time.perf_counter() - started:.1f} s"
        )
    return BAD_INPUT if failed else OK


@command
def make_object_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    names, pairs = split_words(arguments)
    if len(names) != 1:
        raise ConfigError(
            f"make-object got {len(names)} categories ({' '.join(names) or 'none'}), expected 1, then key=value. "
            "`unlatch list objects` lists them; `all` stands for every one."
        )
    cfg = read_pairs(MakeObjectCfg, pairs)
    items, picture = make_objects(names[0], cfg)
    for item in items:
        parts = ", ".join(f"{name} ({part.kind.value})" for name, part in item.made.articulation.parts.items())
        usd = f"; {item.folder / USD_FOLDER / 'object.usd'}" if cfg.usd else ""
        print_line(f"{item.category} {item.seed}: {item.urdf}; {parts}{usd}")
    if picture is not None:
        print_line(f"picture: {relative_path(picture)}")
    return OK
