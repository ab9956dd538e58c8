"""Recomputes success and failure code of an attempt from its arrays, by the criteria of its configuration or
its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unlatch.simcore.errors import shorten
from unlatch.simcore.recording.broken_rules import BrokenRule, JudgedSkill, broken_goal_rules, broken_skill_rules
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.episode_structure import CONFIGURATION, Table
from unlatch.simcore.recording.json_values import plain
from unlatch.simcore.recording.keys import STATE, kind_of
from unlatch.simcore.recording.measurements import read_frame
from unlatch.simcore.recording.success_rules import CODE_ORDER, FAILURE_CODES

TOLERANCE = 1e-9
"""Largest difference of a derived number of a data set that another machine made, absolute or relative: there, its last
digits may differ."""


class _Marker:
    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


ABSENT = _Marker("nothing")
"""As the value of a key: the record must not have the key."""
RECORDED = _Marker("a value")
"""As the value of a key: the record must have the key. The configuration does not determine its value."""
POSSIBLE = _Marker("a value or nothing")
"""As the value of a key: the record may have the key. The configuration determines neither that nor its value."""


def undetermined(table: Table) -> dict[str, Any]:
    """Returns `RECORDED`, or `POSSIBLE` for an optional key, for each key that the configuration does not determine."""
    others = {key: field for key, field in table.items() if field.source != CONFIGURATION}
    return {key: POSSIBLE if field.optional else RECORDED for key, field in others.items()}


@dataclass(frozen=True)
class Criteria:
    """Demands of a configuration on the record of one episode."""

    statements: Mapping[str, Any] = field(default_factory=dict)
    """Values that the record must state, nested and named as in `episode.json`. `skills` has one map for each entry of
    the record. A map of the record has no other keys than the map here. Keys of `episode.json` that are not here at all
    are free."""
    problems: tuple[str, ...] = ()
    """Other contradictions between record and configuration, and values that cannot be derived."""
    success_settle: Mapping[str, Any] = field(default_factory=dict)
    """The value of `settle` of an episode that succeeds in its last frame."""
    chain_length: int | None = None
    """Number of skills that must begin; None: not judged."""
    max_duration_s: float | None = None
    """Simulated time after which the episode fails [s]; None: the record decides."""
    targets_rest: bool = False
    """Whether the targets of all arms must not change while the scene settles."""
    tolerance: float = 0.0
    """Largest difference of a float, absolute or relative; integers are exact."""
    own_conditions: tuple[int, ...] = ()
    """Indices of the entries of `skills` whose class has a condition of its own, which only its code can judge."""

    def differences(self, record: EpisodeRecord, *, by: str = "the configuration") -> Iterator[str]:
        """Yields each statement of a record that differs: its key, the value in the record, and the expected one.

        `by` says in messages what determines the expected values.
        """
        for key, expected in self.statements.items():
            for where, got, wanted in _differences(key, expected, getattr(record, key), self.tolerance):
                yield f"{where} is {_show(got)} in the record, expected {_show(wanted)} by {by}."

    def apply_to(self, record: EpisodeRecord) -> EpisodeRecord:
        """Returns the record with the derived statements in place of its own."""
        return replace(record, **{key: _merge(value, getattr(record, key)) for key, value in self.statements.items()})


def _differences(where: str, expected: Any, got: Any, tolerance: float) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        for key in [*expected, *sorted(got.keys() - expected.keys())]:
            yield from _differences(f"{where}.{key}", expected.get(key, ABSENT), got.get(key, ABSENT), tolerance)
    elif isinstance(expected, list | tuple) and isinstance(got, list | tuple) and len(expected) == len(got):
        for index, value in enumerate(expected):
            yield from _differences(f"{where}[{index}]", value, got[index], tolerance)
    elif not _is_equal(expected, got, tolerance):
        yield where, got, expected


def _is_equal(expected: Any, got: Any, tolerance: float) -> bool:
    if isinstance(expected, _Marker) or isinstance(got, _Marker):
        return expected is got or expected is POSSIBLE or (expected is RECORDED and got is not ABSENT)
    a, b = plain(expected), plain(got)
    if tolerance and isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)
    is_number = isinstance(a, int | float) and isinstance(b, int | float)
    return a == b and (type(a) is type(b) or (is_number and not isinstance(a, bool) and not isinstance(b, bool)))


def _show(value: Any) -> str:
    if isinstance(value, _Marker):
        return repr(value)
    return shorten(repr(plain(value)), 160)


def _merge(expected: Any, got: Any) -> Any:
    """Returns a value of a record with derived parts in place of its own."""
    if expected is RECORDED or expected is POSSIBLE:
        return got
    if isinstance(expected, Mapping):
        recorded = got if isinstance(got, Mapping) else {}
        merged = {key: _merge(value, recorded.get(key, ABSENT)) for key, value in expected.items()}
        return {key: value for key, value in merged.items() if value is not ABSENT}
    if isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        return [_merge(value, got[index]) for index, value in enumerate(expected)]
    return expected


ABORT_CODES = frozenset(FAILURE_CODES) - {
    *("collision", "overload", "moved_object", "not_reached", "unsettled", "overspeed")
}
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
    aborts = [*_declared_abort(record, criteria), *_exceeded_time(record, skills, criteria)]
    broken = [*_non_finite_arrays(record), *aborts]
    limit = min((rule.frame for rule in aborts), default=record.n_actions + 1)
    results: list[bool | None] = []
    for skill in skills:
        found = list(broken_skill_rules(skill, skills, limit=limit))
        is_own = skill.index in criteria.own_conditions and skill.end_is_judged(limit) and not found
        if is_own and record.code == "not_reached" and skill.entry.get("success") is False:
            # only the code of its class knows whether the condition held: the record can say that it failed
            reason = {"reason": "a condition of the skill's own class"}
            found.append(BrokenRule(skill.end, "not_reached", {**skill.label, **reason}))
        broken += found
        results.append(_skill_result(skill, found, limit=limit))
    if not broken:
        reason = {"reason": "broken off and not attempted again"}
        cut_short = [each for each in skills if "attempt" in each.entry and each.ran and each.broken_off]
        left = [skill for skill in cut_short if not skill.is_repeated]
        broken = [BrokenRule(skill.end, "not_reached", {**skill.label, **reason}) for skill in left]
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
