"""How far an episode came, from its record alone: the part at its end, the share of the asked motion, the stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from unlatch.simcore.recording.episode import EpisodeRecord

STRICT_SHARE = 0.9
"""Share of the range that the strict rule asks for: the part of a success is in the last tenth of its way."""


def end_share(skill: Mapping[str, Any]) -> float:
    """Returns where a part ends on its way: from closed to open or, if it ends nearer to closed, from open to closed.

    A skill whose rule is the distance from closed (mode `zero`) moves its part from open to closed in any case.

    Args:
        skill: The entry of a skill in a record that succeeded. A skill that moves no part counts as 1.
    """
    if skill.get("success_mode") is None:
        return 1.0
    s_closed, s_end = skill["s_closed"], skill["s_end"]
    share = (s_end - s_closed) / (skill["s_open"] - s_closed)
    closes = skill["success_mode"] == "zero" or abs(s_end - s_closed) < abs(skill["s0"] - s_closed)
    return float(1.0 - share if closes else share)


STAGES: dict[str, str] = {
    "never_touched": "The fingers never touched the part.",
    "touched": "The fingers touched the part, and it did not move.",
    "moved": "The part moved, but not as far as asked.",
    "reached": "The part was where it should be, but it did not stay there.",
    "goal": "The goal was reached.",
}
"""Stages of an episode of a policy, and what an episode that came no further looks like."""
VIOLATIONS = ("collision", "overload", "moved_object", "overspeed")
"""Codes of the rules that a policy can break while its episode goes on."""


@dataclass(frozen=True)
class PolicyOutcome:
    """The result of one episode of a policy."""

    goal_reached: bool
    """Whether the goal was reached, whatever rules were broken."""
    goal_s: float | None
    """Simulated time at which the goal had been held for the settling period [s]; None: it was not reached."""
    clean_s: float | None
    """The same for a success, in which no rule was broken [s]; None: it was none."""
    stage: str
    """The last of the `STAGES` that the episode reached."""
    violation_stage: str | None
    """The stage in which a forbidden contact, an overload or an overspeed came first; None: there was none."""
    share: float | None = None
    """How far the parts are at the end on the way to where the chain asks them to be, 0 to 1, see
    `compute_motion_share`; None: the record does not say."""

    @classmethod
    def of(cls, record: EpisodeRecord) -> PolicyOutcome | None:
        """Returns the outcome of an episode of a policy that went on after broken rules; None for any other."""
        if "reached" not in record.goal or not record.arrays:
            return None if "reached" not in record.goal else cls(False, None, None, "never_touched", None, 0.0)
        from unlatch.simcore.recording.motion_share import compute_motion_share

        frame = record.goal["reached_frame"]
        violated = record.evidence.get("frame") if record.code in VIOLATIONS else None
        return cls(
            goal_reached=record.goal["reached"],
            goal_s=None if frame is None else float(record.arrays["time"][frame]),
            clean_s=float(record.arrays["time"][record.settle["frame_end"]])
            if record.success and record.settle
            else None,
            stage=_find_stage(record, record.n_actions),
            violation_stage=None if violated is None else _find_stage(record, violated),
            share=compute_motion_share(record),
        )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any] | None) -> PolicyOutcome | None:
        """Reads the outcome from a line of an index.

        Raises:
            TypeError, ValueError: The line is damaged.
        """
        if values is None:
            return None
        found = cls(**values)
        if found.stage not in STAGES or found.violation_stage not in (None, *STAGES):
            raise ValueError(f"Unknown stage in {values}.")
        if found.share is not None and not 0.0 <= found.share <= 1.0:
            raise ValueError(f"share={found.share} is not from 0 to 1 in {values}.")
        return found


def _find_stage(record: EpisodeRecord, frame: int) -> str:
    """Returns the last stage up to a state frame; in a chain, that of the skill that had begun last."""
    from unlatch.simcore.recording.broken_rules import JudgedSkill, is_threshold_met
    from unlatch.simcore.recording.measurements import joint_positions, touching_rows

    reached_frame = record.goal["reached_frame"]
    if reached_frame is not None and reached_frame <= frame:
        return "goal"
    skills = [JudgedSkill.read(record, index) for index in range(len(record.skills))]
    begun = [skill for skill in skills if skill.ran and skill.start <= frame and skill.rule.success_mode is not None]
    if not begun:
        return "never_touched"
    skill = begun[-1]
    end = min(frame, skill.end)
    if any(is_threshold_met(skill, at) for at in range(skill.start, end + 1)):
        return "reached"
    s = joint_positions(record, skill.entry)[skill.start : end + 1]
    joint = f"{skill.entry['object']}.{skill.entry['joint_index']}"
    if np.abs(s - s[0]).max() > record.goal["max_changes"].get(joint, 0.0):
        return "moved"
    return "touched" if touching_rows(record, skill.entry, skill.start, end).any() else "never_touched"
