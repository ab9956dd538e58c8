"""Success rates by what was attempted: task, robot, randomization, category, instance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from unlatch.workflows.viewing.report.tally import Counts, Tally

MOST_ROWS = 24
"""Rows of one part of a breakdown, at most; those with the lowest rates stay."""


@dataclass(frozen=True)
class Row:
    """One line of a breakdown."""

    label: str
    columns: tuple[Counts, ...]
    """One of each data set side by side, or one of all of them together."""


@dataclass(frozen=True)
class Breakdown:
    """Success by one property."""

    title: str
    rows: tuple[Row, ...]
    left_out: str = ""
    """What is not shown, in words."""

    @property
    def tells_nothing(self) -> bool:
        """Whether all attempts have the same value, which has the rate of the whole."""
        return len(self.rows) == 1 and not self.left_out

    def to_dict(self, columns: Sequence[str]) -> dict[str, Any]:
        """As JSON has it: by label and column."""
        return {
            row.label: {name: counts.to_dict() for name, counts in zip(columns, row.columns, strict=True)}
            for row in self.rows
        }


def breakdowns(columns: Sequence[Sequence[Tally]]) -> list[Breakdown]:
    """Success by everything that varies or that has a name, the whole first.

    Args:
        columns: Data sets that are counted together, side by side with others.
    """
    found = [_breakdown("all", columns, lambda item: {"all attempts": item.total})]
    if any(len(column) > 1 for column in columns):
        found.append(_breakdown("data set", columns, lambda item: {item.name: item.total}))
    found += [_breakdown(group, columns, _of_group(group)) for group in ("task", "robot", "randomization")]
    found.append(_breakdown("category", columns, lambda item: item.by_category))
    found.append(_instances(columns))
    return [item for item in found if item.rows or item.left_out]


def _of_group(group: str) -> Callable[[Tally], Mapping[str, Counts]]:
    return lambda item: {item.label(group): item.total}


def _breakdown(
    title: str, columns: Sequence[Sequence[Tally]], counts_of: Callable[[Tally], Mapping[str, Counts]]
) -> Breakdown:
    parts = [[counts_of(item) for item in column] for column in columns]
    labels = sorted({label for column in parts for part in column for label in part})
    rows = [
        Row(label, tuple(reduce(add, (part[label] for part in column if label in part), Counts()) for column in parts))
        for label in labels
    ]
    return Breakdown(title, tuple(rows))


def _instances(columns: Sequence[Sequence[Tally]]) -> Breakdown:
    """By instance: those that were drawn more than once, where a rate means something."""
    whole = _breakdown("instance", columns, lambda item: item.by_instance)
    repeated = [row for row in whole.rows if max(counts.n for counts in row.columns) > 1]
    once = len(whole.rows) - len(repeated)
    worst_first = sorted(repeated, key=lambda row: (_pooled_rate(row), -sum(counts.n for counts in row.columns)))
    shown = worst_first[:MOST_ROWS]
    words = []
    if len(worst_first) > len(shown):
        words.append(f"{len(worst_first) - len(shown):,} more with higher rates")
    if once:
        words.append(f"{once:,} instances that were drawn once")
    beyond = sum(item.uncounted_instances for column in columns for item in column)
    if beyond:
        words.append(f"{beyond:,} attempts of still more instances")
    return Breakdown("instance", tuple(shown), "; ".join(words))


def _pooled_rate(row: Row) -> float:
    return sum(counts.successes for counts in row.columns) / sum(counts.n for counts in row.columns)
