"""The table of a sweep: one row for each of many data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unlatch.workflows.runs.statistics import SuccessMeasure
from unlatch.workflows.viewing.report.reproduction import report_command, view_command
from unlatch.workflows.viewing.report.tally import Counts, Tally

GROUPS = ("task", "robot", "randomization")


@dataclass(frozen=True)
class SweepRow:
    """One data set of a sweep."""

    name: str
    values: tuple[str, ...]
    """What differs between the data sets: names of task, robot, randomization."""
    total: Counts
    goal: SuccessMeasure | None
    """Successes of a policy that may break rules; None for demonstrations."""
    median_ms: float | None
    """Wall time of an episode, all stages together [ms]."""
    command: str
    """The command that shows the first failure of the most frequent code, or a success; empty: there is no attempt."""
    report: str
    """The command that writes the report of this data set alone."""

    def to_dict(self) -> dict[str, Any]:
        """Returns plain values for JSON."""
        return {"command": self.command, "report": self.report, "median_ms": self.median_ms}


def varied_groups(tallies: Sequence[Tally]) -> list[str]:
    """Returns which of task, robot and randomization differ between data sets, without those that their names say."""
    return [
        group
        for group in GROUPS
        if len({item.label(group) for item in tallies}) > 1 and any(item.label(group) != item.name for item in tallies)
    ]


def make_row(item: Tally, groups: Sequence[str], median_ms: float | None) -> SweepRow:
    """Returns the row of a data set."""
    code = next((code for code, _ in item.total.codes.most_common()), None)
    episode = next(iter(item.examples.get(code, [])), None)
    return SweepRow(
        item.name,
        tuple(item.label(group) for group in groups),
        item.total,
        item.policy.measure("goal", n=item.total.n) if item.policy.n else None,
        median_ms,
        "" if episode is None else view_command(item.data_set, episode),
        report_command(item.data_set),
    )
