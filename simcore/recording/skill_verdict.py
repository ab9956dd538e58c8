"""Finds the rules that one skill broke, from the record alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.measurements import (
    arm_states,
    concurrent_arms,
    first_attempt,
    forbidden_rows,
    hold_rows,
    joint_positions,
    overload_rows,
    overspeed_rows,
    read_frame,
    read_number,
    start_position,
    touching_rows,
)
from unlatch.simcore.recording.object_verdict import object_value, root_positions
from unlatch.simcore.recording.success_rules import (
    MAX_AWAY_FROM_HOME,
    MAX_JOINT_SPEED,
    MAX_SPEED_AT_HOME,
    MIN_CONTACT_SHARE,
    MOVING_STEP,
    SuccessRule,
    check_type,
)


@dataclass(frozen=True)
class BrokenRule:
    """One rule that an attempt broke."""

    frame: int
    """State frame at which it was broken."""
    code: str
    """Its failure code."""
    evidence: dict[str, Any] = field(default_factory=dict)
    """The numbers behind it."""


@dataclass(frozen=True)
class JudgedSkill:
    """One entry of a record's `skills`, with the rule by which it is judged."""

    record: EpisodeRecord
    index: int
    """Its place in `skills`."""
    entry: Mapping[str, Any]
    rule: SuccessRule

    @classmethod
    def read(cls, record: EpisodeRecord, index: int) -> JudgedSkill:
        """Reads an entry.

        Raises:
            RecordingError: A key is missing or has another type.
        """
        entry, where = record.skills[index], f"entry {index} of the skills of episode {record.number}"
        check_type(entry, "name", str, where=where)
        if "entry" in entry:
            check_type(entry, "entry", int, where=where)
        rule = SuccessRule.from_entry(entry, where=where)
        if entry.get("conditions") is not None:
            check_type(entry, "object", str, where=where)
            check_type(entry, "conditions", list, where=where)
        if rule.success_mode is not None:
            check_type(entry, "object", str, where=where)
            check_type(entry, "joint_index", int, where=where)
        return cls(record, index, entry, rule)

    @property
    def conditions(self) -> list[Mapping[str, Any]]:
        """Conditions on free objects at its end."""
        return list(self.entry.get("conditions") or [])

    @property
    def is_judged(self) -> bool:
        """Whether it must move a joint, a free object or its own arm."""
        return self.rule.success_mode is not None or bool(self.conditions) or self.rule.goes_home

    @property
    def ran(self) -> bool:
        """Whether it began."""
        return self.entry.get("frame_start") is not None

    @property
    def start(self) -> int:
        """State frame at which it began."""
        return read_frame(self.entry, "frame_start", self.record.n_actions)

    @property
    def end(self) -> int:
        """State frame at which it ended."""
        return read_frame(self.entry, "frame_end", self.record.n_actions)

    @property
    def is_repeated(self) -> bool:
        """Whether a later entry is the next attempt at the same skill of the chain."""
        attempt, later = self.entry.get("attempt"), self.record.skills[self.index + 1 :]
        return attempt is not None and any(
            other.get("entry") == self.entry.get("entry") and other.get("attempt") == attempt + 1 for other in later
        )

    @property
    def broken_off(self) -> bool:
        """Whether it was stopped early, for example because another arm's skill failed."""
        return bool(self.entry.get("broken_off", False))

    @property
    def label(self) -> dict[str, Any]:
        """Index and name, for the evidence."""
        return {"skill": self.index, "name": self.entry["name"]}

    def end_is_judged(self, limit: int) -> bool:
        """Whether it ended by itself, before the state frame at which the attempt was stopped."""
        return self.ran and not self.broken_off and self.end < limit

    def positions(self) -> np.ndarray:
        """(T+1,) positions of its joint [rad or m]."""
        return joint_positions(self.record, self.entry)

    def runs_concurrently_with(self, other: JudgedSkill) -> bool:
        """Whether another skill is in the same stage and of another arm."""
        arms = concurrent_arms(self.record, self.entry)
        return other.entry.get("stage") == self.entry.get("stage") and other.entry.get("arm") in arms


