"""Checks a data set: every file is complete, every array fits the table of keys, every verdict is recomputed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.errors import RecordingError, UnlatchError
from unlatch.simcore.recording.broken_rules import recompute_goal_frame
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EPISODE_FILE, RECORD_FIELDS, STATE_FILE, EpisodeRecord
from unlatch.simcore.recording.episode_fields import EPISODE_FIELDS, EVIDENCE_FIELDS
from unlatch.simcore.recording.episode_folders import numbers_in
from unlatch.simcore.recording.episode_reading import content_problems
from unlatch.simcore.recording.episode_structure import CLOCK, PLANNER, SIMULATION, kind_problems, sources
from unlatch.simcore.recording.index import EpisodeSummary, read_lines
from unlatch.simcore.recording.keys import JUDGED_OBJECTS, KEYS, STATE, ArrayNames, KeySpec, kind_of, match_key
from unlatch.simcore.recording.measurements import (
    concurrent_arms,
    first_attempt,
    forbidden_rows,
    overspeed_rows,
    start_position,
)
from unlatch.simcore.recording.success_rules import SuccessRule
from unlatch.simcore.recording.verdict import ABORT_CODES, Criteria, Verdict, contradicts_success, recompute_success

_QUAT_TOLERANCE = 1e-6
_TIME_TOLERANCE_S = 1e-8
MISFITS = (UnlatchError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions of code that reads a record whose values do not fit together."""
_NOT_FINITE_CODES = ("diverged", "error")
"""Codes of records that may hold values that are not finite."""
_EARLIER_TYPES = {"float32": "float64"}
"""Types of arrays in version 2 of the format; later ones may have them: a record is checked without its version."""
_REASONS = {
    PLANNER: "the planner or a policy alone decides",
    CLOCK: "wall times",
    SIMULATION: "the simulation decides; replay=true compares it",
}
"""Why a check does not compare a value, by what determines the value."""


@dataclass(frozen=True)
class Problem:
    """One problem of a data set."""

    number: int | None
    """Episode number; None if it concerns the set."""
    message: str
    """What is wrong, where, and what to do."""

    def __str__(self) -> str:
        return self.message if self.number is None else f"Episode {self.number}: {self.message}"


def check_dataset(
    path: str | Path,
    *,
    derive: Callable[[EpisodeRecord], Criteria] | None = None,
    on_episode: Callable[[int, int], None] | None = None,
) -> list[Problem]:
    """Returns all problems of a data set; an empty list means that it is complete and its verdicts agree.

    Args:
        path: Folder of the data set.
        derive: Returns what the configuration says of the episode of a record whose arrays have the right shapes.
            None: each record is judged by the criteria that it states itself.
        on_episode: Called after each episode with the number of checked episodes and their total.
    """
    try:
        data_set = DataSet.open(path)
    except RecordingError as exc:
        return [Problem(None, str(exc))]
    problems = [Problem(None, message) for message in _foreign_entries(data_set)]
    numbers = data_set.numbers()
    summaries: dict[int, EpisodeSummary] = {}
    for done, number in enumerate(numbers, start=1):
        try:
            record = data_set.read(number)
        except RecordingError as exc:
            problems.append(Problem(number, str(exc)))
        else:
            found = [*content_problems(data_set.folder_of(number), record), *check_record(record, derive)]
            problems += [Problem(number, message) for message in found]
            if not found:
                state = (data_set.folder_of(number) / STATE_FILE).read_bytes()
                summaries[number] = replace(EpisodeSummary.of(record, state), timings_ms={})
        if on_episode is not None:
            on_episode(done, len(numbers))
    known_numbers = set(numbers)
    for line in read_lines(data_set.path):  # times, and what older lines lack, are free
        if line.number not in known_numbers:
            known_numbers.add(line.number)
            message = "the index lists it, but its folder is missing. The command that made the data makes it again."
            problems.append(Problem(line.number, message))
        if (known := summaries.get(line.number)) is not None:
            share = known.range_share if line.range_share is None else line.range_share
            if replace(line, timings_ms={}, range_share=share) != known:
                message = "its line in the index contradicts its folder. Rebuild the index."
                problems.append(Problem(line.number, message))
    return problems


