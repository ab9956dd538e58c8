"""`unlatch phases`: one picture of what happened in a recorded episode, phase by phase."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.workflows.cli.console import OK, banner_hidden, command, say

if TYPE_CHECKING:
    from unlatch.simcore.recording.data_set.data_set import DataSet
    from unlatch.simcore.recording.episode import EpisodeRecord

HELP = """usage: unlatch phases DATA [key=value ...]

Draws what happened in one recorded episode: a picture of each phase of each skill as it ended, near the hand and the
part, with its time and how far open the part was; below, phases and openings over time. Of a failed episode the moment
of the failure is marked, and the title says why it failed. Needs no screen.

  episode=0      episode number
  columns=5      pictures in a row, at most
  out=FILE.png   default: DATA/phases-<episode>.png
"""

MAX_COLUMNS = 12


@dataclass
class PhasesCfg:
    """What `unlatch phases` takes beside the data set."""

    episode: int = 0
    """Episode number."""
    columns: int = 5
    """Pictures in a row, at most."""
    out: str | None = None
    """File to write; null: phases-<episode>.png in the data set."""

    def __post_init__(self) -> None:
        if not 1 <= self.columns <= MAX_COLUMNS:
            raise ConfigError(f"columns={self.columns} is out of range. Expected 1 to {MAX_COLUMNS}.", key="columns")
        if self.out is not None and Path(self.out).suffix != ".png":
            raise ConfigError(f"out={self.out} does not end in .png, the format that is written; rename it.", key="out")


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return command(argv, HELP, _main)


def _main(arguments: list[str]) -> int:
    from unlatch.simcore.recording.data_set.data_set import DataSet
    from unlatch.workflows.cli.arguments import read_pairs, split_paths

    (path,), pairs = split_paths("phases", arguments, count=1)
    draw_phases(DataSet.open(path), read_pairs(PhasesCfg, pairs))
    return OK


def draw_phases(data_set: DataSet, cfg: PhasesCfg) -> Path:
    """Writes a picture of an episode's phases and says where it is.

    Args:
        data_set: Where the episode is.
        cfg: Which one, and where the picture goes.

    Returns:
        The picture's path.

    Raises:
        SimCoreError: The input is at fault; nothing was written.
    """
    from unlatch.workflows.runs.recorded import check_episode, config_of

    started = time.perf_counter()
    check_episode(data_set, cfg.episode)
    record = data_set.read(cfg.episode)
    with banner_hidden():
        from unlatch.workflows.viewing.phase_moments import turns_of
        from unlatch.workflows.viewing.phase_pictures import photograph
        from unlatch.workflows.viewing.phase_sheet import draw_sheet
        from unlatch.workflows.viewing.picture import write_picture
        from unlatch.workflows.viewing.scene_picture import open_record

    turns = turns_of(record) if record.arrays else []
    if not turns:
        raise _without_phases(record)
    with open_record(config_of(data_set), record) as shown:
        sheet = photograph(shown, turns)
    picture = draw_sheet(sheet, columns=cfg.columns)
    path = data_set.path / f"phases-{cfg.episode}.png" if cfg.out is None else Path(cfg.out).expanduser().absolute()
    write_picture(picture, path)
    moments = sum(len(turn.moments) for turn in turns)
    say(f"phases: {path} ({moments} moments, {time.perf_counter() - started:.1f} s)")
    return path


def _without_phases(record: EpisodeRecord) -> RecordingError:
    said = f" ({str(record.evidence['message']).rstrip('.')})" if "message" in record.evidence else ""
    return RecordingError(
        f"Episode {record.number} has no phases to show: it ended with code {record.code} before an arm moved{said}. "
        "Name another episode.",
        number=record.number,
        code=record.code,
    )
