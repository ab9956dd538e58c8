"""Presses a button and keeps it pressed while another arm moves what it frees, then lets go and steps back."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.objects.annotation import SPOT, Part
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.robots.description import RobotCfg
from unlatch.simcore.errors import ConfigError, SkillError
from unlatch.skills.close import Close
from unlatch.skills.commands import ManipCommand, ManipKind, Phase
from unlatch.skills.context import Failure
from unlatch.skills.skill import HoldingSkill
from unlatch.solver.plan import KeyframePlan


class HoldPressed(HoldingSkill, Close):
    """Success: fingers touched the button in every frame of the hold, contacts and speeds valid."""

    derived_as: ClassVar[str | None] = "close"

    def make_commands(self, plan: KeyframePlan) -> list[ManipCommand]:
        """See `Close.make_commands`; the hand waits between the press and the step back."""
        commands = super().make_commands(plan)
        place = next(index for index, command in enumerate(commands) if command.phase is Phase.retreat)
        pressed = commands[place - 1].T_base_ee
        hold = ManipCommand(ManipKind.close_gripper, pressed, Phase.hold, dwell_frames=1)
        return [*commands[:place], hold, *commands[place:]]

    @property
    def gripper_hold_m(self) -> float:
        """See `HoldingSkill.gripper_hold_m`: the fingers are closed."""
        return min(self.context.arm.cfg.gripper.widths_m, default=0.0)

    @property
    def q_hold(self) -> np.ndarray:
        """See `HoldingSkill.q_hold`.

        Raises:
            SkillError: It has no plan.
        """
        plan = self.keyframe_plan
        led = [] if plan is None or not plan.found else [each for each in plan.segments if each.kind == "follow"]
        if not led:
            raise SkillError(
                "Skill 'hold_pressed' has no plan that says where the arm presses. Call plan() first.",
                skill="hold_pressed",
            )
        return led[-1].q[-1]

    @property
    def positions_held(self) -> dict[str, float]:
        """See `HoldingSkill.positions_held`: the button is pressed to its stop."""
        return {self.part.joint: self.part.openness.closed}

    def check_frame(self) -> None:
        """See `Close.check_frame`; while it holds, a finger must stay on the button."""
        super().check_frame()
        if self.phase is Phase.hold and not self.is_touched:
            self.fail("slipped", f"No finger presses '{self.part.name}' of '{self.object_name}' any more", s=self.s)

    def unmet_condition(self) -> Failure | None:
        """See `Skill.unmet_condition`; without a plan, fingers on the button now are enough."""
        has_let_go = self._is_to_let_go and self.phase is not Phase.hold
        if has_let_go or (not self.commands and self.is_touched):
            return None
        return self.make_failure("not_reached", f"No finger presses '{self.part.name}' of '{self.object_name}'")


def arms_side_by_side(robot: RobotCfg, asset: ObjectAsset, part: Part, button: Part) -> tuple[str, str]:
    """Returns the arms that move a part and that press a button meanwhile: the one on the side of the button presses.

    The object faces the robot, so what lies on its left, as it is seen from the front, is on the left of the robot.

    Raises:
        ConfigError: The robot has one arm.
    """
    if len(robot.arms) < 2:
        raise ConfigError(
            f"'{part.name}' of '{asset.name}' moves only while '{button.name}' is pressed, and robot '{robot.name}' "
            "has one arm. Expected two: one presses, the other moves the part. Choose robot=dual_panda.",
            key="robot",
        )
    rest = asset.rest_positions

    def y_m(each: Part) -> float:
        return float((asset.model.link_pose(each.link, rest) @ each.keypoint(SPOT).xyz)[1])

    left, right = sorted(arm.name for arm in robot.arms[:2])
    return (left, right) if y_m(button) >= y_m(part) else (right, left)
