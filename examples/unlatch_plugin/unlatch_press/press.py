"""Presses a part to its end, keeps it pressed for a while, and moves back.

`close` pushes a part and moves back at once. A switch, a stapler or the lever of a toaster needs a finger that stays
until the part latches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unlatch import ConfigError
from unlatch.skills import Close, Failure, ManipCommand, ManipKind, Phase, SkillCfg, SkillContext
from unlatch.solver import KeyframePlan

_LEAST_SHARE = 0.8
"""Smallest share of the waiting frames in which the part must be pressed."""


@dataclass
class PressCfg(SkillCfg):
    """An entry of `skills` with `name: press`."""

    hold_s: float = 0.5
    """How long the finger keeps the part pressed [s]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.1 <= self.hold_s <= 10.0:
            raise ConfigError(
                f"skills[{self.name}].hold_s={self.hold_s} is out of range. Expected 0.1 to 10 s. Change it.",
                key="hold_s",
            )


class Press(Close):
    """Succeeds like `close`, if a finger also keeps the part pressed while the hand waits."""

    cfg_type: ClassVar[type[SkillCfg]] = PressCfg
    derived_as: ClassVar[str | None] = "close"

    def __init__(self, cfg: PressCfg, context: SkillContext) -> None:
        super().__init__(cfg, context)
        self._hold_frames = context.frames(cfg.hold_s)
        self._hold: ManipCommand | None = None
        self._pressed: list[bool] = []

    def make_commands(self, plan: KeyframePlan) -> list[ManipCommand]:
        """Returns the commands of `close` with a wait at the end of the push, or before the fingers let go."""
        commands = super().make_commands(plan)
        end = next(i for i, command in enumerate(commands) if command.phase in (Phase.release, Phase.retreat))
        self._hold = ManipCommand(
            ManipKind.close_gripper, commands[end - 1].T_base_ee, Phase.follow, dwell_frames=self._hold_frames
        )
        return [*commands[:end], self._hold, *commands[end:]]

    def unmet_condition(self) -> Failure | None:
        """Returns the unmet condition of `close`, or the part of the wait that is still missing.

        If a policy moves the arm, the skill was not started, and only the position of the part counts.
        """
        missing = super().unmet_condition()
        if missing is None and self.is_started and len(self._pressed) < self._hold_frames:
            return self.make_failure(
                "not_reached",
                f"'{self.part.name}' was kept pressed for {len(self._pressed)} of {self._hold_frames} frames",
                frames=len(self._pressed),
                wanted=self._hold_frames,
            )
        return missing

    def check_frame(self) -> None:
        """Counts the frames in which the part is pressed, and judges them after the last one."""
        if self.executor.current is not self._hold:
            return
        touching = float(np.asarray(self.views.fingers_link.force_max_n.get_value())) > 0.0
        self._pressed.append(touching and super().unmet_condition() is None)
        if len(self._pressed) == self._hold_frames and sum(self._pressed) < _LEAST_SHARE * self._hold_frames:
            self.fail(
                "slipped",
                f"'{self.part.name}' was kept pressed in {sum(self._pressed)} of {self._hold_frames} frames; expected "
                f"at least {_LEAST_SHARE:.0%}",
                pressed_frames=sum(self._pressed),
                frames=self._hold_frames,
            )
