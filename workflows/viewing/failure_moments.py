"""Finds the moments around the failure of an episode: what led to it, the failure itself, and what came after."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.skills.contract.command import Phase
from unlatch.workflows.viewing.recorded_moments import PhaseMoment, last_finite_frame, phase_of

Array = np.ndarray

_WINDOW_S = 1.5
"""Time before the failure that is shown, or less if the phase that failed is shorter [s]."""
_LEAST_PATH_M = 0.03
"""Path of hands, fingers and parts that is shown at least; the time is longer if they move less [m]."""
_AFTER_S = 0.5
"""Time from the failure to the picture after it, if the episode went on [s]."""
_NOT_BEGUN_FRAMES = 2
"""A phase this short is not the one that failed: the failure was found when the phase before it ended."""
_MOVING = (".tcp_position", ".ee_position", ".gripper_opening")


def failure_frame(record: EpisodeRecord) -> int:
    """Returns the state frame of the failure; the last one with finite values if the record names none."""
    return min(int(record.evidence.get("frame", record.n_actions)), last_finite_frame(record))


def failed_phase(record: EpisodeRecord) -> Phase:
    """Returns the phase that failed; idle if no skill was in a phase, as for a policy.

    It is the phase that the evidence names, else the one at the moment of the failure. A phase that had only begun did
    not fail: a missed grasp is found in the first frame after the fingers closed.
    """
    stated = record.evidence.get("phase")
    if stated in Phase.__members__:
        return Phase[str(stated)]
    numbers = record.arrays["skills.phase"][: failure_frame(record) + 1].tolist()
    runs = [(phase_of(number), len(list(members))) for number, members in groupby(numbers)]
    phase, length = runs[-1]
    return runs[-2][0] if length <= _NOT_BEGUN_FRAMES and len(runs) > 1 else phase


def find_failure_moments(record: EpisodeRecord) -> tuple[PhaseMoment, ...]:
    """Returns two moments before the failure, the failure, and one after it if the episode went on.

    The moments before are the beginning of what failed and the middle of the way from there to the failure. It begins
    with the phase that failed, at most `_WINDOW_S` before the failure, but where something has moved since. For a part
    that slipped out of the fingers it begins with the last contact.
    """
    times = record.arrays["time"]
    at, last = failure_frame(record), last_finite_frame(record)
    phase = failed_phase(record)
    path = _path_lengths(record)[: last + 1]
    lost = int(record.evidence.get("frames_without_contact") or 0)
    first = max(at - lost, 0) if lost else _window_start(record, path, phase, at)
    middle = int(np.searchsorted(path[: at + 1], (path[first] + path[at]) / 2))
    after = min(int(np.searchsorted(times[: last + 1], times[at] + _AFTER_S)), last)

    def moment(frame: int) -> PhaseMoment:
        gap_s = float(times[frame] - times[at])
        words = (
            "last contact" if lost and frame == first else f"{abs(gap_s):.1f} s {'before' if gap_s < 0 else 'after'}"
        )
        return PhaseMoment(frame, phase, record.outcome if frame == at else words, failed=frame == at)

    return tuple(moment(frame) for frame in sorted({first, middle, at, after}))


def _window_start(record: EpisodeRecord, path: Array, phase: Phase, at: int) -> int:
    """Returns the frame from which the failure is shown."""
    times = record.arrays["time"]
    start = int(np.searchsorted(times[: at + 1], times[at] - _WINDOW_S))
    of_phase = np.flatnonzero(record.arrays["skills.phase"][: at + 1] == phase.value)
    if len(of_phase):
        breaks = np.flatnonzero(np.diff(of_phase) > 1)
        start = max(start, int(of_phase[breaks[-1] + 1] if len(breaks) else of_phase[0]))
    moved = int(np.searchsorted(path, path[at] - _LEAST_PATH_M, side="right")) - 1
    return max(min(start, moved), 0)


def _path_lengths(record: EpisodeRecord) -> Array:
    """Returns how far hands, fingers and keypoints have moved since the episode began, (T+1,) [m]."""
    total: Array = np.zeros(record.n_actions + 1)
    for key, array in record.arrays.items():
        if (key.startswith("robots.") and key.endswith(_MOVING)) or key.startswith("keypoints."):
            steps = np.linalg.norm(np.diff(array.reshape(len(array), -1), axis=0), axis=1)
            total[1:] = np.maximum(total[1:], np.nan_to_num(steps))
    return np.cumsum(total)
