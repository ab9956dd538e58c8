"""Chooses the moments of an episode that show what its skills did: a few of each phase, and those of a failure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.urdf.model import movable_joints
from unlatch.skills.commands import Phase
from unlatch.skills.mechanism_steps import conditions_of, part_of_joint
from unlatch.workflows.runs.earlier_code import frames_to_show


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


Array = np.ndarray

_WINDOW_S = 1.5
"""Time before the failure that is shown, or less if the phase that failed is shorter [s]."""
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
    # a phase this short is not the one that failed: the failure was found when the phase before it ended
    return runs[-2][0] if length <= 2 and len(runs) > 1 else phase


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
    # time from the failure to the picture after it, if the episode went on [s]
    after = min(int(np.searchsorted(times[: last + 1], times[at] + 0.5)), last)

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
    # path of hands, fingers and parts that is shown at least; the time is longer if they move less [m]
    moved = int(np.searchsorted(path, path[at] - 0.03, side="right")) - 1
    return max(min(start, moved), 0)


def _path_lengths(record: EpisodeRecord) -> Array:
    """Returns how far hands, fingers and keypoints have moved since the episode began, (T+1,) [m]."""
    total: Array = np.zeros(record.n_actions + 1)
    for key, array in record.arrays.items():
        if (key.startswith("robots.") and key.endswith(_MOVING)) or key.startswith("keypoints."):
            steps = np.linalg.norm(np.diff(array.reshape(len(array), -1), axis=0), axis=1)
            total[1:] = np.maximum(total[1:], np.nan_to_num(steps))
    return np.cumsum(total)


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


LEAST_OPENING = 0.01
"""Least opening at the upper end of a chart [rad or m]: a closed part's motions of micrometres look like nothing."""


def part_openings(record: EpisodeRecord, skill: Mapping[str, Any]) -> np.ndarray:
    """Returns how far the part of a skill is open in every frame, (T+1,) from closed [rad or m].

    Of a skill that carries an object, it is the height of the object above where it was at the start [m].
    """
    if skill.get("joint_index") is None:
        height: np.ndarray = record.arrays[f"objects.{skill['object']}.root_position"][:, 2]
        return height - height[0]
    positions = record.arrays[f"objects.{skill['object']}.joint_positions"][:, skill["joint_index"]]
    sign = 1.0 if skill["s_open"] >= skill["s_closed"] else -1.0
    return sign * (positions - skill["s_closed"])


def with_what_frees(
    record: EpisodeRecord, entries: Iterable[Mapping[str, Any]], assets: Mapping[str, ObjectAsset]
) -> list[Mapping[str, Any]]:
    """Returns entries of an episode, each part once, and after it what its mechanisms ask for: the lever of a door.

    What a mechanism asks for has an entry with what `part_openings` reads, and is left out if it never moved.

    Args:
        record: The episode.
        entries: Entries of skills or goals that name an object and a part.
        assets: The objects by name.
    """
    found = {(entry["object"], entry["part"]): entry for entry in entries}
    for name, part in list(found):
        if part is None or name not in assets:
            continue
        asset = assets[name]
        for condition in conditions_of(asset.articulation, asset.articulation.part(part).joint):
            other = part_of_joint(asset.articulation, condition.by)
            if other is None or (name, other.name) in found:
                continue
            entry = {
                "object": name,
                "part": other.name,
                "joint_index": movable_joints(asset.model).index(other.joint),
                "s_closed": other.openness.closed,
                "s_open": other.openness.open,
            }
            if np.ptp(part_openings(record, entry)) > LEAST_OPENING:
                found[name, other.name] = entry
    return list(found.values())


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


class _PhaseRun(NamedTuple):
    """Frames of a skill with the same phase."""

    skill: int
    phase: Phase
    first: int
    last: int


def _skill_spans(record: EpisodeRecord) -> Iterator[tuple[int, list[list[_PhaseRun]]]]:
    """Yields each skill with the runs of equal phases of each of its rounds."""
    for skill, of_skill in groupby(sorted(_find_runs(record), key=itemgetter(0)), key=itemgetter(0)):
        rounds: list[list[_PhaseRun]] = []
        for run in of_skill:
            if not rounds or run.phase is Phase.transit:
                rounds.append([])
            rounds[-1].append(run)
        yield skill, rounds


def _find_runs(record: EpisodeRecord) -> Iterator[_PhaseRun]:
    """Yields the runs of equal phases of each arm, without idle ones."""
    last, ending = last_finite_frame(record), ".phase"
    found = [key.removesuffix(ending) for key in record.arrays if key.startswith("skills.") and key.endswith(ending)]
    # one track for each arm, or `skills` for a robot with one arm
    for track in sorted(key for key in found if "." in key) or ["skills"]:
        columns = (record.arrays[f"{track}.{name}"].tolist()[: last + 1] for name in ("index", "phase"))
        frame = 0
        for (skill, value), members in groupby(zip(*columns, strict=True)):
            length, phase = len(list(members)), phase_of(value)
            if skill >= 0 and phase is not Phase.idle:
                yield _PhaseRun(skill, phase, frame, frame + length - 1)
            frame += length


def _choose_moments(runs: Sequence[_PhaseRun], *, is_later: bool) -> Iterator[PhaseMoment]:
    """Yields the moments of one round of a skill; later rounds show fewer phases."""
    for run in runs:
        if is_later and run.phase not in _LATER_ROUND_PHASES and run is not runs[-1]:
            continue
        if run.phase is not Phase.follow:
            yield PhaseMoment(run.last, run.phase, run.phase.name)
            continue
        # number of pictures of the phase in which the part moves
        for frame, label in _space_frames(run.first, run.last, 3):
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