def broken_skill_rules(skill: JudgedSkill, skills: Sequence[JudgedSkill], *, limit: int) -> Iterator[BrokenRule]:
    """Yields the rules that a skill of the record broke.

    From the state frame `limit` on, where the attempt was stopped, the end of a skill is not judged.
    """
    if not skill.ran:
        return
    broken = list(_rules_broken_while_running(skill, slice(skill.start, _first_row_of_next(skill, skills))))
    yield from broken
    # a skill that broke a rule was stopped there: the position of its joint is then not judged
    if any(rule.frame <= skill.end for rule in broken) or skill.broken_off:
        return
    if skill.rule.holds:
        yield from _rules_broken_while_holding(skill, skills)
    if skill.end < limit and skill.is_judged:
        if skill.rule.finger_contact_required:
            yield from _missing_contact(skill)
        if skill.rule.success_mode is not None:
            yield from missed_threshold(skill)
        if skill.rule.goes_home:
            yield from _missed_home(skill)
        yield from _unmet_conditions(skill)


def _first_row_of_next(skill: JudgedSkill, skills: Sequence[JudgedSkill]) -> int | None:
    """Returns the first row of the next skill that ran; None if there is none. Concurrent skills are not searched."""
    later = (other for other in skills[skill.index + 1 :] if not skill.runs_concurrently_with(other))
    return next((other.start for other in later if other.ran), None)


def _rules_broken_while_running(skill: JudgedSkill, rows: slice) -> Iterator[BrokenRule]:
    record, rule = skill.record, skill.rule
    if rule.collision_valid_enabled:
        others = concurrent_arms(record, skill.entry)
        for row, view, force_n, allowed_n in forbidden_rows(record, rows, rule, skipped_arms=others)[:1]:
            evidence = {**skill.label, "view": view, "force_n": force_n, "threshold_n": allowed_n}
            yield BrokenRule(row + 1, "collision", evidence)
    for row, hand, force_n in overload_rows(record, skill.entry, rows, rule.finger_force_limit_n)[:1]:
        evidence = {**skill.label, "hand": hand, "force_n": force_n, "limit_n": rule.finger_force_limit_n}
        yield BrokenRule(row + 1, "overload", evidence)
    if rule.process_valid_enabled:
        for row, body, speed in overspeed_rows(record, rows)[:1]:
            evidence = {**skill.label, "body": body, "speed": speed, "limit": MAX_JOINT_SPEED}
            yield BrokenRule(row + 1, "overspeed", evidence)


def _missing_contact(skill: JudgedSkill) -> Iterator[BrokenRule]:
    start, end = skill.start, skill.end
    touching = touching_rows(skill.record, skill.entry, start, end)
    moving = _moving_rows(skill, start, end)
    n_moving = int(moving.sum())
    if not touching.any():
        yield BrokenRule(end, "grasp_missed", {**skill.label, "contact_frames": 0, "moving_frames": n_moving})
    elif n_moving:
        share = int((moving & touching).sum()) / n_moving
        if share < MIN_CONTACT_SHARE:
            numbers = {"contact_share": share, "wanted": MIN_CONTACT_SHARE, "moving_frames": n_moving}
            yield BrokenRule(end, "slipped", {**skill.label, **numbers})


def _rules_broken_while_holding(skill: JudgedSkill, skills: Sequence[JudgedSkill]) -> Iterator[BrokenRule]:
    start, end = skill.start, skill.end
    rows = hold_rows(skill.record, skill.entry, start, end)
    if not rows.any():
        yield BrokenRule(end, "grasp_missed", {**skill.label, "hold_frames": 0})
        return
    lost = np.flatnonzero(rows & ~touching_rows(skill.record, skill.entry, start, end))
    if lost.size:
        yield BrokenRule(start + int(lost[0]) + 1, "slipped", {**skill.label, "frames_lost": int(lost.size)})
    for other in skills:
        if skill.runs_concurrently_with(other) and other.ran:
            not_held = np.flatnonzero(_moving_rows(other, start, end) & ~rows)
            if not_held.size:
                numbers = {"part": other.entry.get("part"), "frames_moved_alone": int(not_held.size)}
                yield BrokenRule(start + int(not_held[0]) + 1, "slipped", {**skill.label, **numbers})


def _moving_rows(skill: JudgedSkill, start: int, end: int) -> np.ndarray:
    """Returns a (end - start,) mask of the rows in which the skill's joint moves."""
    if skill.rule.success_mode is None and skill.conditions:
        steps = np.diff(root_positions(skill.record, skill.entry["object"])[start : end + 1], axis=0)
        carried: np.ndarray = np.linalg.norm(steps, axis=1) > MOVING_STEP
        return carried
    moving: np.ndarray = np.abs(np.diff(skill.positions()[start : end + 1])) > MOVING_STEP
    return moving


