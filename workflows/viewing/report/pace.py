"""How fast a data set grew, from the times of its files alone: nothing is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.recording.episode import EPISODE_FILE
from unlatch.workflows.runs.decimating_sampler import DecimatingSampler

MOST_FILES = 2_000
"""Files whose times are looked at; of more episodes, an even sample."""
_PAUSE_FACTOR = 20.0
_LEAST_PAUSE_S = 30.0
"""A gap so much longer than the usual one, and not shorter than this, was a pause between two runs."""


@dataclass(frozen=True)
class Pace:
    """How fast episodes came to be, all writers together."""

    per_hour: float | None
    """Episodes an hour while there was work; None where too few are there to tell."""
    worked_s: float
    """Time from the first episode to the last one without pauses [s]."""
    began: float | None
    """When the first episode was there [s since 1970]."""
    ended: float | None
    """When the last one was there [s since 1970]."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return dict(self.__dict__)


def pace_of(data_set: DataSet) -> Pace:
    """Looks at when the episodes were written.

    Args:
        data_set: The data set.
    """
    sample: DecimatingSampler[int] = DecimatingSampler(MOST_FILES)
    for number in data_set.each_number():
        sample.add(number)
    times = sorted(seconds for number in sample.items if (seconds := _written_at(data_set, number)) is not None)
    return pace_of_times(times, n=sample.seen)


def pace_of_times(times: Sequence[float], *, n: int) -> Pace:
    """The pace of episodes that were written at these times.

    Args:
        times: Sorted times of all of them or of an even sample [s since 1970].
        n: How many episodes there are.
    """
    if not times:
        return Pace(None, 0.0, None, None)
    gaps = np.diff(np.asarray(times))
    longest = max(_PAUSE_FACTOR * float(np.median(gaps)) if len(gaps) else 0.0, _LEAST_PAUSE_S)
    work = gaps[gaps <= longest]
    worked = float(work.sum())
    per_hour = 3600.0 * len(work) * (n / len(times)) / worked if worked > 0.0 else None
    return Pace(per_hour, worked, float(times[0]), float(times[-1]))


def _written_at(data_set: DataSet, number: int) -> float | None:
    try:
        return (data_set.folder_of(number) / EPISODE_FILE).stat().st_mtime
    except OSError:
        return None  # it has just been set aside
