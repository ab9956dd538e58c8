"""Measures how fast a data set grew from the times of its files, without opening them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.recording.episode import EPISODE_FILE
from unlatch.workflows.runs.statistics import DecimatingSampler

MOST_FILES = 2_000
"""Largest number of files whose times are read; of more episodes, an evenly spaced sample."""
_PAUSE_FACTOR = 20.0
_LEAST_PAUSE_S = 30.0
"""A gap that exceeds the median gap by this factor, and is at least this long, is a pause between two runs."""


@dataclass(frozen=True)
class Pace:
    """Speed of all writers together."""

    per_hour: float | None
    """Episodes per hour without pauses; None if there are too few."""
    worked_s: float
    """Time from the first episode to the last one without pauses [s]."""
    began: float | None
    """When the first episode was written [s since 1970]."""
    ended: float | None
    """When the last episode was written [s since 1970]."""


def pace_of(data_set: DataSet) -> Pace:
    """Measures the pace of a data set."""
    sample: DecimatingSampler[int] = DecimatingSampler(MOST_FILES)
    for number in data_set.each_number():
        sample.add(number)
    times = sorted(seconds for number in sample.items if (seconds := _written_at(data_set, number)) is not None)
    return pace_of_times(times, n=sample.seen)


def pace_of_times(times: Sequence[float], *, n: int) -> Pace:
    """Returns the pace of `n` episodes from the sorted times of all of them or of an evenly spaced sample [s]."""
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
        return None  # the episode has just been moved away
