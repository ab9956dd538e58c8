"""Success and failure code of an attempt, from its record alone.

This is written from the design's rules and not from the skills: it is what a user runs to trust a data set. Frames are
state frames; row f of actions, contacts and speeds lies between the states f and f + 1.

Each violated condition has a moment (a state frame), and the earliest wins; of those at one moment the first in
`FAILURE_CODES`.

- `collision`: a force of `fingers_base`, `forbid_collision` or `environment` above the skill's
  `contact_force_threshold_n`. `overspeed`: a joint above 5 rad/s or 5 m/s. Moment: the state after the row. Each row
  belongs to the skill that began last, so settling belongs to the last skill; rows before the first skill (the scene
  comes to rest) are not judged. Where arms act side by side (one `stage`) it belongs to the last skill of each, and the
  contact views of an arm to its own skill alone.
- `grasp_missed`, `slipped` (open and rotate only): the fingers touched the moving part in no row of the skill, or in
  less than 80 % of the rows in which its joint moved. `not_reached`: the joint misses the threshold of the skill's
  mode. Moment: the skill's `frame_end`.
- `grasp_missed`, `slipped` (hold only): it has no row of the phase `hold`, no finger is on the link in one of them, or
  a part that a skill beside it acts on moves outside them. Moment: the state after that row, or its `frame_end`.
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

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.codes import CODE_ORDER
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.evidence import (
    MAX_JOINT_SPEED,
    arms_beside,
    check_entries,
    forbidden_rows,
    frame_of,
    hold_rows,
    interval_arrays,
    joint_positions,
    number_of,
    overspeed_rows,
    start_position,
)
from unlatch.simcore.recording.keys import kind_of

Array = np.ndarray

MOVING_STEP = 1e-4
"""Change of a joint over one frame above which it moves [rad or m]."""
MIN_CONTACT_SHARE = 0.8
"""Least share of the moving frames in which the fingers must touch the part."""
HOLDING_SKILLS = frozenset({"open", "rotate"})
"""Skills that must hold the part while it moves."""
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
    """Success of each skill at its own end; None where the attempt ended before it could be judged."""


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
    check_entries(record)
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
        skill_results.append(_skill_result(skill, found, n_actions=n_actions, limit=limit))
    if aborted is None and (record.settle is not None or not violations):
        violations += _judge_end(record)
    if not violations:
        violations += _never_ran(record)
    if not violations:
        return Verdict(success=True, code=None, evidence={}, skills=tuple(skill_results))
    first = min(violations, key=lambda v: (v.frame, CODE_ORDER[v.code]))
    evidence = {"frame": first.frame, **first.evidence}
    return Verdict(success=False, code=first.code, evidence=evidence, skills=tuple(skill_results))


def _never_ran(record: EpisodeRecord) -> Iterator[_Violation]:
    for index, skill in enumerate(record.skills):
        if not _ran(skill):
            evidence = {"skill": index, "name": skill["name"], "reason": "the skill never ran"}
            yield _Violation(record.n_actions, "not_reached", evidence)


def _skill_result(skill: Mapping[str, Any], found: list[_Violation], *, n_actions: int, limit: int) -> bool | None:
    if not _ran(skill):
        return None
    end = frame_of(skill, "frame_end", n_actions)
    if any(violation.frame <= end for violation in found):
        return False
    if skill.get("broken_off", False):
        return None
    return True if end < limit else None


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
    if not _ran(skill):
        return
    start, end = frame_of(skill, "frame_start", n_actions), frame_of(skill, "frame_end", n_actions)
    rows = slice(start, _next_start(record, index))
    latched = list(_latches(record, skill, rows, label))
    yield from latched
    # a skill that broke a rule was stopped there: how far it came by then is no failure of its own
    if any(violation.frame <= end for violation in latched) or skill.get("broken_off", False):
        return
    if skill.get("holds", False):
        yield from _held(record, skill, start, end, label)
    if end < limit and skill.get("success_mode") is not None:
        s = joint_positions(record, skill)
        if skill.get("finger_contact_required", skill.get("name") in HOLDING_SKILLS):
            yield from _finger_contact(record, skill, s, start, end, label)
        yield from _threshold(skill, s, end, label)


def _latches(
    record: EpisodeRecord, skill: Mapping[str, Any], rows: slice, label: dict[str, Any]
) -> Iterator[_Violation]:
    if skill["collision_valid_enabled"]:
        threshold_n = number_of(skill, "contact_force_threshold_n")
        for row, view, force_n in forbidden_rows(record, rows, threshold_n, without=arms_beside(record, skill))[:1]:
            evidence = {**label, "view": view, "force_n": force_n, "threshold_n": threshold_n}
            yield _Violation(row + 1, "collision", evidence)
    if skill["process_valid_enabled"]:
        for row, body, speed in overspeed_rows(record, rows)[:1]:
            yield _Violation(row + 1, "overspeed", {**label, "body": body, "speed": speed, "limit": MAX_JOINT_SPEED})


def _next_start(record: EpisodeRecord, index: int) -> int:
    """The first row that no longer belongs to a skill: where the next one that ran began, else the end.

    What runs side by side with it, in the same stage with another arm, takes no row from it.
    """
    skill = record.skills[index]
    stage, beside = skill.get("stage"), arms_beside(record, skill)
    later = (s for s in record.skills[index + 1 :] if s.get("stage") != stage or s.get("arm") not in beside)
    starts = (frame_of(s, "frame_start", record.n_actions) for s in later if _ran(s))
    return next(starts, record.n_actions)


def _ran(skill: Mapping[str, Any]) -> bool:
    return skill.get("frame_start") is not None


def _finger_contact(
    record: EpisodeRecord, skill: Mapping[str, Any], s: Array, start: int, end: int, label: dict[str, Any]
) -> Iterator[_Violation]:
    touching = _touching(record, skill, start, end)
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


def _held(
    record: EpisodeRecord, skill: Mapping[str, Any], start: int, end: int, label: dict[str, Any]
) -> Iterator[_Violation]:
    rows = hold_rows(record, skill, start, end)
    if not rows.any():
        yield _Violation(end, "grasp_missed", {**label, "hold_frames": 0})
        return
    lost = np.flatnonzero(rows & ~_touching(record, skill, start, end))
    if lost.size:
        yield _Violation(start + int(lost[0]) + 1, "slipped", {**label, "frames_lost": int(lost.size)})
    beside = arms_beside(record, skill)
    for other in record.skills:
        if other.get("stage") == skill.get("stage") and other.get("arm") in beside and _ran(other):
            moving = np.abs(np.diff(joint_positions(record, other)[start : end + 1])) > MOVING_STEP
            alone = np.flatnonzero(moving & ~rows)
            if alone.size:
                evidence = {**label, "part": other.get("part"), "frames_moved_alone": int(alone.size)}
                yield _Violation(start + int(alone[0]) + 1, "slipped", evidence)


def _touching(record: EpisodeRecord, skill: Mapping[str, Any], start: int, end: int) -> Array:
    """(end - start,) rows in which fingers touch what they may."""
    arm = f".{skill['arm']}" if "arm" in skill else ""
    suffix = f"{arm}.{skill['object']}.fingers_link.force_max_n"
    touching: Array = np.zeros(end - start, dtype=bool)
    for _, force in interval_arrays(record, "contacts.", suffix):
        touching |= force[start:end] > 0.0
    return touching


def _threshold(skill: Mapping[str, Any], s: Array, end: int, label: dict[str, Any]) -> Iterator[_Violation]:
    mode, wanted = skill["success_mode"], number_of(skill, "success_threshold")
    s_closed, s_open = number_of(skill, "s_closed"), number_of(skill, "s_open")
    s0, s_end = start_position(skill, s), float(s[end])
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
    start, end = frame_of(settle, "frame_start", n_actions), frame_of(settle, "frame_end", n_actions)
    for index, condition in enumerate(conditions):
        s = joint_positions(record, condition)
        label = {"condition": index, "object": condition["object"], "part": condition.get("part")}
        before, after = (_goal_value(record, condition, s, frame) for frame in (start, end))
        wanted = {"kind": condition["kind"], "wanted": number_of(condition, "value")}
        if not before[1]:
            yield _Violation(start, "not_reached", {**label, **wanted, "reached": before[0]})
        elif not after[1]:
            yield _Violation(end, "unsettled", {**label, **wanted, "reached": after[0], "at_start": before[0]})
    for name, joint_index in sorted({(e["object"], e["joint_index"]) for e in _acted_on(record)}):
        s = joint_positions(record, {"object": name, "joint_index": joint_index})[start : end + 1]
        change = np.abs(s - s[0])
        own = settle.get("max_changes") or {}
        allowed = number_of({"max_change": own.get(f"{name}.{joint_index}", settle.get("max_change"))}, "max_change")
        above = np.flatnonzero(change > allowed)
        if above.size:
            evidence = {"object": name, "joint_index": joint_index, "change": float(change.max())}
            yield _Violation(start + int(above[0]), "unsettled", {**evidence, "allowed": allowed})


def _goal_value(record: EpisodeRecord, condition: Mapping[str, Any], s: Array, frame: int) -> tuple[float, bool]:
    kind, wanted = condition["kind"], number_of(condition, "value")
    if kind == "moved":
        moved = abs(float(s[frame]) - float(s[0]))
        return moved, moved >= wanted
    source = _limits_source(record, condition)
    s_closed, s_open = number_of(source, "s_closed"), number_of(source, "s_open")
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


def _share(moved: float, s_closed: float, s_open: float, entry: Mapping[str, Any]) -> float:
    if s_open == s_closed:
        raise RecordingError(
            f"s_open equals s_closed ({s_open}) in {dict(entry)}: a share of no range. The record is damaged.",
            s_open=s_open,
        )
    return moved / abs(s_open - s_closed)
