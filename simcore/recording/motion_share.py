"""Computes how far a policy led the parts of a chain, as a share of what was asked, from the record alone."""

from __future__ import annotations

import math

from unlatch.simcore.recording.broken_rules import JudgedSkill, goal_value, measure_displacement
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.measurements import first_attempt, read_frame, start_position
from unlatch.simcore.recording.success_rules import AT_SHARE
from unlatch.simcore.rng import sum_in_order


def compute_motion_share(record: EpisodeRecord) -> float | None:
    """Returns the mean share of the asked motion over the skills of a chain that move a part, 0 to 1.

    The share of one skill is `(s_end - s_start) / (s_asked - s_start)`, clipped to 0 and 1: `s_start` is where the part
    was when the skill began, and `s_asked` the nearest position that meets its threshold. `s_end` is where the part is
    at the end of the episode, or at the end of the skill if a later skill moves the same part. A skill that has not
    begun counts as 0. Once every skill has begun, a condition of the goal that asks more of the part than the last
    skill on it counts in its place.

    The idea is that of the normalized opening of ArticuBot (Wang et al. 2025), for all skills and chains. Broken rules
    do not count.

    Returns:
        The mean; None if the record does not say how many skills move a part.
    """
    goal = record.goal
    if "chain_motions" not in goal:
        return None
    skills = [JudgedSkill.read(record, index) for index in range(len(record.skills))]
    begun = list({skill.entry.get("entry", skill.index): skill for skill in skills if skill.ran}.values())
    moving = [skill for skill in begun if skill.rule.success_mode is not None]
    if not moving or not record.arrays:
        return 0.0
    last = {_joint_of(skill): skill for skill in moving}
    all_begun = len(begun) >= goal["chain_length"]
    shares = []
    for skill in moving:
        is_last = last[_joint_of(skill)] is skill
        share = _share_of_threshold(skill, record.n_actions if is_last else skill.end)
        if is_last and all_begun:
            share = min([share, *_shares_of_conditions(skill)])
        shares.append(share)
    return sum_in_order(shares) / max(goal["chain_motions"], len(moving))


def _joint_of(skill: JudgedSkill) -> tuple[str, int]:
    return skill.entry["object"], skill.entry["joint_index"]


def _share_of_threshold(skill: JudgedSkill, frame: int) -> float:
    """Returns how far a part is at a state frame on its way to the threshold of a skill."""
    value, wanted = measure_displacement(skill, frame)
    if skill.rule.success_mode != "zero":
        return _share_moved(value, wanted)
    s0 = start_position(first_attempt(skill.record, skill.entry), skill.positions())
    return _share_approached(value, wanted, start=abs(s0 - skill.entry["s_closed"]))


def _shares_of_conditions(skill: JudgedSkill) -> list[float]:
    """Returns how far the part of a skill is at the end on its way to each condition of the goal on its joint."""
    record, found = skill.record, []
    start_frame = read_frame(first_attempt(record, skill.entry), "frame_start", record.n_actions)
    for condition in record.goal.get("conditions", []):
        if (condition["object"], condition.get("joint_index")) != _joint_of(skill):
            continue
        wanted, (value, _) = float(condition["value"]), goal_value(record, condition, record.n_actions)
        if condition["kind"] == "within_closed":
            found.append(_share_approached(value, wanted, start=goal_value(record, condition, start_frame)[0]))
        elif condition["kind"] == "at_fraction":
            away = abs(wanted - goal_value(record, condition, start_frame)[0])
            found.append(_share_approached(abs(wanted - value), AT_SHARE, start=away))
        elif condition["kind"] == "open_fraction":
            missing = wanted - goal_value(record, condition, start_frame)[0]
            found.append(_share_approached(wanted - value, 0.0, start=missing))
        else:
            found.append(_share_moved(value, wanted))
    return found


def _share_moved(moved: float, wanted: float) -> float:
    """Returns a displacement as a share of the wanted one, clipped to 0 and 1; 0 if it is not finite."""
    if not math.isfinite(moved) or wanted <= 0.0:
        return float(moved >= wanted)
    return min(max(moved / wanted, 0.0), 1.0)


def _share_approached(distance: float, allowed: float, *, start: float) -> float:
    """Returns how much of the way from the distance `start` to an allowed distance is done, clipped to 0 and 1.

    If the start is within the allowed distance, it is 1 while the part is there, else 0.
    """
    if not math.isfinite(distance) or start <= allowed:
        return float(distance <= allowed)
    return min(max((start - distance) / (start - allowed), 0.0), 1.0)
