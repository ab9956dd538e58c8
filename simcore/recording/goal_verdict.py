"""Finds the conditions of a goal that do not hold, or do not last while the scene settles, from the record alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.measurements import joint_positions, read_frame, read_number
from unlatch.simcore.recording.object_verdict import OBJECT_CONDITIONS, object_value, root_positions
from unlatch.simcore.recording.skill_verdict import BrokenRule, JudgedSkill, is_threshold_met, share_of_range
from unlatch.simcore.recording.success_rules import check_type

ROOT = "root"
"""In place of the index of a joint: the position of a free object."""


def check_conditions(record: EpisodeRecord) -> None:
    """Raises unless every condition of the goal has the keys that a verdict needs.

    Raises:
        RecordingError: A key is missing, or its value has another type.
    """
    for index, condition in enumerate(record.goal.get("conditions", [])):
        where = f"entry {index} of the goal of episode {record.number}"
        for key, types in {"object": (str,), "kind": (str,), "value": (int, float)}.items():
            check_type(condition, key, *types, where=where)
        if condition["kind"] not in OBJECT_CONDITIONS:
            check_type(condition, "joint_index", int, where=where)


def broken_goal_rules(record: EpisodeRecord, skills: Sequence[JudgedSkill]) -> Iterator[BrokenRule]:
    """Yields each condition of the goal that does not hold, and each joint that moved while the scene settled."""
    settle, conditions = record.settle, record.goal.get("conditions", [])
    if not conditions and not skills:
        yield BrokenRule(record.n_actions, "not_reached", {"reason": "the record names no skill and no goal"})
        return
    if settle is None:
        yield BrokenRule(record.n_actions, "unsettled", {"reason": "the record has no settling"})
        return
    start, end = (read_frame(settle, key, record.n_actions) for key in ("frame_start", "frame_end"))
    for index, condition in enumerate(conditions):
        label = {"condition": index, "object": condition["object"], "part": condition.get("part")}
        wanted = {"kind": condition["kind"], "wanted": float(condition["value"])}
        at_start, held_at_start = goal_value(record, condition, start)
        at_end, held_at_end = goal_value(record, condition, end)
        if not held_at_start:
            yield BrokenRule(start, "not_reached", {**label, **wanted, "reached": at_start})
        elif not held_at_end:
            yield BrokenRule(end, "unsettled", {**label, **wanted, "reached": at_end, "at_start": at_start})
    acted_on = [*conditions, *(skill.entry for skill in skills if skill.is_judged)]
    for name, joint_index in sorted({_moving_thing(entry) for entry in acted_on}, key=str):
        change = _changes(record, name, joint_index, start, end)
        allowed = _allowed_change(settle, f"{name}.{joint_index}")
        above = np.flatnonzero(change > allowed)
        if above.size:
            evidence = {"object": name, "joint_index": joint_index, "change": float(change.max()), "allowed": allowed}
            yield BrokenRule(start + int(above[0]), "unsettled", evidence)


def recompute_goal_frame(record: EpisodeRecord) -> int | None:
    """Returns the first state frame of a policy's episode in which the goal had held for long enough, or None.

    Broken rules and missing contact do not count: only where the joints are, and that every skill of the chain began.

    Raises:
        RecordingError: The record lacks what a judgement needs.
    """
    goal, where = record.goal, f"the goal of episode {record.number}"
    for key, kind in {"hold_frames": int, "chain_length": int, "max_changes": dict}.items():
        check_type(goal, key, kind, where=where)
    skills = [JudgedSkill.read(record, index) for index in range(len(record.skills))]
    last_attempts = {skill.entry.get("entry", skill.index): skill for skill in skills if skill.ran}
    begun = list(last_attempts.values())
    if not record.arrays or len(begun) < goal["chain_length"]:
        return None
    hold, moving = goal["hold_frames"], [skill for skill in begun if skill.rule.success_mode is not None]
    for frame in range(max(skill.start for skill in begun) + hold, record.n_actions + 1):
        if (
            all(is_threshold_met(skill, min(frame, skill.end)) for skill in moving)
            and all(goal_value(record, item, at)[1] for item in goal["conditions"] for at in (frame - hold, frame))
            and _stood_still(record, frame - hold, frame)
        ):
            return frame
    return None


def _stood_still(record: EpisodeRecord, start: int, end: int) -> bool:
    for joint in record.goal["max_changes"]:
        name, _, index = joint.rpartition(".")
        change = _changes(record, name, index if index == ROOT else int(index), start, end)
        if not (change <= read_number(record.goal["max_changes"], joint)).all():
            return False
    return True


def _moving_thing(entry: Mapping[str, Any]) -> tuple[str, int | str]:
    """Returns object and joint index of a skill or condition; `ROOT` in place of the index for a free object."""
    index = entry.get("joint_index")
    return entry["object"], ROOT if index is None else index


def _changes(record: EpisodeRecord, name: str, joint: int | str, start: int, end: int) -> np.ndarray:
    """Returns how far a joint, or the root of a free object, is from where it was, in each state frame [rad or m]."""
    if joint == ROOT:
        positions = root_positions(record, name)[start : end + 1]
        moved: np.ndarray = np.linalg.norm(positions - positions[0], axis=1)
        return moved
    s = joint_positions(record, {"object": name, "joint_index": joint})[start : end + 1]
    return np.abs(s - s[0])


def _allowed_change(settle: Mapping[str, Any], joint: str) -> float:
    changes = settle.get("max_changes") or {}
    return read_number(changes, joint) if joint in changes else read_number(settle, "max_change")


def goal_value(record: EpisodeRecord, condition: Mapping[str, Any], frame: int) -> tuple[float, bool]:
    """Returns what a condition measures at a state frame, and whether the condition holds there."""
    kind, wanted = condition["kind"], float(condition["value"])
    if kind in OBJECT_CONDITIONS:
        return object_value(record, condition, frame, 0)
    s = joint_positions(record, condition)
    moved = abs(float(s[frame]) - float(s[0]))
    if kind == "moved":
        return moved, moved >= wanted
    source = _source_of_limits(record, condition)
    s_closed, s_open = read_number(source, "s_closed"), read_number(source, "s_open")
    if kind == "moved_fraction":
        share = share_of_range(moved, s_closed, s_open, condition)
        return share, share >= wanted
    if kind == "open_fraction":
        opened = float(np.sign(s_open - s_closed)) * (float(s[frame]) - s_closed)
        share = share_of_range(opened, s_closed, s_open, condition)
        return share, share >= wanted
    if kind == "within_closed":
        away = abs(float(s[frame]) - s_closed)
        return away, away <= wanted
    raise RecordingError(
        f"A goal condition has kind {kind!r}, expected moved, moved_fraction, open_fraction or within_closed. The "
        "record is damaged or of a newer version.",
        kind=kind,
    )


def _source_of_limits(record: EpisodeRecord, condition: Mapping[str, Any]) -> Mapping[str, Any]:
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