def not_compared(*, replay: bool) -> dict[str, list[str]]:
    """Returns what a check does not compare, by the reason: keys of `episode.json`, and arrays by their first word.

    Their form is checked all the same, and some of them are compared with each other.

    Args:
        replay: Whether the episodes are replayed.
    """
    places = [*sources(EPISODE_FIELDS), *((f"{spec.pattern.partition('.')[0]}.*", spec.source) for spec in KEYS)]
    found: dict[str, list[str]] = {}
    for source, reason in _REASONS.items():
        if not (replay and source == SIMULATION):
            found[reason] = list(dict.fromkeys(place for place, determined in places if determined == source))
    return found


@np.errstate(all="ignore")  # values that no simulation gives are problems, not warnings
def check_record(record: EpisodeRecord, derive: Callable[[EpisodeRecord], Criteria] | None = None) -> list[str]:
    """Returns all problems of one record, whatever it holds; see `check_dataset` for `derive`.

    The form of every value is checked first, so that the rules after it can rely on it. A rule may still find values
    that do not fit together. That is a problem of this record, and no other record is concerned.
    """
    finite, fields = record.code not in _NOT_FINITE_CODES, {key: EPISODE_FIELDS[key] for key in RECORD_FIELDS}
    messages = list(kind_problems(record.to_json(), fields, "", finite=finite, complete=True)) or [
        *_array_problems(record),
        *_arm_problems(record),
        *(_missing_keys(record) if derive is None else _unbegun_problems(record)),
    ]
    if messages:
        return messages  # values of the wrong form are reported once; a verdict from them has no meaning
    try:
        criteria = None if derive is None else derive(record)
        if criteria is not None:
            messages = [*criteria.problems, *criteria.differences(record)]
            record = criteria.apply_to(record)
        return [*messages, *_verdict_problems(record, criteria)]
    except MISFITS as exc:
        reason = exc.message if isinstance(exc, UnlatchError) else f"{type(exc).__name__}: {exc}."
        if isinstance(exc, KeyError):
            named = " and ".join(_find_text(exc.args[0] if exc.args else "", record.to_json())) or "another value"
            reason = f"there is no {exc} in {EPISODE_FILE} or {STATE_FILE}, which {named} of {EPISODE_FILE} needs."
        return messages or [f"it cannot be checked, because its values do not fit together: {reason}"]


