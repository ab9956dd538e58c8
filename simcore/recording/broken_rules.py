"""Finds the rules of success that an attempt broke, from its record alone: those of its skills, then those of its
goal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording import measurements, success_rules
from unlatch.simcore.recording.episode import EpisodeRecord


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
    rule: success_rules.SuccessRule

    @classmethod
    def read(cls, record: EpisodeRecord, index: int) -> JudgedSkill:
        """Reads an entry."""
        entry = record.skills[index]
        return cls(record, index, entry, success_rules.SuccessRule.from_entry(entry))

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
        return measurements.read_frame(self.entry, "frame_start", self.record.n_actions)

    @property
    def end(self) -> int:
        """State frame at which it ended."""
        return measurements.read_frame(self.entry, "frame_end", self.record.n_actions)

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
        return measurements.joint_positions(self.record, self.entry)

    def runs_concurrently_with(self, other: JudgedSkill) -> bool:
        """Whether another skill is in the same stage and of another arm."""
        arms = measurements.concurrent_arms(self.record, self.entry)
        return other.entry.get("stage") == self.entry.get("stage") and other.entry.get("arm") in arms


def broken_skill_rules(skill: JudgedSkill, skills: Sequence[JudgedSkill], *, limit: int) -> Iterator[BrokenRule]:
    """Yields the rules that a skill of the record broke.

    From the state frame `limit` on, where the attempt was stopped, the end of a skill is not judged.
    """
    if not skill.ran:
        return
    later = (other for other in skills[skill.index + 1 :] if not skill.runs_concurrently_with(other))
    next_start = next((other.start for other in later if other.ran), None)
    broken = list(_rules_broken_while_running(skill, slice(skill.start, next_start)))
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
            q, speeds = (
                measurements.arm_states(skill.record, skill.entry, key)
                for key in ("joint_positions", "joint_velocities")
            )
            away, speed = float(np.abs(q[skill.end] - q[0]).max()), float(np.abs(speeds[skill.end]).max())
            if away > success_rules.MAX_AWAY_FROM_HOME or speed > success_rules.MAX_SPEED_AT_HOME:
                yield BrokenRule(skill.end, "not_reached", {**skill.label, "away": away, "speed": speed})
        yield from _unmet_conditions(skill)


def _rules_broken_while_running(skill: JudgedSkill, rows: slice) -> Iterator[BrokenRule]:
    record, rule = skill.record, skill.rule
    if rule.collision_valid_enabled:
        others = measurements.concurrent_arms(record, skill.entry)
        for row, view, force_n, allowed_n in measurements.forbidden_rows(record, rows, rule, skipped_arms=others)[:1]:
            evidence = {**skill.label, "view": view, "force_n": force_n, "threshold_n": allowed_n}
            yield BrokenRule(row + 1, "collision", evidence)
    for row, hand, force_n in measurements.overload_rows(record, skill.entry, rows, rule.finger_force_limit_n)[:1]:
        evidence = {**skill.label, "hand": hand, "force_n": force_n, "limit_n": rule.finger_force_limit_n}
        yield BrokenRule(row + 1, "overload", evidence)
    for row, moved_m, turned in measurements.moved_object_rows(record, skill.entry, rows):
        evidence = {**skill.label, "object": skill.entry["object"], "moved_m": moved_m, "turned_rad": turned}
        yield BrokenRule(row + 1, "moved_object", evidence)
    if rule.process_valid_enabled:
        for row, body, speed in measurements.overspeed_rows(record, rows)[:1]:
            evidence = {**skill.label, "body": body, "speed": speed, "limit": success_rules.MAX_JOINT_SPEED}
            yield BrokenRule(row + 1, "overspeed", evidence)


def _missing_contact(skill: JudgedSkill) -> Iterator[BrokenRule]:
    start, end = skill.start, skill.end
    touching = measurements.touching_rows(skill.record, skill.entry, start, end)
    moving = _moving_rows(skill, start, end)
    n_moving = int(moving.sum())
    if not touching.any():
        yield BrokenRule(end, "grasp_missed", {**skill.label, "contact_frames": 0, "moving_frames": n_moving})
    elif n_moving:
        share = int((moving & touching).sum()) / n_moving
        if share < success_rules.MIN_CONTACT_SHARE:
            numbers = {"contact_share": share, "wanted": success_rules.MIN_CONTACT_SHARE, "moving_frames": n_moving}
            yield BrokenRule(end, "slipped", {**skill.label, **numbers})


def _rules_broken_while_holding(skill: JudgedSkill, skills: Sequence[JudgedSkill]) -> Iterator[BrokenRule]:
    start, end = skill.start, skill.end
    rows = measurements.hold_rows(skill.record, skill.entry, start, end)
    if not rows.any():
        yield BrokenRule(end, "grasp_missed", {**skill.label, "hold_frames": 0})
        return
    lost = np.flatnonzero(rows & ~measurements.touching_rows(skill.record, skill.entry, start, end))
    if lost.size:
        yield BrokenRule(start + int(lost[0]) + 1, "slipped", {**skill.label, "frames_lost": int(lost.size)})
    for other in skills:
        if skill.runs_concurrently_with(other) and other.ran:
            runs = np.arange(start, end) < other.end  # later, a part may move as the hand lets go of its object
            not_held = np.flatnonzero(_moving_rows(other, start, end) & runs & ~rows)
            if not_held.size:
                numbers = {"part": other.entry.get("part"), "frames_moved_alone": int(not_held.size)}
                yield BrokenRule(start + int(not_held[0]) + 1, "slipped", {**skill.label, **numbers})


def _moving_rows(skill: JudgedSkill, start: int, end: int) -> np.ndarray:
    """Returns a (end - start,) mask of the rows in which the skill's joint moves."""
    if skill.rule.success_mode is None and skill.conditions:
        steps = np.diff(measurements.root_positions(skill.record, skill.entry["object"])[start : end + 1], axis=0)
        return np.linalg.norm(steps, axis=1) > success_rules.MOVING_STEP
    return np.abs(np.diff(skill.positions()[start : end + 1])) > success_rules.MOVING_STEP


