"""What moves the arms in an episode: the planner, a policy, a policy and then the planner, or a record."""

from __future__ import annotations

from enum import Enum

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.recording.episode import EpisodeRecord

TAKEOVER = "takeover"
"""Name of the event at which the planner takes over from a policy."""


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