def _unmet_conditions(skill: JudgedSkill) -> Iterator[BrokenRule]:
    """Yields `not_reached` where a free object is not where it must be at the end of a skill."""
    start = JudgedSkill.read(skill.record, _first_index(skill)).start
    for condition in skill.conditions:
        reached, holds = object_value(skill.record, condition, skill.end, start)
        if not holds:
            numbers = {"kind": condition["kind"], "object": condition["object"], "reached": reached}
            yield BrokenRule(skill.end, "not_reached", {**skill.label, **numbers, "wanted": condition["value"]})


def _missed_home(skill: JudgedSkill) -> Iterator[BrokenRule]:
    """Yields `not_reached` where the arm is not where it began, or does not stand still, at the end of a skill."""
    q, speeds = (arm_states(skill.record, skill.entry, key) for key in ("joint_positions", "joint_velocities"))
    away, speed = float(np.abs(q[skill.end] - q[0]).max()), float(np.abs(speeds[skill.end]).max())
    if away > MAX_AWAY_FROM_HOME or speed > MAX_SPEED_AT_HOME:
        yield BrokenRule(skill.end, "not_reached", {**skill.label, "away": away, "speed": speed})


def _first_index(skill: JudgedSkill) -> int:
    """Returns the place in the record of the first attempt at a skill."""
    first = first_attempt(skill.record, skill.entry)
    return next(index for index, entry in enumerate(skill.record.skills) if entry is first)


def missed_threshold(skill: JudgedSkill) -> Iterator[BrokenRule]:
    """Yields `not_reached` where the joint misses the skill's threshold at its end.

    Raises:
        RecordingError: The mode is unknown, or a number is missing.
    """
    if not is_threshold_met(skill, skill.end):
        s, (reached, wanted) = skill.positions(), measure_displacement(skill, skill.end)
        numbers = {"reached": reached, "wanted": wanted, "s0": start_position(skill.entry, s)}
        numbers["s_end"] = float(s[skill.end])
        yield BrokenRule(skill.end, "not_reached", {**skill.label, "mode": skill.rule.success_mode, **numbers})


def is_threshold_met(skill: JudgedSkill, frame: int) -> bool:
    """Returns whether the joint meets the skill's threshold at a state frame.

    Raises:
        RecordingError: The mode is unknown, or a number is missing.
    """
    reached, wanted = measure_displacement(skill, frame)
    return reached <= wanted if skill.rule.success_mode == "zero" else reached >= wanted


def measure_displacement(skill: JudgedSkill, frame: int) -> tuple[float, float]:
    """Returns what the skill's mode measures at a state frame, and its threshold [rad, m or share].

    Raises:
        RecordingError: The mode is unknown, or a number is missing.
    """
    entry, mode, wanted = skill.entry, skill.rule.success_mode, read_number(skill.entry, "success_threshold")
    s_closed, s_open = read_number(entry, "s_closed"), read_number(entry, "s_open")
    s = skill.positions()
    s0, s_end = start_position(first_attempt(skill.record, entry), s), float(s[frame])
    if mode in ("abs", "dis_to_init"):
        reached = abs(s_end - s0)
    elif mode == "normal":
        reached = (s_end - s0) * math.copysign(1.0, s_open - s_closed)
    elif mode == "zero":
        reached = abs(s_end - s_closed)
    elif mode == "fraction":
        reached = share_of_range(abs(s_end - s0), s_closed, s_open, skill.label)
    else:
        raise RecordingError(
            f"Skill {skill.index} has success_mode {mode!r}, expected abs, normal, zero, dis_to_init or fraction. "
            "The record is damaged or of a newer version.",
            success_mode=mode,
        )
    return reached, wanted


def share_of_range(moved: float, s_closed: float, s_open: float, entry: Mapping[str, Any]) -> float:
    """Returns a displacement [rad or m] as a share of the range from closed to open; `entry` is for the message.

    Raises:
        RecordingError: The range is empty.
    """
    if s_open == s_closed:
        raise RecordingError(
            f"s_open equals s_closed ({s_open}) in {dict(entry)}: the range is empty. The record is damaged.",
            s_open=s_open,
        )
    return moved / abs(s_open - s_closed)
