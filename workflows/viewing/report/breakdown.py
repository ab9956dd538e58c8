"""Success rates by what was attempted: task, robot, randomization, category, instance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unlatch.workflows.viewing.report.tally import STANDING, Counts, Tally

MOST_ROWS = 24
"""Largest number of rows of a breakdown; rows with the lowest rates are kept."""


@dataclass(frozen=True)
class BreakdownRow:
    """One line of a breakdown."""

    label: str
    columns: tuple[Counts, ...]
    """One for each data set of a comparison, or one for all data sets together."""


@dataclass(frozen=True)
class Breakdown:
    """Success by one property."""

    title: str
    rows: tuple[BreakdownRow, ...]
    left_out: str = ""
    """A description of what is not shown."""

    @property
    def has_one_value(self) -> bool:
        """Whether all attempts have the same value: its rate is that of all attempts."""
        return len(self.rows) == 1 and not self.left_out

    @property
    def row_count(self) -> int:
        """Number of rows; as many as there are data sets: they say nothing that the data sets do not say."""
        return len(self.rows)

    def to_dict(self, columns: Sequence[str]) -> dict[str, Any]:
        """Returns plain values by label and column."""
        return {
            row.label: {name: counts.to_dict() for name, counts in zip(columns, row.columns, strict=True)}
            for row in self.rows
        }


def breakdowns(columns: Sequence[Sequence[Tally]]) -> list[Breakdown]:
    """Returns the success rates of groups of data sets by each property, all attempts first."""
    found = [make_breakdown("all", columns, lambda item: {"all attempts": item.total})]
    if any(len(column) > 1 for column in columns):
        found.append(make_breakdown("data set", columns, lambda item: {item.name: item.total}))
    found += [make_breakdown(group, columns, _counts_by_group(group)) for group in ("task", "robot", "randomization")]
    found.append(make_breakdown("category", columns, lambda item: item.by_category))
    sides = make_breakdown("rests on", columns, lambda item: item.by_side)
    if [row.label for row in sides.rows] != [STANDING]:
        found.append(sides)
    found.append(_instance_breakdown(columns))
    return [item for item in found if item.rows]


def _counts_by_group(group: str) -> Callable[[Tally], Mapping[str, Counts]]:
    return lambda item: {item.label(group): item.total}


def make_breakdown(
    title: str, columns: Sequence[Sequence[Tally]], counts_of: Callable[[Tally], Mapping[str, Counts]]
) -> Breakdown:
    """Returns the counts of groups of data sets by the labels that `counts_of` gives to each data set, sorted."""
    parts = [[counts_of(item) for item in column] for column in columns]
    labels = sorted({label for column in parts for part in column for label in part})
    rows = [
        BreakdownRow(label, tuple(sum((part[label] for part in column if label in part), Counts()) for column in parts))
        for label in labels
    ]
    return Breakdown(title, tuple(rows))


def _instance_breakdown(columns: Sequence[Sequence[Tally]]) -> Breakdown:
    """Returns the rates of instances that were drawn more than once; other rates mean little."""
    whole = make_breakdown("instance", columns, lambda item: item.by_instance)
    repeated = [row for row in whole.rows if max(counts.n for counts in row.columns) > 1]
    once = len(whole.rows) - len(repeated)
    pooled = {row.label: sum(row.columns, Counts()) for row in repeated}
    worst_first = sorted(repeated, key=lambda row: (pooled[row.label].rate, -pooled[row.label].n))
    shown = worst_first[:MOST_ROWS]
    words = []
    if len(worst_first) > len(shown):
        words.append(f"{len(worst_first) - len(shown):,} more with higher rates")
    if once:
        words.append(f"{once:,} instances that were drawn once")
    beyond = sum(item.uncounted_instances for column in columns for item in column)
    if beyond:
        words.append(f"{beyond:,} attempts of further instances")
    return Breakdown("instance", tuple(shown), "; ".join(words))
