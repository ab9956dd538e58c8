"""`unlatch watch`: shows the progress of data sets while runs fill them, in the terminal and on a page."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from rich.box import SIMPLE
from rich.console import Console
from rich.live import Live
from rich.table import Table

from unlatch.simcore.errors import ConfigError, PluginError
from unlatch.simcore.ranges import Range, check_ranges
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.command_line import split_some_paths
from unlatch.workflows.cli.console import FAILED, OK, print_note, result_console
from unlatch.workflows.runs.corrupt_episodes import CorruptEpisodes
from unlatch.workflows.runs.data_folders import data_sets_in, short_names
from unlatch.workflows.runs.run_times.pace import pace_of
from unlatch.workflows.runs.run_times.run_clock import read_run_times
from unlatch.workflows.runs.statistics import RunStatistics, time_text
from unlatch.workflows.viewing.live.page_address import DEFAULT_PORT, LOCAL_HOST, MAX_PORT
from unlatch.workflows.viewing.live.page_process import PageProcess

MAX_PERIOD_S = 3600.0
_SHARE_OF_TIME = 0.1
"""Largest share of the time that is spent on reading data sets."""
_WIDE = 120
"""Terminal width from which on the times of stages fit."""


@dataclass
class WatchCfg:
    """Options of `unlatch watch`."""

    every_s: Annotated[float, Range(0.1, MAX_PERIOD_S)] = 2.0
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
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    paths, pairs = split_some_paths("watch", arguments)
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
                _show_table(paths, console, cfg.every_s)
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


def _show_table(paths: Sequence[str], console: Console, every_s: float) -> None:
    """Shows the table again and again, until Ctrl-C."""
    make_table = partial(growth_table, paths, console.width)
    console.print("updates every few seconds, until Ctrl-C")
    with Live(make_table(), console=console, auto_refresh=False) as live:
        while True:
            started = time.perf_counter()
            live.update(make_table(), refresh=True)
            took_s = time.perf_counter() - started
            time.sleep(max(every_s, took_s / _SHARE_OF_TIME))


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
        statistics = RunStatistics.of(data_set.each_summary(damaged.add))
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
