"""What each arm is doing in a frame, as the record has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from unlatch.skills.contract.command import Phase
from unlatch.workflows.episode.judge import Judge


class ArmStatus(NamedTuple):
    """What the skill of one arm is doing in a frame."""

    phase: Phase
    """What the arm is doing."""
    command_index: int
    """Which of the skill's commands it carries out."""


_IDLE = ArmStatus(Phase.idle, -1)


def status_values(judge: Judge, statuses: Mapping[str, ArmStatus], arms: Sequence[str]) -> dict[str, Any]:
    """Returns the `skills` and `validity` of a state, by record key.

    Each arm of a robot with several arms has keys of its own; the keys without an arm then describe the skill that
    began last.
    """
    runs = judge.runs
    place = {id(run): index for index, run in enumerate(runs)}
    acting = {run.arm: place[id(run)] for run in judge.current}
    last = statuses.get(runs[-1].arm, _IDLE) if runs else _IDLE
    values = _arm_values("skills", len(runs) - 1, last)
    for arm in arms if len(arms) > 1 else ():
        values.update(_arm_values(f"skills.{arm}", acting.get(arm, -1), statuses.get(arm, _IDLE)))
    values["validity.collision_valid"] = np.bool_(all(run.collision_valid for run in judge.current))
    values["validity.process_valid"] = np.bool_(all(run.process_valid for run in judge.current))
    return values


def _arm_values(prefix: str, index: int, status: ArmStatus) -> dict[str, Any]:
    return {
        f"{prefix}.index": np.int64(index),
        f"{prefix}.command_index": np.int64(status.command_index),
        f"{prefix}.phase": np.int64(status.phase.value),
    }
