"""Chooses the moments of a recorded episode that show what its skills did: a few for each phase."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.skills.contract.command import Phase
from unlatch.workflows.runs.retries.traceback_frames import frames_to_show
from unlatch.workflows.viewing.failure_moments import failed_phase, failure_frame, find_failure_moments
from unlatch.workflows.viewing.recorded_moments import PhaseMoment, last_finite_frame, phase_of

_FOLLOW_PICTURES = 3
"""Number of pictures of the phase in which the part moves."""
_LATER_ROUND_PHASES = (Phase.approach, Phase.grasp, Phase.follow, Phase.retreat)
"""Phases that are shown of the second and later rounds; transit and release look like those of the first round."""
_POLICY_PICTURES = 5
"""Number of pictures of a stage in which a policy moved the arms: policies have no phases."""
_SAME_MOMENT_FRAMES = 1
"""A moment this close to the failure is replaced by that of the failure."""


@dataclass(frozen=True)
class SkillRound:
    """The moments of one round of a skill, in order of time; a skill that regrasps has several rounds."""

    skill: int
    """Index into the skills of the record."""
    number: int
    """Number of the round, from 1."""
    count: int
    """How many rounds the skill has."""
    moments: tuple[PhaseMoment, ...]
    failed_phase: Phase | None = None
    """The phase that failed, if these are the moments around the failure; idle for a policy. Else None."""


def find_rounds(record: EpisodeRecord) -> list[SkillRound]:
    """Returns the moments of an episode to show, by skill and round; an empty list if no arm moved.

    Each phase is shown at its end; the phase in which the part moves is shown after each third. A policy has no phases:
    its stages are shown after each fifth. The moments around a failure stand for themselves, after their round.
    """
    rounds = [
        SkillRound(skill, number, len(spans), tuple(_choose_moments(span, is_later=number > 1)))
        for skill, spans in _skill_spans(record)
        for number, span in enumerate(spans, start=1)
    ]
    rounds = rounds or list(_rounds_without_phases(record))
    return rounds if record.success or not rounds else _add_failure(rounds, record)


def part_openings(record: EpisodeRecord, skill: Mapping[str, Any]) -> np.ndarray:
    """Returns how far the part of a skill is open in every frame, (T+1,) from closed [rad or m].

    Of a skill that carries an object, it is the height of the object above where it was at the start [m].
    """
    if skill.get("joint_index") is None:
        height: np.ndarray = record.arrays[f"objects.{skill['object']}.root_position"][:, 2]
        return height - height[0]
    positions = record.arrays[f"objects.{skill['object']}.joint_positions"][:, skill["joint_index"]]
    sign = 1.0 if skill["s_open"] >= skill["s_closed"] else -1.0
    openings: np.ndarray = sign * (positions - skill["s_closed"])
    return openings


def failure_notes(record: EpisodeRecord) -> list[str]:
    """Returns why an episode failed, as lines of text; of an `error` also the last frames in the code of a user."""
    return [] if record.success or not record.message else [record.message, *map(str.strip, frames_to_show(record))]


def nothing_to_show(record: EpisodeRecord) -> RecordingError:
    """Returns the error of an episode without states: it ended before the first one."""
    notes = "; ".join(failure_notes(record)).rstrip(".")
    return RecordingError(
        f"Episode {record.number} has no states to show: it ended with code {record.code} before the first one"
        f"{f' ({notes})' if notes else ''}. Name another episode.",
        number=record.number,
        code=record.code,
    )


def _rounds_without_phases(record: EpisodeRecord) -> Iterator[SkillRound]:
    """Yields equally spaced moments of each stage."""
    last = last_finite_frame(record)
    for skill, entry in enumerate(record.skills):
        first, end = int(entry["frame_start"]), min(int(entry["frame_end"]), last)
        if end - first < _POLICY_PICTURES:
            continue
        spaced = _space_frames(first, end, _POLICY_PICTURES)
        yield SkillRound(skill, 1, 1, tuple(PhaseMoment(frame, Phase.idle, label) for frame, label in spaced))


@dataclass(frozen=True)
class _PhaseRun:
    """Frames with the same phase."""

    phase: Phase
    first: int
    last: int


def _skill_spans(record: EpisodeRecord) -> Iterator[tuple[int, list[list[_PhaseRun]]]]:
    """Yields each skill with the runs of equal phases of each of its rounds."""
    runs = [run for track in _track_prefixes(record) for run in _find_runs(record, track)]
    for skill, of_skill in groupby(sorted(runs, key=lambda item: item[0]), key=lambda item: item[0]):
        rounds: list[list[_PhaseRun]] = []
        for _, run in of_skill:
            if not rounds or run.phase is Phase.transit:
                rounds.append([])
            rounds[-1].append(run)
        yield skill, rounds


def _track_prefixes(record: EpisodeRecord) -> list[str]:
    """Returns the prefixes of the record keys of phases: one for each arm, or `skills` for a robot with one arm."""
    ending = ".phase"
    found = [key.removesuffix(ending) for key in record.arrays if key.startswith("skills.") and key.endswith(ending)]
    return sorted(key for key in found if "." in key) or ["skills"]


def _find_runs(record: EpisodeRecord, track: str) -> Iterator[tuple[int, _PhaseRun]]:
    """Yields skill and frames of each run of equal phases, without idle ones."""
    last = last_finite_frame(record)
    columns = (record.arrays[f"{track}.{name}"].tolist()[: last + 1] for name in ("index", "phase"))
    frame = 0
    for (skill, value), members in groupby(zip(*columns, strict=True)):
        length = len(list(members))
        phase = phase_of(value)
        if skill >= 0 and phase is not Phase.idle:
            yield skill, _PhaseRun(phase, frame, frame + length - 1)
        frame += length


def _choose_moments(runs: Sequence[_PhaseRun], *, is_later: bool) -> Iterator[PhaseMoment]:
    """Yields the moments of one round of a skill; later rounds show fewer phases."""
    for run in runs:
        if is_later and run.phase not in _LATER_ROUND_PHASES and run is not runs[-1]:
            continue
        if run.phase is not Phase.follow:
            yield PhaseMoment(run.last, run.phase, run.phase.name)
            continue
        for frame, label in _space_frames(run.first, run.last, _FOLLOW_PICTURES):
            yield PhaseMoment(frame, run.phase, f"{run.phase.name} {label}")


def _space_frames(first: int, last: int, count: int) -> Iterator[tuple[int, str]]:
    """Yields equally spaced frames from `first`, without it, to `last`; each with its share, such as `1/3`."""
    for share in range(1, count + 1):
        yield first + (last - first) * share // count, f"{share}/{count}"


def _add_failure(rounds: Sequence[SkillRound], record: EpisodeRecord) -> list[SkillRound]:
    """Adds the moments around the failure after the round in which it happened, which loses those that they replace."""
    around, phase, at = find_failure_moments(record), failed_phase(record), failure_frame(record)
    first, last = around[0].frame, max(around[-1].frame, at + _SAME_MOMENT_FRAMES)
    if phase is Phase.idle:  # a policy's moments show its whole motion
        first, last = at - _SAME_MOMENT_FRAMES, at + _SAME_MOMENT_FRAMES
    index = max((i for i, item in enumerate(rounds) if item.moments[0].frame <= at), default=0)
    within = rounds[index]
    kept = tuple(moment for moment in within.moments if not first <= moment.frame <= last)
    shown = [replace(within, moments=kept)] if kept else []
    failure = replace(within, moments=around, failed_phase=phase)
    return [*rounds[:index], *shown, failure, *rounds[index + 1 :]]