def _find_text(text: object, value: object, place: str = "") -> Iterator[str]:
    """Yields the places in `episode.json` that hold a text, such as `skills[0].part`."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _find_text(text, item, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _find_text(text, item, f"{place}[{index}]")
    elif isinstance(value, str) and value == text:
        yield place


def _arm_problems(record: EpisodeRecord) -> Iterator[str]:
    """Yields that the layout has start joints of other arms than the arrays."""
    found = (re.fullmatch(r"robots\.[^.]+\.([^.]+)\.joint_positions", key) for key in record.arrays)
    arms = sorted({match[1] for match in found if match})
    stated = sorted(record.layout.get("q_home") or arms)
    if arms and stated != arms:
        yield f"layout.q_home of {EPISODE_FILE} is of {', '.join(stated)}, {STATE_FILE} has {', '.join(arms)}."


def _foreign_entries(data_set: DataSet) -> Iterator[str]:
    for shard in sorted(data_set.root.iterdir()) if data_set.root.exists() else []:
        folders = sorted(shard.iterdir()) if shard.is_dir() and not shard.is_symlink() else []
        if not folders and (not shard.is_dir() or len(shard.name) != 7 or not shard.name.isdigit()):
            yield _describe_foreign(shard)
        episodes = {data_set.folder_of(number) for number in numbers_in(shard)}
        for folder in folders:
            if folder not in episodes or folder.is_symlink() or not folder.is_dir():
                yield _describe_foreign(folder)
                continue
            for name in sorted({entry.name for entry in folder.iterdir()} - {EPISODE_FILE, STATE_FILE}):
                yield _describe_foreign(folder / name)


def _describe_foreign(path: Path) -> str:
    return (
        f"'{path}' does not belong in a data set. Expected episode folders with {EPISODE_FILE} and {STATE_FILE} "
        "only. Remove it."
    )


def _array_problems(record: EpisodeRecord) -> Iterator[str]:
    n_actions = record.n_actions
    sizes: dict[tuple[str, str], tuple[int, str]] = {}
    for key, array in sorted(record.arrays.items()):
        known = match_key(key)
        if known is None:
            yield f"array '{key}' is not in the table of keys (docs/record_format.md)."
            continue
        spec, names = known
        rows = n_actions + 1 if kind_of(key) == STATE else n_actions
        if array.ndim == 0 or len(array) != rows:
            yield f"'{key}' has shape {list(array.shape)}, expected {rows} rows ({n_actions} actions)."
            continue
        if spec.shape is not None:
            yield from _row_problems(key, array, spec, names, sizes)
        if array.dtype.kind == "f" and record.code not in _NOT_FINITE_CODES and not np.isfinite(array).all():
            yield f"'{key}' holds values that are not finite, which only a record of code diverged or error may have."
        elif "quat_xyzw" in key and len(array):
            error = float(np.abs(np.linalg.norm(array, axis=-1) - 1.0).max())
            if error > _QUAT_TOLERANCE:
                yield f"'{key}' is not of unit length: off by {error:.1e}, expected at most {_QUAT_TOLERANCE:.0e}."
    time = record.arrays.get("time")
    if time is not None and time.ndim == 1 and (np.diff(time) <= 0).any():
        yield f"'time' does not grow from frame {int(np.argmax(np.diff(time) <= 0))} to the next."


def _row_problems(
    key: str, array: np.ndarray, spec: KeySpec, names: dict[str, str], sizes: dict[tuple[str, str], tuple[int, str]]
) -> Iterator[str]:
    if array.dtype.name not in (spec.dtype, _EARLIER_TYPES.get(spec.dtype)):
        yield f"'{key}' is {array.dtype}, expected {spec.dtype}."
    row, wanted = array.shape[1:], spec.shape or ()
    if len(row) != len(wanted):
        yield f"'{key}' has rows of shape {list(row)}, expected {list(wanted)}."
        return
    for size, want in zip(row, wanted, strict=True):
        if isinstance(want, str):
            owner = ".".join(names[n] for n in ("robot", "arm", "object") if n in names)
            first = sizes.setdefault((owner, want), (size, key))
            if first[0] != size:
                yield f"'{key}' has rows of {size}, expected {first[0]} as '{first[1]}'."
        elif size != want:
            yield f"'{key}' has rows of shape {list(row)}, expected {list(wanted)}."


def _unbegun_problems(record: EpisodeRecord) -> Iterator[str]:
    if not record.arrays and record.code not in ("invalid_layout", "plan_infeasible", "error"):
        yield f"it has no arrays, but only an attempt that never began has none (code {record.code!r})."


def _missing_keys(record: EpisodeRecord) -> Iterator[str]:
    """Yields the keys that are missing for the robots, arms and objects in the record."""
    yield from _unbegun_problems(record)
    if not record.arrays:
        return
    matches = [match for key in record.arrays if (match := match_key(key)) is not None]
    arms = sorted({(n["robot"], n["arm"]) for _, n in matches if "robot" in n and "arm" in n and "object" not in n})
    objects = sorted({n["object"] for spec, n in matches if "object" in n and spec.pattern.startswith("objects.")})
    robots = sorted({robot for robot, _ in arms})
    acted_on = [name for name in objects if any(skill.get("object") == name for skill in record.skills)]
    objects_are_judged = any("scene_force_threshold_n" in skill for skill in record.skills)
    names: ArrayNames = {
        "": [{}],
        "robot": [{"robot": robot} for robot in robots],
        "robot arm": [{"robot": robot, "arm": arm} for robot, arm in arms],
        "object": [{"object": name} for name in objects],
        # arms have contact views only for the objects that a skill acts on
        "robot arm object": [{"robot": robot, "arm": arm, "object": name} for robot, arm in arms for name in acted_on],
        "body": [{"body": name} for name in (*robots, *objects)],
        JUDGED_OBJECTS: [{"object": name} for name in objects if objects_are_judged],
    }
    for spec in KEYS:
        if spec.kind == STATE or record.n_actions:
            for key, _ in spec.keys(names):
                if key not in record.arrays:
                    yield f"array '{key}' is missing."


def unexpected_arrays(record: EpisodeRecord, names: ArrayNames) -> Iterator[str]:
    """Yields arrays that a record lacks or must not have, and rows of other sizes, by the names of its episode."""
    expected = {
        key: (spec, found) for spec in KEYS if spec.kind == STATE or record.n_actions for key, found in spec.keys(names)
    }
    for key in sorted(record.arrays.keys() - expected.keys()):
        yield f"array '{key}' is in the record, expected no such array by the configuration."
    for key, (spec, found) in expected.items():
        array = record.arrays.get(key)
        if array is None:
            yield f"array '{key}' is missing, expected by the configuration."
        elif spec.shape is not None:
            wanted = [found.get(size, size) if isinstance(size, str) else size for size in spec.shape]
            if list(array.shape[1:]) != wanted:
                yield f"'{key}' has rows of shape {list(array.shape[1:])}, expected {wanted} by the configuration."


def _verdict_problems(record: EpisodeRecord, criteria: Criteria | None) -> Iterator[str]:
    verdict = recompute_success(record, criteria)
    if verdict.success != record.success:
        yield (
            f"success is {record.success} (code {record.code!r}) in the record, recomputed {verdict.success} "
            f"(code {verdict.code!r}, {verdict.evidence})."
        )
    elif verdict.code != record.code:
        yield f"code is {record.code!r} in the record, recomputed {verdict.code!r} ({verdict.evidence})."
    if criteria is not None and contradicts_success(record, criteria):
        yield f"it was stopped with code {record.code!r}, but every rule of success holds at its end."
    if criteria is not None:
        yield from _evidence_problems(record, verdict)
    yield from _goal_problems(record)
    if record.arrays:
        yield from _flag_problems(record)
    for number, (skill, judged) in enumerate(zip(record.skills, verdict.skills, strict=True)):
        yield from _skill_problems(record, number, skill, judged)


def _goal_problems(record: EpisodeRecord) -> Iterator[str]:
    """Yields what is wrong with the goal of a policy's episode that went on after broken rules."""
    if "reached" not in record.goal:
        return
    frame = recompute_goal_frame(record)
    recorded, again = (record.goal["reached"], record.goal.get("reached_frame")), (frame is not None, frame)
    if recorded != again:
        yield f"goal.reached and goal.reached_frame are {recorded} in the record, recomputed {again}."
    if record.success and frame is None:
        yield "it is a success, but its goal was not reached."