def _unmet_conditions(skill: JudgedSkill) -> Iterator[BrokenRule]:
    """Yields `not_reached` where a free object is not where it must be at the end of a skill."""
    start = measurements.first_attempt(skill.record, skill.entry)["frame_start"]
    for condition in skill.conditions:
        reached, holds = measurements.object_value(skill.record, condition, skill.end, start)
        if not holds:
            numbers = {"kind": condition["kind"], "object": condition["object"], "reached": reached}
            yield BrokenRule(skill.end, "not_reached", {**skill.label, **numbers, "wanted": condition["value"]})


def missed_threshold(skill: JudgedSkill) -> Iterator[BrokenRule]:
    """Yields `not_reached` where the joint misses the skill's threshold at its end."""
    if not is_threshold_met(skill, skill.end):
        s, (reached, wanted) = skill.positions(), measure_displacement(skill, skill.end)
        numbers = {"reached": reached, "wanted": wanted, "s0": measurements.start_position(skill.entry, s)}
        numbers["s_end"] = float(s[skill.end])
        yield BrokenRule(skill.end, "not_reached", {**skill.label, "mode": skill.rule.success_mode, **numbers})


def is_threshold_met(skill: JudgedSkill, frame: int) -> bool:
    """Returns whether the joint meets the skill's threshold at a state frame."""
    reached, wanted = measure_displacement(skill, frame)
    return reached <= wanted if skill.rule.success_mode == "zero" else reached >= wanted


def measure_displacement(skill: JudgedSkill, frame: int) -> tuple[float, float]:
    """Returns what the skill's mode measures at a state frame, and its threshold [rad, m or share].

    Raises:
        RecordingError: The mode is unknown.
    """
    entry, mode, s = skill.entry, skill.rule.success_mode, skill.positions()
    s_closed, s_open = entry["s_closed"], entry["s_open"]
    s0, s_end = measurements.start_position(measurements.first_attempt(skill.record, entry), s), float(s[frame])
    if mode in ("abs", "dis_to_init"):
        reached = abs(s_end - s0)
    elif mode == "normal":
        reached = (s_end - s0) * math.copysign(1.0, s_open - s_closed)
    elif mode == "zero":
        reached = abs(s_end - s_closed)
    elif mode == "fraction":
        reached = abs(s_end - s0) / abs(s_open - s_closed)
    else:
        raise RecordingError(
            f"Skill {skill.index} has success_mode {mode!r}, expected abs, normal, zero, dis_to_init or fraction. "
            "The record is damaged or of a newer version.",
            success_mode=mode,
        )
    return reached, float(entry["success_threshold"])


