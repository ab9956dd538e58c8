"""Which moments of a recorded episode show what its skills did: a few for each phase."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.skills.contract.command import Phase

_FOLLOW_SHARES = 3
"""Pictures of the phase in which the part moves."""
_LATER_TURN = (Phase.approach, Phase.grasp, Phase.follow, Phase.retreat)
"""What is shown of a turn after the first: its transit and its release look like those of the first."""
_ACTING_SHARES = 5
"""Pictures of a stage in which something else than a skill moved the arms: a policy has no phases."""
_SAME_MOMENT_FRAMES = 1
"""Moments so near to the failure are the failure's."""


@dataclass(frozen=True)
class Moment:
    """One state of an episode that is worth a picture."""

    frame: int
    """State frame."""
    phase: Phase
    label: str
    """What the arm did, in words; the failure code at the moment of the failure."""
    failed: bool = False
    """Whether it is the moment of the failure."""


@dataclass(frozen=True)
class Turn:
    """The moments of one skill, or of one turn of it, in order of time."""

    skill: int
    """Index into the skills of the record."""
    number: int
    """Which turn of the skill it is, from 1."""
    count: int
    """How many turns the skill came to."""
    moments: tuple[Moment, ...]


def turns_of(record: EpisodeRecord) -> list[Turn]:
    """The moments to show of an episode, skill by skill and turn by turn; none where no arm moved.

    Each phase is shown as it ended, the one in which the part moves after each third; where a policy acted, which has
    no phases, each fifth of a stage.

    Args:
        record: The episode, with its arrays.
    """
    turns = [
        Turn(skill, number, len(spans), tuple(_moments(span, later=number > 1)))
        for skill, spans in _spans(record)
        for number, span in enumerate(spans, start=1)
    ]
    turns = turns or list(_without_phases(record))
    return turns if record.success or not turns else _with_failure(turns, record)


def last_finite_frame(record: EpisodeRecord) -> int:
    """The last state frame whose values are all finite; a diverged episode ends in others.

    Args:
        record: The episode, with its arrays.
    """
    good: np.ndarray = np.ones(record.n_actions + 1, dtype=bool)
    for key in record.state_at(0):
        array = record.arrays[key]
        if array.dtype.kind == "f" and key.startswith(("robots.", "objects.")):
            good &= np.isfinite(array.reshape(len(array), -1)).all(axis=1)
    return int(np.flatnonzero(good)[-1]) if good.any() else 0


def _without_phases(record: EpisodeRecord) -> Iterator[Turn]:
    """By stage, moments of equal distance."""
    last = last_finite_frame(record)
    for skill, entry in enumerate(record.skills):
        first, end = int(entry["frame_start"]), min(int(entry["frame_end"]), last)
        if end - first < _ACTING_SHARES:
            continue
        shares = range(1, _ACTING_SHARES + 1)
        frames = [first + (end - first) * share // _ACTING_SHARES for share in shares]
        labels = [f"{share}/{_ACTING_SHARES}" for share in shares]
        yield Turn(skill, 1, 1, tuple(map(Moment, frames, [Phase.idle] * _ACTING_SHARES, labels)))


@dataclass(frozen=True)
class _Run:
    phase: Phase
    first: int
    last: int


def _spans(record: EpisodeRecord) -> Iterator[tuple[int, list[list[_Run]]]]:
    """By skill, the runs of equal phases of each of its turns."""
    runs = [run for track in _tracks(record) for run in _runs(record, track)]
    for skill, of_skill in groupby(sorted(runs, key=lambda item: item[0]), key=lambda item: item[0]):
        turns: list[list[_Run]] = []
        for _, run in of_skill:
            if not turns or run.phase is Phase.transit:
                turns.append([])
            turns[-1].append(run)
        yield skill, turns


def _tracks(record: EpisodeRecord) -> list[str]:
    """Beginnings of the keys that say what the skills do: one for each arm of several, which may act at one time."""
    ending = ".phase"
    found = [key.removesuffix(ending) for key in record.arrays if key.startswith("skills.") and key.endswith(ending)]
    return sorted(key for key in found if "." in key) or ["skills"]


def _runs(record: EpisodeRecord, track: str) -> Iterator[tuple[int, _Run]]:
    """Skill and frames of each run of equal phases, idle ones left out."""
    known = {phase.value: phase for phase in Phase}
    last = last_finite_frame(record)
    columns = (record.arrays[f"{track}.{name}"].tolist()[: last + 1] for name in ("index", "phase"))
    frame = 0
    for (skill, value), members in groupby(zip(*columns, strict=True)):
        length = len(list(members))
        phase = known.get(value, Phase.idle)
        if skill >= 0 and phase is not Phase.idle:
            yield skill, _Run(phase, frame, frame + length - 1)
        frame += length


def _moments(runs: Sequence[_Run], *, later: bool) -> Iterator[Moment]:
    for run in runs:
        if later and run.phase not in _LATER_TURN and run is not runs[-1]:
            continue
        if run.phase is not Phase.follow:
            yield Moment(run.last, run.phase, run.phase.name)
            continue
        for share in range(1, _FOLLOW_SHARES + 1):
            frame = run.first + (run.last - run.first) * share // _FOLLOW_SHARES
            yield Moment(frame, run.phase, f"{run.phase.name} {share}/{_FOLLOW_SHARES}")


def _with_failure(turns: Sequence[Turn], record: EpisodeRecord) -> list[Turn]:
    """The turns with the moment of the failure marked, in its place."""
    frame = min(int(record.evidence.get("frame", record.n_actions)), last_finite_frame(record))
    index = max((i for i, turn in enumerate(turns) if turn.moments[0].frame <= frame), default=0)
    moments = list(turns[index].moments)
    nearest = min(moments, key=lambda moment: abs(moment.frame - frame))
    failed = Moment(frame, _phase_at(record, frame), str(record.code), failed=True)
    if abs(nearest.frame - frame) <= _SAME_MOMENT_FRAMES:
        moments.remove(nearest)
    moments = sorted([*moments, failed], key=lambda moment: moment.frame)
    return [*turns[:index], replace(turns[index], moments=tuple(moments)), *turns[index + 1 :]]


def _phase_at(record: EpisodeRecord, frame: int) -> Phase:
    value = int(record.arrays["skills.phase"][frame])
    return next((phase for phase in Phase if phase.value == value), Phase.idle)
