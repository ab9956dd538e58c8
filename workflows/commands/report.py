"""`unlatch report`: writes a summary page of the results of data sets, and its numbers as JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.ranges import Range, check_ranges
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.command_line import split_some_paths
from unlatch.workflows.cli.console import OK, print_line, print_note, relative_path
from unlatch.workflows.runs.data_folders import data_sets_in, short_names
from unlatch.workflows.runs.progress import StepProgress
from unlatch.workflows.viewing.episode_files import REPORT
from unlatch.workflows.viewing.output_file import check_suffix, output_path, write_output
from unlatch.workflows.viewing.report.content import make_report
from unlatch.workflows.viewing.report.tally import Tally, tally
from unlatch.workflows.viewing.template import fill_template

MAX_PICTURES = 10
MAX_CLIPS = 24


@dataclass
class ReportCfg:
    """Options of `unlatch report`."""

    pictures: Annotated[int, Range(0, MAX_PICTURES)] = 1
    """Strips of pictures for each outcome; 0: none."""
    clips: Annotated[int, Range(0, MAX_CLIPS)] = 4
    """Largest number of clips on the page; 0: none."""
    out: str | None = None
    """File to write; null: report.html in the data set, for several data sets in the current directory."""

    def __post_init__(self) -> None:
        check_ranges(self)
        check_suffix(self.out, ".html")


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    paths, pairs = split_some_paths("report", arguments)
    started = time.perf_counter()
    cfg = read_pairs(ReportCfg, pairs)
    with StepProgress("pictures") as progress:
        page, tallies = write_report(paths, cfg, progress=progress)
    for item in tallies:
        for line in item.damaged.lines():
            print_note(f"unlatch: {item.name}: {line}")
    if n_damaged := sum(len(item.damaged.numbers) for item in tallies):
        print_note(
            f"unlatch: {n_damaged:,} damaged, not counted; the page names them. The command that made a data set makes "
            "its damaged episodes again, if you run it once more"
        )
    took = f"{page.stat().st_size / 1e6:.1f} MB, {time.perf_counter() - started:.1f} s"
    print_line(f"report: {relative_path(page)} ({took}), its numbers beside it in {page.with_suffix('.json').name}")
    return OK


def write_report(
    paths: Sequence[str], cfg: ReportCfg, *, progress: StepProgress | None = None
) -> tuple[Path, list[Tally]]:
    """Writes the page of data sets, or of folders that contain some, and its JSON; `progress` counts its pictures.

    Returns:
        The page's path, beside which the JSON is, and what was counted in each data set.

    Raises:
        UnlatchError: The input is wrong. Nothing is written.
    """
    folders = data_sets_in(paths)
    target = output_path(cfg.out, (folders[0] if len(folders) == 1 else Path.cwd()) / REPORT)
    sets = [DataSet.open(folder) for folder in folders]
    tallies = [tally(data_set, name=name) for data_set, name in zip(sets, short_names(folders), strict=True)]
    if not any(item.total.n for item in tallies):
        damage = "".join(f" {line}" for item in tallies for line in item.damaged.lines(most=1))
        raise ConfigError(
            f"There is no episode that can be read in {', '.join(map(str, folders[:3]))}. Expected at least one "
            f"attempt.{damage}"
        )
    report = make_report(tallies, pictures=cfg.pictures, clips=cfg.clips, progress=progress)
    page = fill_template("report.html", report=report, compared=len(report.columns) > 1, keys=("set-a", "set-b"))
    numbers = json.dumps(report.to_dict(), indent=1, allow_nan=False).encode()
    write_output(target, page.encode())
    write_output(target.with_suffix(".json"), numbers)
    return target, tallies
