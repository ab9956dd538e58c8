"""The pace of runs: episodes per hour of their wall time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from unlatch.workflows.runs.run_times.run_clock import RunTime

_LEAST_EPISODES = 10
"""Episodes of a run without a success from which on its pace is shown."""


@dataclass(frozen=True)
class Pace:
    """Speed of all runs of a data set together, start-up apart."""

    per_hour: float | None
    """Episodes per hour of wall time, without those that ended as `error`; None if there are none."""
    worked_s: float
    """Wall time in which at least one run made episodes [s]."""
    began: float | None
    """When the first episode began [s since 1970]."""
    ended: float | None
    """When the last episode ended [s since 1970]."""


def is_telling(*, episodes: int, successes: int) -> bool:
    """Returns whether a pace says something: refused episodes take next to no time, so a few of them do not."""
    return successes > 0 or episodes >= _LEAST_EPISODES


def pace_of(runs: Iterable[RunTime]) -> Pace:
    """Returns the pace of runs: their episodes over the wall time in which at least one of them made episodes.

    A run whose episodes all ended as `error` adds neither.
    """
    ordered = sorted(runs, key=lambda run: run.began)
    if not ordered:
        return Pace(None, 0.0, None, None)
    worked, until = 0.0, ordered[0].began
    for run in ordered:
        if run.episodes:
            worked += max(0.0, run.ended - max(run.began, until))
            until = max(until, run.ended)
    episodes, ended = sum(run.episodes for run in ordered), max(run.ended for run in ordered)
    return Pace(3600.0 * episodes / worked if worked > 0.0 else None, worked, ordered[0].began, ended)
