"""`unlatch rehearse`: tries the parts of an object and says what moves them; `collect` does so by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from rich.table import Table

from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.derived_request import describe_object_path
from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.simcore.errors import UnlatchError
from unlatch.simcore.files import user_path
from unlatch.workflows.cli.arguments import read_pairs, split_own, split_paths
from unlatch.workflows.cli.terminal import FAILED, OK, command, print_line, print_note, relative_path, result_console
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.rehearsal import Rehearsal, acting_entry, read_beside, rehearse, write_beside
from unlatch.workflows.viewing.phase_sheet import write_phases

CfgT = TypeVar("CfgT", bound=EpisodeCfg)
PICTURE = "rehearsal.png"


@dataclass
class RehearseCfg:
    """Options of `unlatch rehearse` beside those of a task."""

    skill: str | None = None
    """The only skill to try; null: all that fit."""
    part: str | None = None
    """The only part to try; null: all."""
    write: bool = False
    """Whether what was found is written beside the object, in rehearsed.yaml."""
    fresh: bool = False
    """Whether it is tried again even if the result is in the cache."""
    out: str = PICTURE
    """File for the picture of the best try of a part that nothing moves."""


@command
def rehearse_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    (path,), pairs = split_paths("rehearse", arguments, exactly=1)
    own, rest = split_own(RehearseCfg, pairs)
    cfg = read_pairs(RehearseCfg, own)
    found: list[Rehearsal] = []
    for part, skill in _tries(path, cfg):
        try:
            episode = load(f"object={path}", f"skill={skill}", f"part={part}", *rest)
        except UnlatchError as exc:
            print_note(f"unlatch: {exc.message}")
            continue
        if acting_entry(episode) is not None:
            found.append(_rehearse_and_say(episode, fresh=cfg.fresh, picture=Path(cfg.out)))
    result_console().print(_table(found))
    proven = [item for item in found if item.proven]
    if cfg.write and proven:
        print_line(f"rehearsed: {relative_path(write_beside(proven, user_path(path)))}")
    return OK if found and len(proven) == len(found) else FAILED


def _tries(path: str, cfg: RehearseCfg) -> Iterator[tuple[str, str]]:
    """Yields names of parts and of the skills that fit them."""
    asset = load_object(
        read_dataclass(ObjectCfg, describe_object_path(path, None), where="object"), rng=np.random.default_rng(0)
    )
    for part in asset.articulation.parts.values():
        if cfg.part not in (None, part.name):
            continue
        skills = ["close"] if part.is_button else ["rotate"] if part.kind.turns_in_hand else ["open", "close"]
        yield from ((part.name, skill) for skill in ([cfg.skill] if cfg.skill else skills))


def _table(found: Sequence[Rehearsal]) -> Table:
    table = Table(box=None)
    for column in ("part", "skill", "strategies", "where", "candidates", "trials", "CPU [s]"):
        table.add_column(column)
    for item in found:
        best = ", ".join(f"{each['name']} {each['successes']} of {each['trials']}" for each in item.proven)
        numbers = (str(item.tried), str(item.trials), f"{item.cpu_s:.0f}")
        table.add_row(item.part, item.skill, best or "none", item.where or "as derived", *numbers)
    return table


def _rehearse_and_say(cfg: EpisodeCfg, *, fresh: bool = False, picture: Path) -> Rehearsal:
    """Rehearses a configuration with a line on stderr for each trial; draws the best try of one that never succeeds."""
    found, best = rehearse(cfg, on_trial=print_note, fresh=fresh)
    print_note(f"unlatch: {found.line}")
    if not found.proven and best is not None:
        write_phases(best.cfg, best.record, picture)
        print_note(f"unlatch: the best try: {relative_path(picture)}")
    return found


def with_rehearsal(cfg: CfgT, folder: Path) -> CfgT:
    """Returns a configuration that plans from what is proven for its object; others stay as they are.

    What stands beside the object is taken, else what the cache has, else the object is rehearsed.

    Args:
        cfg: The configuration.
        folder: Where the picture of the best try goes if nothing succeeds.

    Raises:
        UnlatchError: No candidate ever succeeded.
    """
    if acting_entry(cfg) is None:
        return cfg
    found = read_beside(cfg) or _rehearse_and_say(cfg, picture=folder / PICTURE)
    if not found.proven:
        picture = folder / PICTURE
        seen = f" {relative_path(picture)} shows the best try." if picture.is_file() else ""
        raise UnlatchError(
            f"{found.line}. No data are made.{seen} Name another part or robot, or collect all the same with "
            "rehearse=false."
        )
    return found.apply(cfg)