ROOT = "root"
"""In place of the index of a joint: the position of a free object."""


def broken_goal_rules(record: EpisodeRecord, skills: Sequence[JudgedSkill]) -> Iterator[BrokenRule]:
    """Yields each condition of the goal that does not hold, and each joint that moved while the scene settled."""
    settle, conditions = record.settle, record.goal.get("conditions", [])
    if not conditions and not skills:
        yield BrokenRule(record.n_actions, "not_reached", {"reason": "the record names no skill and no goal"})
        return
    if settle is None:
        yield BrokenRule(record.n_actions, "unsettled", {"reason": "the record has no settling"})
        return
    start, end = (measurements.read_frame(settle, key, record.n_actions) for key in ("frame_start", "frame_end"))
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
    indices = ((entry["object"], entry.get("joint_index")) for entry in acted_on)
    for name, joint_index in sorted({(name, ROOT if at is None else at) for name, at in indices}, key=str):
        change = _changes(record, name, joint_index, start, end)
        joint = f"{name}.{joint_index}"
        allowed = settle.get("max_changes", {}).get(joint, settle["max_change"])
        above = np.flatnonzero(change > allowed)
        if above.size:
            evidence = {"object": name, "joint_index": joint_index, "change": float(change.max()), "allowed": allowed}
            yield BrokenRule(start + int(above[0]), "unsettled", evidence)


def recompute_goal_frame(record: EpisodeRecord) -> int | None:
    """Returns the first state frame of a policy's episode in which the goal had held for long enough, or None.

    Broken rules and missing contact do not count: only where the joints are, and that every skill of the chain began.
    """
    goal = record.goal
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
    for joint, allowed in record.goal["max_changes"].items():
        name, _, index = joint.rpartition(".")
        if not (_changes(record, name, index if index == ROOT else int(index), start, end) <= allowed).all():
            return False
    return True


def _changes(record: EpisodeRecord, name: str, joint: int | str, start: int, end: int) -> np.ndarray:
    """Returns how far a joint, or the root of a free object, is from where it was, in each state frame [rad or m]."""
    if joint == ROOT:
        positions = measurements.root_positions(record, name)[start : end + 1]
        return np.linalg.norm(positions - positions[0], axis=1)
    s = measurements.joint_positions(record, {"object": name, "joint_index": joint})[start : end + 1]
    return np.abs(s - s[0])


def goal_value(record: EpisodeRecord, condition: Mapping[str, Any], frame: int) -> tuple[float, bool]:
    """Returns what a condition measures at a state frame, and whether the condition holds there."""
    kind, wanted = condition["kind"], float(condition["value"])
    if kind in measurements.OBJECT_CONDITIONS:
        return measurements.object_value(record, condition, frame, 0)
    s = measurements.joint_positions(record, condition)
    moved = abs(float(s[frame]) - float(s[0]))
    if kind == "moved":
        return moved, moved >= wanted
    source = condition
    if condition.get("s_closed") is None or condition.get("s_open") is None:  # they are those of the skill on the joint
        joints = [(skill.get("object"), skill.get("joint_index")) for skill in record.skills]
        source = record.skills[joints.index((condition["object"], condition["joint_index"]))]
    s_closed, s_open = source["s_closed"], source["s_open"]
    if kind == "moved_fraction":
        share = moved / abs(s_open - s_closed)
        return share, share >= wanted
    if kind == "open_fraction":
        share = (float(s[frame]) - s_closed) / (s_open - s_closed)
        return share, share >= wanted
    if kind == "at_fraction":
        share = (float(s[frame]) - s_closed) / (s_open - s_closed)
        return share, abs(share - wanted) <= success_rules.AT_SHARE
    if kind == "within_closed":
        away = abs(float(s[frame]) - s_closed)
        return away, away <= wanted
    raise RecordingError(
        f"A goal condition has kind {kind!r}, expected moved, moved_fraction, open_fraction, at_fraction or "
        "within_closed. The record is damaged or of a newer version.",
        kind=kind,
    )
