"""Prints the summary of a run."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE
from rich.table import Table

from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.cli.console import FAILED, OK, print_line, print_note, relative_path, result_console
from unlatch.workflows.runs.corrupt_episodes import CorruptEpisodes
from unlatch.workflows.runs.run import RunResult
from unlatch.workflows.runs.statistics import SEARCH, STAGES, RunStatistics


def print_summary(result: RunResult) -> RunStatistics:
    """Prints the counts of the episodes asked for, and how fast this run made its share; returns the counts."""
    corrupt = CorruptEpisodes()
    statistics = result.statistics(corrupt)
    for line in corrupt.lines():
        print_note(f"unlatch: {line}")
    pace = f", {3600.0 * result.made / result.seconds:,.0f} an hour" if result.made else ""
    count = f"{statistics.n} of {len(set(result.numbers))} episodes there"
    print_line(f"{count}, {result.made} made in {result.seconds:.1f} s{pace}")
    result_console().print(summary_table(statistics))
    for text in _describe_first_failure(result.data_set, statistics):
        print_line(text)
    return statistics


def _describe_first_failure(data_set: DataSet, statistics: RunStatistics) -> Sequence[str]:
    """Returns why the first attempt with the most frequent failure code failed, and the command that shows it."""
    most = next(iter(statistics.codes), None)
    if most is None:
        return []
    number = statistics.first[most]
    message = str(data_set.read(number, arrays=False).evidence.get("message", ""))
    return [
        f"first {most}, episode {number}: {message}",
        f"look: unlatch phases {relative_path(data_set.path)} episode={number}",
    ]


def exit_code(statistics: RunStatistics) -> int:
    """Returns the exit code of a finished run: 1 if every attempt ended as `error`, for then nothing works."""
    return FAILED if statistics.n and statistics.codes.get("error") == statistics.n else OK


def summary_table(statistics: RunStatistics) -> Table:
    """Returns the statistics of a run as a table."""
    table = Table(box=SIMPLE, show_header=False, pad_edge=False)
    table.add_row("success", statistics.success_text())
    table.add_row("failures", statistics.codes_text())
    medians = [
        f"{stage} {statistics.medians_ms[stage]:.0f}" for stage in (SEARCH, *STAGES) if stage in statistics.medians_ms
    ]
    table.add_row("median ms", ", ".join(medians) or "-")
    return table
