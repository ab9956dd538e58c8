"""What came of a run, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE
from rich.table import Table

from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.cli.console import FAILED, OK, print_line, print_note, relative_path, result_console
from unlatch.workflows.runs.corrupt_episodes import Damaged
from unlatch.workflows.runs.statistics import SEARCH, STAGES, RunStatistics


def print_summary(data_set: DataSet, numbers: Sequence[int], *, made: int, seconds: float) -> RunStatistics:
    """Prints the counts of the asked episodes, and how fast this run made its share; returns the counts.

    Args:
        data_set: The data set.
        numbers: The episodes asked for.
        made: How many of them this run made.
        seconds: Wall time of this run [s].
    """
    asked = set(numbers)
    damaged = Damaged()
    statistics = RunStatistics.of(item for item in data_set.each_summary(damaged.add) if item.number in asked)
    for line in damaged.lines():
        print_note(f"unlatch: {line}")
    pace = f", {3600.0 * made / seconds:,.0f} an hour" if made else ""
    print_line(f"{statistics.n} of {len(asked)} episodes there, {made} made in {seconds:.1f} s{pace}")
    result_console().print(summary_table(statistics))
    for text in _first_failure(data_set, statistics):
        print_line(text)
    return statistics


def _first_failure(data_set: DataSet, statistics: RunStatistics) -> list[str]:
    """Why the first attempt failed that did so in the most frequent way, and where to look on."""
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
    """What a run that came to its end exits with: 1 where every attempt ended as `error`, for then nothing works.

    Args:
        statistics: The attempts asked for.
    """
    return FAILED if statistics.n and statistics.codes.get("error") == statistics.n else OK


def summary_table(statistics: RunStatistics) -> Table:
    """The statistics of a run as a table."""
    table = Table(box=SIMPLE, show_header=False, pad_edge=False)
    table.add_row("success", statistics.success_text())
    table.add_row("failures", statistics.codes_text())
    medians = [
        f"{stage} {statistics.medians_ms[stage]:.0f}" for stage in (SEARCH, *STAGES) if stage in statistics.medians_ms
    ]
    table.add_row("median ms", ", ".join(medians) or "-")
    return table
