"""`unlatch phases`: draws one picture of a recorded episode, phase by phase."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from unlatch.simcore.errors import count_noun
from unlatch.simcore.ranges import Range, check_ranges
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.command_line import split_paths
from unlatch.workflows.cli.console import OK, print_line, relative_path
from unlatch.workflows.runs.progress import StepProgress
from unlatch.workflows.runs.recorded_config import check_episode, config_of
from unlatch.workflows.viewing.episode_files import PHASES
from unlatch.workflows.viewing.output_file import check_suffix, output_path
from unlatch.workflows.viewing.phase_moments import find_rounds, nothing_to_show
from unlatch.workflows.viewing.phase_pictures import count_phase_pictures, take_phase_pictures
from unlatch.workflows.viewing.phase_sheet import draw_sheet
from unlatch.workflows.viewing.picture import write_picture
from unlatch.workflows.viewing.scene_picture import add_laid_out_state, open_record

MAX_COLUMNS = 12


@dataclass
class PhasesCfg:
    """Options of `unlatch phases`."""

    episode: int = 0
    """Episode number."""
    columns: Annotated[int, Range(1, MAX_COLUMNS)] = 5
    """Largest number of pictures in a row."""
    out: str | None = None
    """File to write; null: phases-<episode>.png in the data set."""

    def __post_init__(self) -> None:
        check_ranges(self)
        check_suffix(self.out, ".png")


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    (path,), pairs = split_paths("phases", arguments, count=1)
    started = time.perf_counter()
    with StepProgress("pictures") as progress:
        file, moments = draw_phases(DataSet.open(path), read_pairs(PhasesCfg, pairs), progress)
    print_line(
        f"phases: {relative_path(file)} ({count_noun(moments, 'moment')}, {time.perf_counter() - started:.1f} s)"
    )
    return OK


def draw_phases(data_set: DataSet, cfg: PhasesCfg, progress: StepProgress) -> tuple[Path, int]:
    """Draws and writes a picture of an episode's phases; `progress` counts its parts.

    Returns:
        The picture's path, and how many moments it shows.

    Raises:
        UnlatchError: The input is wrong. Nothing is written.
    """
    check_episode(data_set, cfg.episode)
    path = output_path(cfg.out, data_set.path / PHASES.format(number=cfg.episode))
    episode_cfg = config_of(data_set)
    record = add_laid_out_state(episode_cfg, data_set.read(cfg.episode))
    if not record.arrays:
        raise nothing_to_show(record)
    rounds = find_rounds(record)
    with open_record(episode_cfg, record) as recorded:
        progress.begin(count_phase_pictures(rounds))
        sheet = take_phase_pictures(recorded, rounds, on_picture=progress.advance)
    write_picture(draw_sheet(sheet, columns=cfg.columns), path)
    return path, sum(len(section.tiles) for section in sheet.sections)