def _skill_problems(record: EpisodeRecord, number: int, skill: dict[str, Any], judged: bool | None) -> Iterator[str]:
    label, recorded_success = f"skill {number} ({skill.get('name')})", skill.get("success")
    if judged is not None and recorded_success is not None and recorded_success != judged:
        yield f"{label} has success={recorded_success} in the record, recomputed {judged}."
    if skill.get("broken_off") and recorded_success:
        yield f"{label} has success=True in the record, but it was broken off."
    if skill.get("frame_start") is None:
        return
    start, end = skill["frame_start"], skill["frame_end"]
    if skill.get("success_mode") is not None:
        s = record.arrays[f"objects.{skill['object']}.joint_positions"][:, skill["joint_index"]]
        if "s0" in skill and skill["s0"] != start_position(first_attempt(record, skill), s):
            yield f"{label} has s0={skill['s0']}, the states at frames {start} and 0 are {s[start]} and {s[0]}."
        if "s_end" in skill and skill["s_end"] != float(s[end]):
            yield f"{label} has s_end={skill['s_end']}, the state at frame {end} is {s[end]}."
    rule = SuccessRule.from_entry(skill)
    hits = forbidden_rows(record, slice(start, end), rule, skipped_arms=concurrent_arms(record, skill))
    yield from _violation_problems(record, skill.get("first_violation"), hits, label)


