"""Moments of a recorded episode, and what its arrays say of one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.skills.contract.command import Phase


@dataclass(frozen=True)
class PhaseMoment:
    """One state of an episode that is worth a picture."""

    frame: int
    """State frame."""
    phase: Phase
    label: str
    """Name of the phase; at the moment of the failure the failure code."""
    failed: bool = False
    """Whether it is the moment of the failure."""


def last_finite_frame(record: EpisodeRecord) -> int:
    """Returns the last state frame whose values are all finite; a diverged episode ends with others."""
    good: np.ndarray = np.ones(record.n_actions + 1, dtype=bool)
    for key in record.state_at(0):
        array = record.arrays[key]
        if array.dtype.kind == "f" and key.startswith(("robots.", "objects.")):
            good &= np.isfinite(array.reshape(len(array), -1)).all(axis=1)
    return int(np.flatnonzero(good)[-1]) if good.any() else 0


def phase_of(number: int) -> Phase:
    """Returns the phase with a recorded number; idle for an unknown number."""
    return next((phase for phase in Phase if phase.value == number), Phase.idle)
