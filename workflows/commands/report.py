"""`unlatch report`: what came of data sets, as one page to look at."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unlatch.simcore.errors import ConfigError
from unlatch.workflows.cli.console import OK, banner_hidden, command, say

HELP = """usage: unlatch report DATA [DATA ...] [key=value ...]

Writes one page with nothing outside it, and a JSON with its numbers beside it: success with its interval by task,
robot, randomization, category and instance; failure codes; where it fails; curves; pictures of successes and of each
failure code; times; and the commands that make any episode again. Two data sets are put side by side, more are counted
together. A folder with data sets below it, as of a sweep, stands for all of them.

  pictures=1     strips of pictures for each outcome; 0: none, which needs no simulator and is quick
  out=FILE.html  default: DATA/report.html; of several, report.html in the current directory
"""

MOST_PICTURES = 10


@dataclass
class ReportCfg:
    """What `unlatch report` takes beside data sets."""

    pictures: int = 1
    """Strips of pictures for each outcome; 0 takes none."""
    out: str | None = None
    """File to write; null: report.html in the data set, or of several in the current directory."""

    def __post_init__(self) -> None:
        if not 0 <= self.pictures <= MOST_PICTURES:
            raise ConfigError(
                f"pictures={self.pictures} is out of range. Expected 0 to {MOST_PICTURES}.", key="pictures"
            )
        if self.out is not None and Path(self.out).suffix != ".html":
            raise ConfigError(
                f"out={self.out} does not end in .html, the format that is written; rename it.", key="out"
            )


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return command(argv, HELP, _main)


def _main(arguments: list[str]) -> int:
    from unlatch.workflows.cli.arguments import read_pairs, split_some_paths

    paths, pairs = split_some_paths("report", arguments)
    write_report(paths, read_pairs(ReportCfg, pairs))
    return OK


def write_report(paths: Sequence[str], cfg: ReportCfg) -> Path:
    """Writes the page and its JSON and says where they are.

    Args:
        paths: Data sets, or folders that they lie below.
        cfg: How.

    Returns:
        The page's path.

    Raises:
        SimCoreError: The input is at fault; nothing was written.
    """
    from unlatch.simcore.recording.data_set.data_set import DataSet
    from unlatch.workflows.runs.data_folders import data_sets_in, short_names

    started = time.perf_counter()
    folders = data_sets_in(paths)
    names = short_names(folders)
    sets = [DataSet.open(folder) for folder in folders]
    target = _target(cfg, folders)
    with banner_hidden():
        from unlatch.workflows.viewing.report.content import make_report
        from unlatch.workflows.viewing.report.page import page
        from unlatch.workflows.viewing.report.tally import tally

    tallies = [tally(data_set, name=name) for data_set, name in zip(sets, names, strict=True)]
    if not any(item.total.n for item in tallies):
        raise ConfigError(f"There is no episode in {', '.join(map(str, folders[:3]))}. Expected at least one attempt.")
    report = make_report(tallies, pictures=cfg.pictures)
    content = page(report).encode()
    numbers = json.dumps(report.to_dict(), indent=1, allow_nan=False).encode()
    _write(target, content)
    _write(target.with_suffix(".json"), numbers)
    took = f"{len(content) / 1e6:.1f} MB, {time.perf_counter() - started:.1f} s"
    say(f"report: {target} ({took}), its numbers beside it in {target.with_suffix('.json').name}")
    return target


def _target(cfg: ReportCfg, folders: Sequence[Path]) -> Path:
    if cfg.out is not None:
        return Path(cfg.out).expanduser().absolute()
    return (folders[0] if len(folders) == 1 else Path.cwd()).absolute() / "report.html"


def _write(path: Path, content: bytes) -> None:
    """Writes a file, whole or not at all."""
    from unlatch.simcore.files import not_writable, write_page

    try:
        write_page(path, content)
    except OSError as exc:
        raise not_writable(path.parent, exc) from exc