def _violation_problems(
    record: EpisodeRecord,
    violation: Mapping[str, Any] | None,
    hits: Sequence[tuple[int, str, float, float]],
    label: str,
) -> Iterator[str]:
    """Yields where the first forbidden contact of a skill is not the first one in the forces of its rows."""
    if (violation is None) != (not hits):
        seen = f"in row {hits[0][0]} of '{hits[0][1]}'" if hits else "nowhere"
        yield f"{label} has first_violation={violation}, its contact forces exceed the threshold {seen}."
    elif violation is not None:
        row = hits[0][0]
        found = [hit for hit in hits if hit[:2] == (row, violation.get("view"))]
        if not found:
            expected = " or ".join(sorted({repr(view) for at, view, *_ in hits if at == row}))
            yield f"{label} has first_violation.view={violation.get('view')!r}, expected {expected} in row {row}."
        elif not any(allowed < violation.get("force_n", math.inf) <= largest for *_, largest, allowed in found):
            *_, largest, allowed = found[0]
            yield (
                f"{label} has first_violation.force_n={violation.get('force_n')}, expected above {allowed:g} and "
                f"at most {largest:.9g}, as in row {row} of its view."
            )
        began, ended = record.arrays["time"][row : row + 2]
        if not began < violation.get("time_s", math.inf) <= ended + _TIME_TOLERANCE_S:
            yield (
                f"{label} has first_violation.time_s={violation.get('time_s')}, expected above {began:.9g} and at most "
                f"{ended:.9g}, the time of row {row}."
            )
        if len(violation.get("pair", [])) != 2:
            yield f"{label} has first_violation.pair={violation.get('pair')}, expected two names."


def _flag_problems(record: EpisodeRecord) -> Iterator[str]:
    """Yields where a flag of `validity` is not what forces and speeds say of the skills that run."""
    begun = [(number, skill) for number, skill in enumerate(record.skills) if skill.get("frame_start") is not None]
    expected: dict[str, np.ndarray] = {
        flag: np.ones(record.n_actions + 1, dtype=bool) for flag in ("collision", "process")
    }
    for place, (_, skill) in enumerate(begun):
        others = concurrent_arms(record, skill)
        later = (each for _, each in begun[place + 1 :] if not (others and each.get("arm") in others))
        start, end = skill["frame_start"], next((each["frame_start"] for each in later), record.n_actions)
        rule = SuccessRule.from_entry(skill)
        hits = forbidden_rows(record, slice(start, end), rule)  # of all arms: concurrent skills share one flag
        for flag, rows in (("collision", hits), ("process", overspeed_rows(record, slice(start, end)))):
            if skill[f"{flag}_valid_enabled"] and rows:
                expected[flag][rows[0][0] + 1 : end + 1] = False
    for flag, values in expected.items():
        recorded = record.arrays[f"validity.{flag}_valid"]
        differing = np.flatnonzero(recorded != values)
        if differing.size:
            frame = int(differing[0])
            number, name = next(
                ((number, each.get("name")) for number, each in reversed(begun) if each["frame_start"] < frame),
                (None, None),
            )
            label = "it" if number is None else f"skill {number} ({name})"
            yield f"{label} has validity.{flag}_valid={recorded[frame]} at frame {frame} of the record."


def _evidence_problems(record: EpisodeRecord, verdict: Verdict) -> Iterator[str]:
    """Yields where the evidence of a verdict contradicts the verdict or its own time."""
    if record.success and record.evidence:
        yield f"evidence has the keys {', '.join(record.evidence)}, expected none for a success."
    if record.success or not record.arrays or record.code == "error":
        return
    common = {key: value for key, value in record.evidence.items() if key in EVIDENCE_FIELDS}
    problems = list(kind_problems(common, EVIDENCE_FIELDS, "evidence", complete=True))
    if problems:
        yield from problems
        return
    frame, time_s = record.evidence["frame"], record.evidence["time_s"]
    expected = min(int(np.searchsorted(record.arrays["time"], time_s - _TIME_TOLERANCE_S)), record.n_actions)
    if frame != expected:
        yield f"evidence.frame is {frame} in the record, expected {expected} from evidence.time_s={time_s}."
    elif record.code not in ABORT_CODES and verdict.code == record.code and frame != verdict.evidence["frame"]:
        yield f"evidence.frame is {frame} in the record, recomputed {verdict.evidence['frame']} ({verdict.evidence})."
