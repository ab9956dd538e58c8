"""What the skills of a frame are doing, as the record has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from unlatch.skills.contract.command import Phase
from unlatch.workflows.episode.judge import Judge


class Doing(NamedTuple):
    """What the skill of one arm is doing in a frame."""

    phase: Phase
    """What the arm is doing."""
    command_index: int
    """Which of the skill's commands it is carrying out."""


def stage_values(judge: Judge, doing: Mapping[str, Doing], arms: Sequence[str]) -> dict[str, Any]:
    """The `skills` and `validity` of a state, by record key.

    Of a robot with several arms each has keys of its own; those without an arm are then of the skill that began last.

    Args:
        judge: The judge of the episode.
        doing: What each arm that acts does.
        arms: Names of the robot's arms.
    """
    stages = judge.stages
    place = {id(stage): index for index, stage in enumerate(stages)}
    acting = {stage.arm: place[id(stage)] for stage in judge.current}
    last = doing.get(stages[-1].arm, _IDLE) if stages else _IDLE
    values: dict[str, Any] = _of("skills", len(stages) - 1, last)
    for arm in arms if len(arms) > 1 else ():
        values.update(_of(f"skills.{arm}", acting.get(arm, -1), doing.get(arm, _IDLE)))
    values["validity.collision_valid"] = np.bool_(all(stage.collision_valid for stage in judge.current))
    values["validity.process_valid"] = np.bool_(all(stage.process_valid for stage in judge.current))
    return values


def _of(prefix: str, index: int, doing: Doing) -> dict[str, Any]:
    return {
        f"{prefix}.index": np.int64(index),
        f"{prefix}.command_index": np.int64(doing.command_index),
        f"{prefix}.phase": np.int64(doing.phase.value),
    }


_IDLE = Doing(Phase.idle, -1)
