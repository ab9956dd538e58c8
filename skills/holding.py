"""Base class of skills that hold something while other arms of their stage act."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

import numpy as np

from unlatch.robots.description import GripperCfg
from unlatch.simcore.recording.success_rules import SuccessRule
from unlatch.skills.commands import Phase
from unlatch.skills.config import SkillCfg
from unlatch.skills.context import SkillContext
from unlatch.skills.skill import Skill


class HoldingSkill(Skill):
    """Holds while other skills of its stage act: they begin once it holds, and `let_go` is called when they are done.

    A subclass has one command of phase `hold`, which lasts until `let_go`, and writes `q_hold` and `gripper_hold_m`.
    """

    def __init__(self, cfg: SkillCfg, context: SkillContext) -> None:
        super().__init__(cfg, context)
        self._is_to_let_go = False

    @property
    @abstractmethod
    def q_hold(self) -> np.ndarray:
        """(n,) joints while it holds [rad]; read after `plan`."""

    @property
    @abstractmethod
    def gripper_hold_m(self) -> float:
        """Opening of the gripper while it holds [m]."""

    @property
    def positions_held(self) -> dict[str, float]:
        """Where it holds joints of its object, by joint [rad or m]; none, if it holds a fixed handle."""
        return {}

    @classmethod
    def declare_rule(cls, cfg: SkillCfg, gripper: GripperCfg) -> SuccessRule:
        """See `Skill.declare_rule`: the fingers touch what they hold; no joint is judged."""
        return replace(super().declare_rule(cfg, gripper), success_mode=None, holds=True)

    @property
    def is_holding(self) -> bool:
        """Whether it holds, so that others may begin."""
        return self.phase is Phase.hold and not self._failures

    def let_go(self) -> None:
        """Ends the hold: the others are done."""
        self._is_to_let_go = True

    @property
    def has_skipped(self) -> bool:
        """Whether `skip_to_hold` was called."""
        return bool(self.commands) and self.commands[0].phase is Phase.hold

    def skip_to_hold(self) -> None:
        """Drops the commands before the hold, for a search that places the arm there."""
        phases = [command.phase for command in self.commands]
        self.commands = self.commands[phases.index(Phase.hold) :]

    def is_subtask_done(self) -> bool:
        """See `Skill.is_subtask_done`; the hold is done after `let_go`."""
        return super().is_subtask_done() and (self.phase is not Phase.hold or self._is_to_let_go)


def moves_part(skill: type[Skill]) -> bool:
    """Returns whether a kind of skill leads a part to a threshold: it has a success mode and does not only hold."""
    return bool(skill.success_modes) and not issubclass(skill, HoldingSkill)
