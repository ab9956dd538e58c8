"""What came of a run, as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from rich.box import SIMPLE
from rich.table import Table

from simcore.recording.storage import DataSet
from workflows.console import FAILED, OK, result_console, say, shown
from workflows.statistics import SEARCH, STAGES, RunStatistics


def print_summary(data_set: DataSet, numbers: Sequence[int], *, made: int, seconds: float) -> RunStatistics:
    """Prints the counts of the asked episodes, and how fast this run made its share; returns the counts.

    Args:
        data_set: The data set.
        numbers: The episodes asked for.
        made: How many of them this run made.
        seconds: Wall time of this run [s].
    """
    asked = set(numbers)
    statistics = RunStatistics.of(item for item in data_set.summaries() if item.number in asked)
    pace = f", {3600.0 * made / seconds:,.0f} an hour" if made else ""
    say(f"{statistics.n} of {len(asked)} episodes there, {made} made in {seconds:.1f} s{pace}")
    result_console().print(summary_table(statistics))
    for text in _first_failure(data_set, asked):
        say(text)
    return statistics


def _first_failure(data_set: DataSet, asked: Collection[int]) -> list[str]:
    """Why the first attempt failed that did so in the most frequent way, and where to look on."""
    failed = [item for item in data_set.summaries() if item.number in asked and item.code is not None]
    if not failed:
        return []
    most = Counter(item.code for item in failed).most_common(1)[0][0]
    first = min((item for item in failed if item.code == most), key=lambda item: item.number)
    message = str(data_set.read(first.number, arrays=False).evidence.get("message", ""))
    return [
        f"first {first.code}, episode {first.number}: {message}",
        f"look: unlatch phases {shown(data_set.path)} episode={first.number}",
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
