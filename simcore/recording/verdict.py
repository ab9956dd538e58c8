"""Success and failure code of an attempt, from its record alone.

This is written from the design's rules and not from the skills: it is what a user runs to trust a data set. Frames are
state frames; row f of actions, contacts and speeds lies between the states f and f + 1.

Each violated condition has a moment (a state frame), and the earliest wins; of those at one moment the first in
`FAILURE_CODES`.

- `collision`: a force of `fingers_base`, `forbid_collision` or `environment` above the skill's
  `contact_force_threshold_n`. `overspeed`: a joint above 5 rad/s or 5 m/s. Moment: the state after the row. Each row
  belongs to the skill that ran last; the rows after the last skill (settling) to the last skill.
- `grasp_missed`, `slipped` (open and rotate only): the fingers touched the moving part in no row of the skill, or in
  less than 80 % of the rows in which its joint moved. `not_reached`: the joint misses the threshold of the skill's
  mode. Moment: the skill's `frame_end`.
- `not_reached`: a condition of the goal does not hold when settling begins. `unsettled`: it holds then and not at the
  end, or an acted-on joint moved by more than `max_change` in between. Moment: when settling began, its end, or the
  frame of the change.
- `diverged`: a value is not finite. Moment: the first such frame.
- Codes that arrays cannot show (`ABORT_CODES`) are taken from the record, at frame `evidence["frame"]` or at its end.
  What would be judged at a skill's end, or after, is not judged once the attempt was broken off.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simcore.errors import RecordingError
from simcore.recording.codes import CODE_ORDER
from simcore.recording.episode import EpisodeRecord
from simcore.recording.keys import kind_of

Array = np.ndarray

MAX_JOINT_SPEED = 5.0
"""Joint speed above which an attempt is invalid [rad/s or m/s]."""
MOVING_STEP = 1e-4
"""Change of a joint over one frame above which it moves [rad or m]."""
MIN_CONTACT_SHARE = 0.8
"""Least share of the moving frames in which the fingers must touch the part."""
HOLDING_SKILLS = frozenset({"open", "rotate"})
"""Skills that must hold the part while it moves."""
FORBIDDEN_VIEWS = ("fingers_base", "forbid_collision", "environment")
"""Contact views in which a force above the threshold is a collision."""
ABORT_CODES = frozenset(
    {
        "invalid_layout",
        "plan_infeasible",
        "path_infeasible",
        "motion_blocked",
        "grasp_missed",
        "slipped",
        "timeout",
        "diverged",
        "error",
    }
)
"""Codes with which an attempt is broken off for reasons that the arrays need not show."""


@dataclass(frozen=True)
class Verdict:
    """What the record says about its attempt."""

    success: bool
    """Whether every skill succeeded and the goal lasted."""
    code: str | None
    """The code of the earliest violated condition; None on success."""
    evidence: dict[str, Any]
    """The numbers behind the code."""
    skills: tuple[bool | None, ...]
    """Success of each skill at its own end; None where it never ran."""


@dataclass(frozen=True)
class _Violation:
    frame: int
    code: str
    evidence: dict[str, Any] = field(default_factory=dict)


def recompute_success(record: EpisodeRecord) -> Verdict:
    """Judges an attempt again, from its record alone.

    Args:
        record: The attempt, with its arrays.

    Raises:
        RecordingError: The record lacks what a judgement needs.
    """
    n_actions = record.n_actions
    aborted = _declared_abort(record, n_actions)
    violations = list(_not_finite(record))
    if aborted is not None:
        violations.append(aborted)
    limit = n_actions + 1 if aborted is None else aborted.frame
    skill_results: list[bool | None] = []
    for index, skill in enumerate(record.skills):
        found = list(_judge_skill(record, index, skill, limit=limit))
        violations += found
        ran = skill.get("frame_start") is not None
        skill_results.append(not any(v.frame <= _frame(skill, "frame_end", n_actions) for v in found) if ran else None)
    if aborted is None:
        violations += _judge_end(record)
    if not violations:
        return Verdict(success=True, code=None, evidence={}, skills=tuple(skill_results))
    first = min(violations, key=lambda v: (v.frame, CODE_ORDER[v.code]))
    evidence = {"frame": first.frame, **first.evidence}
    return Verdict(success=False, code=first.code, evidence=evidence, skills=tuple(skill_results))


def _declared_abort(record: EpisodeRecord, n_actions: int) -> _Violation | None:
    if record.code not in ABORT_CODES:
        return None
    frame = record.evidence.get("frame", n_actions)
    if isinstance(frame, bool) or not isinstance(frame, int) or not 0 <= frame <= n_actions:
        frame = n_actions
    return _Violation(frame, str(record.code), dict(record.evidence))


def _not_finite(record: EpisodeRecord) -> Iterator[_Violation]:
    for key, array in sorted(record.arrays.items()):
        if array.dtype.kind != "f" or np.isfinite(array).all():
            continue
        bad = ~np.isfinite(array).reshape(len(array), -1).all(axis=1)
        row = int(np.argmax(bad))
        yield _Violation(row if kind_of(key) == "state" else row + 1, "diverged", {"key": key})


def _judge_skill(record: EpisodeRecord, index: int, skill: Mapping[str, Any], *, limit: int) -> Iterator[_Violation]:
    n_actions = record.n_actions
    label = {"skill": index, "name": skill.get("name")}
    if skill.get("frame_start") is None:
        if limit > n_actions:  # nothing broke the attempt off, so it should have run
            yield _Violation(n_actions, "not_reached", {**label, "reason": "the skill never ran"})
        return
    start, end = _frame(skill, "frame_start", n_actions), _frame(skill, "frame_end", n_actions)
    rows = _rows_of(record, index, start)
    if skill["collision_valid_enabled"]:
        yield from _collision(record, rows, _number(skill, "contact_force_threshold_n"), label)
    if skill["process_valid_enabled"]:
        yield from _overspeed(record, rows, label)
    if end < limit and skill.get("success_mode") is not None:
        s = _joint(record, skill)
        if skill.get("finger_contact_required", skill.get("name") in HOLDING_SKILLS):
            yield from _finger_contact(record, skill, s, start, end, label)
        yield from _threshold(skill, s, end, label)


def _rows_of(record: EpisodeRecord, index: int, start: int) -> slice:
    """Rows that belong to a skill: from its start (the first: from 0) to the start of the next that ran."""
    starts = [s["frame_start"] for s in record.skills[index + 1 :] if s.get("frame_start") is not None]
    earlier = any(s.get("frame_start") is not None for s in record.skills[:index])
    return slice(start if earlier else 0, starts[0] if starts else record.n_actions)


def _collision(record: EpisodeRecord, rows: slice, threshold_n: float, label: dict[str, Any]) -> Iterator[_Violation]:
    for key, force in _interval_arrays(record, "contacts.", ".force_max_n"):
        view = key[len("contacts.") : -len(".force_max_n")]
        if view.rpartition(".")[2] not in FORBIDDEN_VIEWS:
            continue
        above = np.flatnonzero(force[rows] > threshold_n)
        if above.size:
            row = int(above[0]) + rows.start
            evidence = {**label, "view": view, "force_n": float(force[row]), "threshold_n": threshold_n}
            yield _Violation(row + 1, "collision", evidence)


def _overspeed(record: EpisodeRecord, rows: slice, label: dict[str, Any]) -> Iterator[_Violation]:
    for key, speed in _interval_arrays(record, "speeds.", ".max"):
        above = np.flatnonzero(speed[rows] > MAX_JOINT_SPEED)
        if above.size:
            row = int(above[0]) + rows.start
            evidence = {**label, "body": key.split(".")[1], "speed": float(speed[row]), "limit": MAX_JOINT_SPEED}
            yield _Violation(row + 1, "overspeed", evidence)


def _finger_contact(
    record: EpisodeRecord, skill: Mapping[str, Any], s: Array, start: int, end: int, label: dict[str, Any]
) -> Iterator[_Violation]:
    suffix = f".{skill['object']}.fingers_link.force_max_n"
    touching = np.zeros(end - start, dtype=bool)
    for _, force in _interval_arrays(record, "contacts.", suffix):
        touching |= force[start:end] > 0.0
    moving = np.abs(np.diff(s[start : end + 1])) > MOVING_STEP
    if not touching.any():
        yield _Violation(end, "grasp_missed", {**label, "contact_frames": 0, "moving_frames": int(moving.sum())})
    elif moving.any():
        share = int((moving & touching).sum()) / int(moving.sum())
        if share < MIN_CONTACT_SHARE:
            evidence = {
                **label,
                "contact_share": share,
                "wanted": MIN_CONTACT_SHARE,
                "moving_frames": int(moving.sum()),
            }
            yield _Violation(end, "slipped", evidence)


def _threshold(skill: Mapping[str, Any], s: Array, end: int, label: dict[str, Any]) -> Iterator[_Violation]:
    mode, wanted = skill["success_mode"], _number(skill, "success_threshold")
    s_closed, s_open = _number(skill, "s_closed"), _number(skill, "s_open")
    s0, s_end = float(s[0]), float(s[end])
    if mode in ("abs", "dis_to_init"):
        reached, holds = abs(s_end - s0), abs(s_end - s0) >= wanted
    elif mode == "normal":
        reached = (s_end - s0) * math.copysign(1.0, s_open - s_closed)
        holds = reached >= wanted
    elif mode == "zero":
        reached, holds = abs(s_end - s_closed), abs(s_end - s_closed) <= wanted
    elif mode == "fraction":
        reached = _share(abs(s_end - s0), s_closed, s_open, label)
        holds = reached >= wanted
    else:
        raise RecordingError(
            f"Skill {label['skill']} has success_mode {mode!r}, expected abs, normal, zero, dis_to_init or fraction. "
            "The record is damaged or of a newer version.",
            success_mode=mode,
        )
    if not holds:
        yield _Violation(
            end, "not_reached", {**label, "mode": mode, "reached": reached, "wanted": wanted, "s0": s0, "s_end": s_end}
        )


def _judge_end(record: EpisodeRecord) -> Iterator[_Violation]:
    n_actions, settle = record.n_actions, record.settle
    conditions = record.goal.get("conditions", [])
    if not conditions and not record.skills:
        yield _Violation(n_actions, "not_reached", {"reason": "the record names no skill and no goal"})
        return
    if settle is None:
        yield _Violation(n_actions, "unsettled", {"reason": "the record has no settling"})
        return
    start, end = _frame(settle, "frame_start", n_actions), _frame(settle, "frame_end", n_actions)
    for index, condition in enumerate(conditions):
        s = _joint(record, condition)
        label = {"condition": index, "object": condition["object"], "part": condition.get("part")}
        before, after = (_goal_value(record, condition, s, frame) for frame in (start, end))
        wanted = {"kind": condition["kind"], "wanted": _number(condition, "value")}
        if not before[1]:
            yield _Violation(start, "not_reached", {**label, **wanted, "reached": before[0]})
        elif not after[1]:
            yield _Violation(end, "unsettled", {**label, **wanted, "reached": after[0], "at_start": before[0]})
    for name, joint_index in sorted({(e["object"], e["joint_index"]) for e in _acted_on(record)}):
        s = _joint(record, {"object": name, "joint_index": joint_index})[start : end + 1]
        change = np.abs(s - s[0])
        above = np.flatnonzero(change > _number(settle, "max_change"))
        if above.size:
            evidence = {"object": name, "joint_index": joint_index, "change": float(change.max())}
            yield _Violation(start + int(above[0]), "unsettled", {**evidence, "allowed": settle["max_change"]})


def _goal_value(record: EpisodeRecord, condition: Mapping[str, Any], s: Array, frame: int) -> tuple[float, bool]:
    kind, wanted = condition["kind"], _number(condition, "value")
    if kind == "moved":
        moved = abs(float(s[frame]) - float(s[0]))
        return moved, moved >= wanted
    source = _limits_source(record, condition)
    s_closed, s_open = _number(source, "s_closed"), _number(source, "s_open")
    if kind == "moved_fraction":
        share = _share(abs(float(s[frame]) - float(s[0])), s_closed, s_open, condition)
        return share, share >= wanted
    if kind == "within_closed":
        away = abs(float(s[frame]) - s_closed)
        return away, away <= wanted
    raise RecordingError(
        f"A goal condition has kind {kind!r}, expected moved, moved_fraction or within_closed. The record is damaged "
        "or of a newer version.",
        kind=kind,
    )


def _limits_source(record: EpisodeRecord, condition: Mapping[str, Any]) -> Mapping[str, Any]:
    if condition.get("s_closed") is not None and condition.get("s_open") is not None:
        return condition
    for skill in record.skills:
        if (skill.get("object"), skill.get("joint_index")) == (condition["object"], condition["joint_index"]):
            return skill
    raise RecordingError(
        f"Goal on '{condition['object']}' joint {condition['joint_index']} needs s_closed and s_open; neither it nor a "
        "skill on that joint has them. Record them with the goal.",
        condition=dict(condition),
    )


def _acted_on(record: EpisodeRecord) -> Iterator[Mapping[str, Any]]:
    yield from record.goal.get("conditions", [])
    yield from (skill for skill in record.skills if skill.get("success_mode") is not None)


def _joint(record: EpisodeRecord, entry: Mapping[str, Any]) -> Array:
    """(T+1,) position of the joint that a skill or condition names [rad or m]."""
    key, column = f"objects.{entry['object']}.joint_positions", entry["joint_index"]
    array = record.arrays.get(key)
    if array is None or array.ndim != 2 or not isinstance(column, int) or not 0 <= column < array.shape[1]:
        raise RecordingError(
            f"Episode {record.number} has no column {column!r} of '{key}', which its verdict needs. "
            "The record is incomplete.",
            key=key,
            column=column,
        )
    s: Array = array[:, column]
    return s


def _interval_arrays(record: EpisodeRecord, prefix: str, suffix: str) -> list[tuple[str, Array]]:
    found = [(k, a) for k, a in sorted(record.arrays.items()) if k.startswith(prefix) and k.endswith(suffix)]
    if not found and record.n_actions:
        raise RecordingError(
            f"Episode {record.number} has no array '{prefix}...{suffix}', which its verdict needs. "
            "The record is incomplete.",
            key=f"{prefix}*{suffix}",
        )
    return found


def _frame(entry: Mapping[str, Any], key: str, n_actions: int) -> int:
    frame = entry.get(key)
    if isinstance(frame, bool) or not isinstance(frame, int) or not 0 <= frame <= n_actions:
        raise RecordingError(
            f"'{key}' is {frame!r}, expected a state frame from 0 to {n_actions}. The record is incomplete.", key=key
        )
    return frame


def _number(entry: Mapping[str, Any], key: str) -> float:
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise RecordingError(f"'{key}' is {value!r}, expected a finite number. The record is incomplete.", key=key)
    return float(value)


def _share(moved: float, s_closed: float, s_open: float, entry: Mapping[str, Any]) -> float:
    if s_open == s_closed:
        raise RecordingError(
            f"s_open equals s_closed ({s_open}) in {dict(entry)}: a share of no range. The record is damaged.",
            s_open=s_open,
        )
    return moved / abs(s_open - s_closed)
