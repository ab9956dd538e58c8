"""Commands about whole data sets: `merge`, `report` and `watch`."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.box import SIMPLE
from rich.live import Live
from rich.table import Table

from unlatch.simcore.errors import ConfigError, PluginError, count_noun
from unlatch.simcore.ranges import Range, check_ranges
from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.cli.arguments import read_pairs, split_paths
from unlatch.workflows.cli.terminal import FAILED, OK, command, print_line, print_note, relative_path, result_console
from unlatch.workflows.runs.data_sets import count_episodes, data_sets_in, merge, short_names
from unlatch.workflows.runs.progress import pace_of, read_run_times
from unlatch.workflows.runs.schema import DEFAULT_PORT, LOCAL_HOST, MAX_PORT
from unlatch.workflows.runs.statistics import CorruptEpisodes, time_text
from unlatch.workflows.runs.step_progress import StepProgress
from unlatch.workflows.viewing.episode_files import REPORT
from unlatch.workflows.viewing.page_server import PageProcess
from unlatch.workflows.viewing.picture import check_suffix, fill_template, output_path, write_output
from unlatch.workflows.viewing.report import make_report, numbers_of
from unlatch.workflows.viewing.report_counts import Tally, tally


@dataclass
class MergeCfg:
    """Options of `unlatch merge`."""

    link: bool = False
    """Whether files are linked where the file system can do that."""


@command
def merge_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    _check_place(*split_paths("merge", arguments, least=0))
    (out, *sources), pairs = split_paths("merge", arguments, least=2)
    cfg = read_pairs(MergeCfg, pairs)
    started = time.perf_counter()
    report = merge(out, sources, link=cfg.link, notify=print_note)
    seconds = time.perf_counter() - started
    print_line(
        f"{count_noun(report.episodes, 'episode')}, {report.taken} taken in {seconds:.1f} s: {report.data_set.path}"
    )
    return FAILED if report.left_out else OK


def _check_place(paths: Sequence[str], pairs: Sequence[str]) -> None:
    """Raises an error for a key `out`: the command without it would write into a folder that was meant as a source.

    Raises:
        ConfigError: There is such a key.
    """
    for pair in pairs:
        key, _, value = pair.partition("=")
        if key.lstrip("+") == "out":
            words = shlex.join(["unlatch", "merge", value or "OUT", *(paths or ["DATA"])])
            raise ConfigError(
                f"{pair} is no key of merge: the first folder is the result, `unlatch merge OUT DATA [DATA ...]`. "
                f"Write {words}",
                key="out",
            )


@dataclass
class ReportCfg:
    """Options of `unlatch report`."""

    pictures: Annotated[int, Range(0, 10)] = 1
    """Strips of pictures for each outcome; 0: none."""
    clips: Annotated[int, Range(0, 24)] = 4
    """Largest number of clips on the page; 0: none."""
    out: str | None = None
    """File to write; null: report.html in the data set, for several data sets in the current directory."""

    def __post_init__(self) -> None:
        check_ranges(self)
        check_suffix(self.out, ".html")


@command
def report_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    paths, pairs = split_paths("report", arguments)
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
    page = fill_template("report.html", report=report, compared=len(report["columns"]) > 1, keys=("set-a", "set-b"))
    numbers = json.dumps(numbers_of(report), indent=1, allow_nan=False).encode()
    write_output(target, page.encode())
    write_output(target.with_suffix(".json"), numbers)
    return target, tallies


_WIDE = 120
"""Terminal width from which on the times of stages fit."""


@dataclass
class WatchCfg:
    """Options of `unlatch watch`."""

    every_s: Annotated[float, Range(0.1, 3600.0)] = 2.0
    """Period of the display [s]."""
    once: bool = False
    """Whether it prints once and ends."""
    page: bool | None = None
    """Whether a page is served; null: on a terminal."""
    host: str = LOCAL_HOST
    """Address at which the page is served; `0.0.0.0`: other computers can open it, too."""
    port: Annotated[int, Range(0, MAX_PORT)] = DEFAULT_PORT
    """Port of the page; if it is taken, the next free one."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.once and self.page:
            raise ConfigError("once=true and page=true exclude each other. Remove one of them.", key="page")


@command
def watch_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    paths, pairs = split_paths("watch", arguments)
    return watch_data_sets(paths, read_pairs(WatchCfg, pairs))


def watch_data_sets(paths: Sequence[str], cfg: WatchCfg) -> int:
    """Shows data sets, on a terminal again and again, and on a page; returns the exit code."""
    console = result_console()
    shows_again = console.is_terminal and not cfg.once
    if not (shows_again or cfg.page):
        console.print(growth_table(paths, console.width))
        return OK
    page = None if cfg.page is False else _make_page(paths, cfg)
    try:
        with nullcontext() if page is None else page:
            if page is not None:
                print_note(f"page: {page.url}{'' if page.port == cfg.port else f' (port {cfg.port} is taken)'}")
            if shows_again:
                console.print("updates every few seconds, until Ctrl-C")
                with Live(growth_table(paths, console.width), console=console, auto_refresh=False) as live:
                    while True:
                        started = time.perf_counter()
                        live.update(growth_table(paths, console.width), refresh=True)
                        # at most a tenth of the time is spent on reading data sets
                        time.sleep(max(cfg.every_s, 10.0 * (time.perf_counter() - started)))
            elif page is not None:
                page.wait()
                print_note(f"unlatch: the page has ended: {page.death()}")
                return FAILED
    except KeyboardInterrupt:
        pass
    return OK


def _make_page(paths: Sequence[str], cfg: WatchCfg) -> PageProcess | None:
    """Returns the page; None, with a note, if nobody asked for it and viser is not installed."""
    folders = data_sets_in(paths)
    title = short_names(folders)[0] if len(folders) == 1 else ", ".join(short_names([Path(path) for path in paths]))
    try:
        return PageProcess([Path(path) for path in paths], host=cfg.host, port=cfg.port, title=title)
    except PluginError as exc:
        if cfg.page:
            raise
        print_note(f"no page: {exc.message}")
        return None


def growth_table(paths: Sequence[str], width: int) -> Table:
    """Returns a table with one row for each data set; in a narrow terminal the times of stages are left out."""
    table = Table(box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for title in ("data set", "success (95 %)", "failures", "an hour", "last", "median time"):
        # a name is never cut, as its end tells data sets apart
        table.add_column(title, overflow="fold", no_wrap=title not in ("data set", "failures"))
    folders = data_sets_in(paths)
    for name, folder in zip(short_names(folders), folders, strict=True):
        data_set = DataSet.open(folder)
        damaged = CorruptEpisodes()
        statistics = count_episodes(data_set, damaged)
        low, high = statistics.interval
        pace = pace_of(read_run_times(data_set.path))
        table.add_row(
            name,
            f"{statistics.successes}/{statistics.n} ({100.0 * low:.0f} to {100.0 * high:.0f} %)",
            ", ".join([statistics.codes_text(), *damaged.count_text()]),
            "-" if pace.per_hour is None else f"{pace.per_hour:,.0f}",
            "-" if pace.ended is None else f"{_format_age(time.time() - pace.ended)} ago",
            statistics.times_text() if width >= _WIDE else time_text(statistics.median_episode_ms),
        )
    return table


def _format_age(seconds: float) -> str:
    for unit, length in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 0.0):.0f} s"
