"""Who moves the arms of an episode, and what it is judged by: the table of criteria, from configuration and objects.

Two programs use it and judge with separate code: the judge of the running episode (`judge`), and the check of a record
(`unlatch.workflows.checks`), which hands it to the verdict that is recomputed from the record's arrays. Names,
thresholds and units are stated in `unlatch.simcore.recording.success_rules`; the rule of a skill is declared by its
class (`Skill.declare_rule`, `declare_conditions`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.success_rules import MAX_SETTLE_CHANGE_M, MAX_SETTLE_CHANGE_RAD, MAX_SETTLE_SHARE
from unlatch.simcore.urdf.model import movable_joints
from unlatch.skills.catalog import SKILLS
from unlatch.skills.skill import moves_part
from unlatch.tasks.task import TaskCfg

TAKEOVER = "takeover"
"""Name of the event at which the planner takes over from a policy."""
ANSWER_LOST = "answer_lost"
"""Name of the event at which an answer of a policy server is lost."""


class Actor(Enum):
    """What moves the arms. It decides which arrays the record has beside those of every episode."""

    planner = "planner"
    policy = "policy"
    both = "both"
    """A policy acts first, then the planner. The header of the data set does not name the policy."""
    record = "record"
    """The actions of a recorded episode are repeated."""

    def records_labels(self, cfg: EpisodeCfg) -> bool:
        """Returns whether the record has the planner's own targets beside the executed ones."""
        return self is Actor.both or (self is Actor.planner and cfg.disturb.moves_targets)

    def may_push(self, cfg: EpisodeCfg) -> bool:
        """Returns whether parts may be pushed from outside; the record then has the efforts."""
        return self is Actor.planner and cfg.disturb.nudge_probability > 0.0


def find_actor(record: EpisodeRecord, *, is_evaluation: bool) -> Actor:
    """Returns what moves the arms in a record; `is_evaluation` says whether its data set evaluates a policy.

    In other sets, `both` is read from the record: from the event of the takeover or from labels that no planner gave.
    An episode that ended before the takeover may have neither; its arms then carry out no command.
    """
    if is_evaluation:
        return Actor.policy
    valid = [array for key, array in record.arrays.items() if key.startswith("labels.") and key.endswith(".valid")]
    took_over = any(event.get("event") == TAKEOVER for event in record.events)
    if took_over or not all(array.all() for array in valid):
        return Actor.both
    is_idle = not (record.arrays.get("skills.command_index", np.zeros(0)) >= 0).any()
    has_run = any(entry["frame_end"] != entry["frame_start"] for entry in record.skills)
    return Actor.both if valid and is_idle and has_run else Actor.planner


def takeover_frame(record: EpisodeRecord) -> int:
    """Returns the state frame at which the planner takes over from a policy; T + 1 if it does not."""
    frames = (event["frame"] for event in record.events if event["event"] == TAKEOVER)
    return next(frames, record.n_actions + 1)


ROOT = "root"
"""In place of the index of a joint in keys of `max_changes`: the position of a free object."""


@dataclass(frozen=True)
class PolicyRules:
    """How an episode is judged in which a policy moves the arms."""

    arms_may_move: bool = True
    """Whether the episode may succeed while the targets of the arms still change."""
    end_at_violation: bool = True
    """Whether the first broken rule ends the episode; else it goes on until the goal is reached or the time is over."""

    @classmethod
    def of(cls, evaluation: Mapping[str, Any]) -> PolicyRules:
        """Reads the rules from `evaluate` of a data set's header."""
        return cls(evaluation.get("success_when") != "still", bool(evaluation.get("end_at_violation", True)))


def goal_conditions(task: TaskCfg, assets: Mapping[str, ObjectAsset]) -> list[dict[str, Any]]:
    """Returns the conditions of a task's goal as plain values, as `goal.conditions` of a record has them."""
    found = []
    for goal in task.goal:
        if goal.condition is not None:
            found.append(goal.condition.describe(assets))
            continue
        asset = assets[goal.object]
        part = asset.articulation.part(goal.part or "")
        found.append(
            {
                "object": goal.object,
                "part": goal.part,
                "joint_index": movable_joints(asset.model).index(part.joint),
                "kind": goal.kind.value,
                "value": goal.threshold,
                "s_closed": part.openness.closed,
                "s_open": part.openness.open,
            }
        )
    return found


def goal_rules(cfg: EpisodeCfg) -> dict[str, int]:
    """Returns by which numbers the goal of a policy's episode is judged that goes on after a broken rule."""
    return {
        "hold_frames": settle_frames(cfg),
        "chain_length": len(cfg.skills),
        "chain_motions": sum(moves_part(SKILLS.load(skill.name)) for skill in cfg.skills),
    }


def settle_frames(cfg: EpisodeCfg) -> int:
    """Returns the number of record frames for which the goal must hold and the parts must rest."""
    return round(cfg.task.settle_s * cfg.world.record_hz)


def settle_limits(assets: Mapping[str, ObjectAsset], acted_on: Iterable[tuple[str, int | None]]) -> dict[str, float]:
    """Returns how far what was acted on may move while the scene settles [rad or m], as `max_changes` has it.

    Args:
        assets: The objects by name.
        acted_on: Object and index of the joint; in place of the index, None for the position of a free object.

    Returns:
        The limits by `<object>.<index of the joint>`, and `<object>.root` for the position.
    """
    return {
        f"{name}.{ROOT if joint is None else joint}": settle_limit(assets[name], joint)
        for name, joint in sorted(set(acted_on), key=str)
    }


def settle_limit(asset: ObjectAsset, joint_index: int | None) -> float:
    """Returns how far a joint, or with None the position of a free object, may move while the scene settles [rad or m].

    If its part moves little, the limit is a share of the range of the part.
    """
    if joint_index is None:
        return MAX_SETTLE_CHANGE_M
    joint = asset.model.joints[movable_joints(asset.model)[joint_index]]
    limits = [MAX_SETTLE_CHANGE_M if joint.kind == "prismatic" else MAX_SETTLE_CHANGE_RAD]
    for part in asset.articulation.parts.values():
        if part.joint == joint.name and part.moves_little:
            limits.append(MAX_SETTLE_SHARE * abs(part.openness.open - part.openness.closed))
    return min(limits)
