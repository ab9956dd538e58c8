"""Recomputes success and failure code of an attempt from its arrays; `unlatch check` uses it.

`success_rules` states the rule of success. Its thresholds, limits and switches are the `Criteria` that `unlatch check`
derives from the configuration of the data set. Without criteria they are those that the record states: each entry of
`skills` carries the `SuccessRule` of its skill. This module names no skill and shares no code with the judge of a
running episode. Frames are state frames; row f of actions, contacts and speeds lies between the states f and f + 1.

Each broken rule has a state frame. The failure code is that of the earliest broken rule. If several rules break at
one frame, it is the code that comes first in `FAILURE_CODES`.

- `collision`: a force of `fingers_base`, `forbid_collision` or `environment` above the skill's
  `contact_force_threshold_n`, or one of `other_objects` of a bystander. Also `force_sustained_n` of `furniture` or
  `other_objects` above that of the row before the first skill by more than `scene_force_threshold_n`. `overload`:
  `fingers.force_sustained_n` of the skill's arm above `finger_force_limit_n`. `overspeed`: a joint above 5 rad/s or 5
  m/s. Frame: the state after the row. Each row belongs to the skill that began last, so settling belongs to the last
  skill; rows before the first skill (the scene comes to rest) are not judged. If arms act at the same time (one
  `stage`), a row belongs to the last skill of each arm. The contact views of an arm then count for its own skill only.
- `grasp_missed`, `slipped` (where `finger_contact_required`): the fingers touched the moving part in no row of the
  skill, or in less than 80 % of the rows in which its joint moved. `not_reached`: the joint misses the threshold of the
  skill's mode. Frame: the skill's `frame_end`.
- `not_reached` (where `goes_home`): a joint of the skill's arm is farther than 0.03 rad or m from where it was at state
  0, or faster than 0.05 rad/s or m/s. Frame: the skill's `frame_end`.
- `grasp_missed` (where `holds`): the skill has no row of the phase `hold`. Frame: the skill's `frame_end`. `slipped`
  (where `holds`): in such a row no finger is on the link, or in another row the part of a concurrent skill moves.
  Frame: the state after the row.
- `not_reached`: a condition of the goal does not hold when settling begins. `unsettled`: it holds then and not at the
  end, or an acted-on joint moved by more than `max_change` in between. Frame: when settling began, its end, or the
  frame of the change.
- `diverged`: a value is not finite. Frame: the first such frame.
- With criteria also: `timeout`: the time is over. Frame: the first after `max_duration_s`. `not_reached`: a skill of
  the chain never began. Frame: the last. `unsettled`: the targets of an arm change while the scene settles, where they
  must not. Frame: the state before the change.
- A skill that was attempted several times has an entry for each attempt. Those that were broken off are not judged by
  the conditions of their end, and `not_reached` is the code if no other attempt follows. The displacement of the last
  one counts from the start of the first one.
- Codes that arrays cannot show (`ABORT_CODES`) are taken from the record, at frame `evidence["frame"]` or at its end.
  The attempt was stopped there: ends of skills at or after that frame, and the goal, are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unlatch.simcore.recording.codes import CODE_ORDER, FAILURE_CODES
from unlatch.simcore.recording.criteria import Criteria
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.goal_verdict import broken_goal_rules, check_conditions
from unlatch.simcore.recording.keys import STATE, kind_of
from unlatch.simcore.recording.measurements import read_frame
from unlatch.simcore.recording.skill_verdict import BrokenRule, JudgedSkill, broken_skill_rules

ABORT_CODES = frozenset(FAILURE_CODES) - {"collision", "overload", "not_reached", "unsettled", "overspeed"}
"""Codes of attempts that may be stopped early for a reason that the arrays do not show."""


AMBIGUOUS_ABORT = "motion_blocked"
"""An arm may be found to be blocked in the very frame in which its episode would succeed."""


@dataclass(frozen=True)
class Verdict:
    """Success or failure of an attempt, judged from its record."""

    success: bool
    """Whether every skill succeeded and the goal lasted."""
    code: str | None
    """The code of the earliest broken rule; None on success."""
    evidence: dict[str, Any]
    """The numbers behind the code."""
    skills: tuple[bool | None, ...]
    """Success of each skill at its own end; None where the attempt ended before it could be judged."""


def recompute_success(record: EpisodeRecord, criteria: Criteria | None = None) -> Verdict:
    """Judges an attempt again, from its arrays.

    Args:
        record: The record, with its arrays.
        criteria: What the configuration says of the episode; None: thresholds and limits are those of the record.

    Raises:
        RecordingError: The record lacks what a judgement needs.
    """
    record = record if criteria is None else criteria.apply_to(record)
    criteria = criteria or Criteria()
    skills = [JudgedSkill.read(record, index) for index in range(len(record.skills))]
    check_conditions(record)
    aborts = [*_declared_abort(record, criteria), *_exceeded_time(record, skills, criteria)]
    broken = [*_non_finite_arrays(record), *aborts]
    limit = min((rule.frame for rule in aborts), default=record.n_actions + 1)
    results: list[bool | None] = []
    for skill in skills:
        found = list(broken_skill_rules(skill, skills, limit=limit))
        if skill.index in criteria.own_conditions and not found and skill.end_is_judged(limit):
            found += _claimed_condition(record, skill)
        broken += found
        results.append(_skill_result(skill, found, limit=limit))
    if not broken:
        broken += _unrepeated_attempts(skills)
    if not aborts and (record.settle is not None or not broken):
        broken += broken_goal_rules(record, skills)
        broken += _moving_targets(record) if criteria.targets_rest else ()
    begun = {skill.entry.get("entry", skill.index) for skill in skills if skill.ran}
    if not broken and len(begun) < (criteria.chain_length or 0):
        reason = {"reason": f"skills of the chain that began: {len(begun)}, expected {criteria.chain_length}"}
        broken = [BrokenRule(record.n_actions, "not_reached", reason)]
    if not broken:
        reason = {"reason": "the skill never ran"}
        idle = [skill for skill in skills if not skill.ran]
        broken = [BrokenRule(record.n_actions, "not_reached", {**skill.label, **reason}) for skill in idle]
    if not broken:
        return Verdict(success=True, code=None, evidence={}, skills=tuple(results))
    first = min(broken, key=lambda rule: (rule.frame, CODE_ORDER[rule.code]))
    evidence = {"frame": first.frame, **first.evidence}
    return Verdict(success=False, code=first.code, evidence=evidence, skills=tuple(results))


def _claimed_condition(record: EpisodeRecord, skill: JudgedSkill) -> Iterator[BrokenRule]:
    """Yields `not_reached` where a record claims it for a skill with a condition of its own; a success never counts."""
    if not record.success and record.code == "not_reached" and skill.entry.get("success") is False:
        yield BrokenRule(skill.end, "not_reached", {**skill.label, "reason": "a condition of the skill's own class"})


def contradicts_success(record: EpisodeRecord, criteria: Criteria) -> bool:
    """Returns whether an attempt that was stopped for a reason that arrays do not show would have succeeded by then.

    The judge takes an attempt as a success as soon as every rule holds, so that nothing can stop it after that.

    Raises:
        RecordingError: The record lacks what a judgement needs.
    """
    if record.code not in ABORT_CODES - {AMBIGUOUS_ABORT} or not record.arrays or not criteria.success_settle:
        return False
    claimed = replace(record, success=True, code=None, settle=dict(criteria.success_settle))
    return recompute_success(claimed, criteria).success


def _unrepeated_attempts(skills: list[JudgedSkill]) -> Iterator[BrokenRule]:
    """Yields `not_reached` for attempts that were broken off and that no other attempt follows."""
    for skill in skills:
        if "attempt" in skill.entry and skill.ran and skill.broken_off and not skill.is_repeated:
            yield BrokenRule(skill.end, "not_reached", {**skill.label, "reason": "broken off and not attempted again"})


def _skill_result(skill: JudgedSkill, found: list[BrokenRule], *, limit: int) -> bool | None:
    if not skill.ran:
        return None
    if any(rule.frame <= skill.end for rule in found):
        return False
    if skill.broken_off:
        return None
    return True if skill.end < limit else None


def _declared_abort(record: EpisodeRecord, criteria: Criteria) -> Iterator[BrokenRule]:
    is_derived = record.code == "timeout" and criteria.max_duration_s is not None
    if record.code not in ABORT_CODES or is_derived:
        return
    frame = record.evidence.get("frame")
    if isinstance(frame, bool) or not isinstance(frame, int) or frame not in range(record.n_actions):
        frame = record.n_actions
    yield BrokenRule(frame, str(record.code), dict(record.evidence))


def _exceeded_time(record: EpisodeRecord, skills: list[JudgedSkill], criteria: Criteria) -> Iterator[BrokenRule]:
    """Yields `timeout` at the first state after the time limit; before the first skill nothing is judged."""
    if criteria.max_duration_s is None or "time" not in record.arrays:
        return
    late = np.flatnonzero(record.arrays["time"] > criteria.max_duration_s)
    if late.size and any(skill.ran for skill in skills):
        yield BrokenRule(int(late[0]), "timeout", {"allowed_s": criteria.max_duration_s})


def _moving_targets(record: EpisodeRecord) -> Iterator[BrokenRule]:
    """Yields `unsettled` where the targets of an arm change while the scene settles."""
    if record.settle is None:
        return
    start, end = (read_frame(record.settle, key, record.n_actions) for key in ("frame_start", "frame_end"))
    for key, targets in sorted(record.arrays.items()):
        if key.startswith("actions.") and key.endswith((".joint_targets", ".gripper_target")):
            changes = np.flatnonzero((np.diff(targets[start:end], axis=0) != 0.0).any(axis=1))
            if changes.size:
                yield BrokenRule(start + int(changes[0]) + 1, "unsettled", {"key": key, "reason": "targets change"})


def _non_finite_arrays(record: EpisodeRecord) -> Iterator[BrokenRule]:
    for key, array in sorted(record.arrays.items()):
        if array.dtype.kind != "f" or np.isfinite(array).all():
            continue
        bad = ~np.isfinite(array).reshape(len(array), -1).all(axis=1)
        row = int(np.argmax(bad))
        yield BrokenRule(row if kind_of(key) == STATE else row + 1, "diverged", {"key": key})
