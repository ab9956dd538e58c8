"""Base class of skills that grasp a part: the fingers close on it, lead it along its joint, and let go, in several
turns where the wrist must.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unlatch.objects.annotation import HandleType, Part, PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.robots.description import GripperCfg
from unlatch.skills.articulation import LED_SHARE, ArticulationSkill
from unlatch.skills.commands import JointMotion, ManipCommand, ManipKind, Phase
from unlatch.skills.config import SkillCfg
from unlatch.skills.context import SkillContext
from unlatch.solver.plan import LEAST_TURN_RAD, KeyframePlan, PlanBudget, TurningPlan
from unlatch.solver.planner import plan_keyframes
from unlatch.solver.scene import Slip
from unlatch.solver.setting import PlannerSettingCfg, SuccessMode

if TYPE_CHECKING:
    from unlatch.skills.dragging import Press


Array = np.ndarray

_ONE_HOLD_RAD = 1.0
"""Largest angle that `open` always leads in one hold [rad]: by default, it leads knobs and levers by 0.75 rad."""


def needs_turns(kind: PartKind, way_rad: float) -> bool:
    """Returns whether a part that opens by an angle may need several turns: a cap, a knob, a wheel or a lever."""
    return kind.turns_in_hand and way_rad > _ONE_HOLD_RAD


_FINGER_GAP_M = 0.001
"""Smallest gap between a knob and either finger on the approach: the arm is accurate to half a millimetre."""
EMPTY_GRIPPER_M = 0.002
"""Fingers with a smaller opening hold nothing [m]."""
_LOST_S = 0.5
"""A part that should move without a finger on it for this time has slipped."""
_MEETS_S = 2.0
"""The same for closed fingers, which hook or push: they start slowly, up to 10 mm away from the part. A corner of
leaning fingertips can also push the part ahead, and they meet it again later."""
_STAYS_AFTER = 0.5
"""A part that fingers hold must have followed the hand when this share of its path is over, ..."""
_STAYS_SHARE = 0.1
"""... by this share of it."""
_SLOW_SHARE = 0.3
"""Speed of fingers that close slowly, as a share of their largest."""
_OVERSHOOT = 1.2
_HOOKED_SPEED = {True: 0.075, False: 0.25}
"""Speed of a hooked part: sliders (True) [m/s], others [rad/s]; half the planner's own speed. A hook cannot brake: the
part runs ahead of it until friction stops it. At half the speed it runs for a quarter of the way."""
_SNAP_S = 2.0
"""Time in which a rocker would be led through its range. It snaps over within 0.1 to 0.2 s, a fifth of the time in
which it is led to the middle at the speed of a hook."""


class GraspingSkill(ArticulationSkill):
    """Grasps a part, leads it along its joint, lets go and steps back."""

    finger_contact_required: ClassVar[bool] = True
    """The fingers lead the part, they do not throw it."""
    regrasps_slowly: ClassVar[bool] = False
    """Whether the fingers close slowly on what is not round in every turn after the first. The part is then up to 0.04
    rad behind where the plan has it, and fast pads would throw a blade into line at more than 5 rad/s."""

    def __init__(self, cfg: SkillCfg, context: SkillContext) -> None:
        super().__init__(cfg, context)
        self._lost_frames = 0
        self._follow_index: int | None = None
        self._has_met = False
        self._pressed_place = np.zeros(3)

    @property
    @abstractmethod
    def slips(self) -> tuple[Slip, ...] | None:
        """See `ArticulationSkill.slips`; each skill that grasps states its own."""

    def plan(self, rng: np.random.Generator) -> bool:
        """See `Skill.plan`; fails at once for a knob that is too wide for the fingers."""
        if self.cfg.planner_setting.drags:
            return self._plan_drag(rng)
        is_elsewhere = self.closed_gripper or self.cfg.planner_setting.keypoint_shifts
        if not is_elsewhere and self.held_part().handle.type is HandleType.knob:
            wide_m = float(min(self.held_part().handle.size[1:]))
            opening_m = self.context.arm.cfg.gripper.max_width_m
            if wide_m + 2.0 * _FINGER_GAP_M > opening_m:
                self.fail(
                    "plan_infeasible",
                    f"The hand is too small for '{self.part.name}'. Take another robot or a smaller object. The part "
                    f"is {1e3 * wide_m:.0f} mm across where it is narrowest, the hand opens by "
                    f"{1e3 * opening_m:.0f} mm",
                    width_m=wide_m,
                    opening_m=opening_m,
                )
                return False
        return super().plan(rng)

    def _plan_drag(self, rng: np.random.Generator) -> bool:
        """See `plan`; fails if the fingers or the motors are too weak to press as hard as friction needs."""
        from unlatch.skills.dragging import find_weak_joint

        press, hand = self._choose_press(), self.context.arm.cfg.gripper
        if not press.is_enough:
            self.fail(
                "plan_infeasible",
                f"Friction cannot drag '{self.part.name}'. The fingertips would press with {press.needed_n:.0f} N, and "
                f"may press with {press.most_n:.0f} N, half of what a finger bears "
                f"({hand.finger_force_limit_n:.0f} N). Add a handle, or lower the friction of the joint",
                needed_n=press.needed_n,
                most_n=press.most_n,
            )
            return False
        if not super().plan(rng):
            return False
        weak = None if self.keyframe_plan is None else find_weak_joint(self, self.keyframe_plan, press)
        if weak is None:
            return True
        self.commands = []
        self.fail(
            "plan_infeasible",
            f"Joint '{weak}' is too weak to press on '{self.part.name}' with {press.force_n:.0f} N in this pose. Take "
            "another layout, or lower the friction of the part",
            joint=weak,
            force_n=press.force_n,
        )
        return False

    def _choose_press(self) -> Press:
        """Returns how hard the fingertips press; see `choose_press`."""
        from unlatch.skills.dragging import press_of_setting

        gripper, opens = self.context.arm.cfg.gripper, self.opens is not False
        return press_of_setting(self.object.asset, self.part, self.cfg.planner_setting, gripper, opens=opens)

    @classmethod
    def declare_press(cls, cfg: SkillCfg, asset: ObjectAsset, part: Part | None, gripper: GripperCfg) -> float | None:
        """See `Skill.declare_press`: the force with which fingertips drag the part."""
        if part is None or not cfg.planner_setting.drags:
            return None
        from unlatch.skills.dragging import press_of_setting

        return press_of_setting(asset, part, cfg.planner_setting, gripper, opens=cls.opens is not False).force_n

    def default_target(self) -> float:
        """Returns a position a fifth beyond the threshold: it makes up for slip of the grasp and lag of the arm."""
        setting, openness = self.cfg.planner_setting, self.part.openness
        wanted = float(setting.success_threshold) * (
            openness.span if self.success_mode is SuccessMode.fraction else 1.0
        )
        target = self.s0 + openness.sign * _OVERSHOOT * wanted
        limit = openness.position(LED_SHARE * openness.span)
        return min(target, limit) if openness.sign > 0 else max(target, limit)

    @property
    def closed_gripper(self) -> bool:
        """See `Skill.closed_gripper`: fingers that stay closed on the approach hook the part."""
        return self.approach_width_m <= 0.0

    @property
    def part_speed(self) -> float | None:
        """See `ArticulationSkill.part_speed`."""
        if not self.closed_gripper:
            return None
        speed = _HOOKED_SPEED[self.object.body.joint(self.part.joint).prismatic]
        articulation = self.object.asset.articulation
        if self.part.moves_little and articulation.mechanisms:
            from unlatch.skills.mechanism_steps import click_openings

            if click_openings(articulation, self.part):
                speed = min(speed, self.part.openness.span / _SNAP_S)
        return speed

    def make_commands(self, plan: KeyframePlan) -> list[ManipCommand]:
        """See `ArticulationSkill.make_commands`; a part that is turned in several turns is grasped in each."""
        if self.cfg.planner_setting.drags:
            from unlatch.skills.dragging import drag_commands

            plans = [turn.plan for turn in plan.turns] if isinstance(plan, TurningPlan) else [plan]
            return [command for each in plans for command in drag_commands(self, each, self._choose_press())]
        if isinstance(plan, TurningPlan):
            from unlatch.skills.strategies.open_close import is_round

            settings = self._settings_by_strategy
            return [
                command
                for number, turn in enumerate(plan.turns)
                for command in self._grasp_and_lead(
                    turn.plan,
                    self._approach_width_of(settings[turn.strategy]),
                    slowly=self.regrasps_slowly and number > 0 and not is_round(self.part),
                )
            ]
        if self.closed_gripper:
            return self.closed_gripper_commands(plan)
        return self._grasp_and_lead(plan, self.approach_width_m)

    def _plan_turns(
        self, rng: np.random.Generator, *, least_rad: float = LEAST_TURN_RAD, budget: PlanBudget | None = None
    ) -> TurningPlan:
        """Returns a plan that turns the part in as many turns as the wrist needs; each has its own grasp.

        Each turn has the given budget, or else that of the skill, and is at least `least_rad` [rad].
        """
        settings, budget = self._settings_by_strategy, budget or self.context.budget

        def plan_turn(strategy: str, s: float, q: Array, to: float) -> KeyframePlan:
            request = self.request(s=s, q_current=q, follow_to=to, setting=settings[strategy])
            return plan_keyframes(replace(request, budget=budget), self.context.checker, rng)

        q = self.context.arm.q_target
        from unlatch.skills.turning import plan_turns

        return plan_turns(plan_turn, list(settings), s=self.s, q=q, target_s=self.follow_to, least_rad=least_rad)

    @property
    def _settings_by_strategy(self) -> dict[str, PlannerSettingCfg]:
        """The planner settings by strategy, in the order in which they are tried.

        Strategies with closed fingers, or with listed motions, do not mix with those that grasp and follow the joint.
        """
        others = {
            item.name: item.planner_setting
            for item in self.cfg.strategies
            if (self._approach_width_of(item.planner_setting) <= 0.0) == self.closed_gripper
            and item.planner_setting.drags == self.cfg.planner_setting.drags
            and item.planner_setting.follow_joint is not None
        }
        return {self.cfg.strategy: self.cfg.planner_setting, **others}

    def _grasp_and_lead(self, plan: KeyframePlan, width_m: float, *, slowly: bool = False) -> list[ManipCommand]:
        """Returns the commands to grasp the part with fingers open by `width_m` [m], lead it, and let go."""
        led = self.motion_commands(plan, "follow", ManipKind.close_gripper, Phase.follow)
        commands = self.grasp_commands(plan, width_m, held=led, T_base_release=plan.keyframes[-1].T_base_ee)
        if not slowly:
            return commands
        contact, speed_m_s = plan.keyframes[plan.contact_pose_index], self.context.arm.cfg.gripper.max_speed_m_s
        count = self.context.frames(0.5 * width_m / (_SLOW_SHARE * speed_m_s))
        motion = JointMotion(np.tile(contact.q, (count, 1)), gripper_m=np.linspace(width_m, 0.0, count))
        closing = ManipCommand(ManipKind.close_gripper, contact.T_base_ee, Phase.grasp, motion=motion)
        grasp = next(index for index, command in enumerate(commands) if command.phase is Phase.grasp)
        return [*commands[:grasp], closing, *commands[grasp:]]

    def check_frame(self) -> None:
        """Checks while the part is led that the fingers have grasped it, and then that they keep touching it."""
        if self.phase is not Phase.follow:
            return
        if self.cfg.planner_setting.drags:
            self._check_drag()
            return
        self._check_held()
        self._check_follows()
        if not self._failures:
            self.lead_on()

    def _count_contact(self, *, touching: bool) -> bool:
        """Counts the frames without a finger on the part; returns whether this one is the first in which it is led."""
        is_first = self._follow_index != self.executor.index
        self._follow_index = self.executor.index
        self._has_met = touching or (self._has_met and not is_first)
        self._lost_frames = 0 if touching else 1 if is_first else self._lost_frames + 1
        return is_first

    def _check_held(self) -> None:
        """Checks that the fingers have grasped the part, and then that they keep touching it."""
        s, expected, touching = self.s, self.executor.expected_s, self.is_touched
        if self._count_contact(touching=touching) and not self.closed_gripper and not self.extensions:
            self._check_grasp(touching=touching)
        not_met_yet = self.closed_gripper and not self._has_met
        is_empty = not self.closed_gripper and self.context.arm.gripper_opening_m < EMPTY_GRIPPER_M
        lost_s = 0.0 if is_empty else _MEETS_S if self.closed_gripper else _LOST_S
        if touching or self._lost_frames < self.context.frames(lost_s):
            return
        if not_met_yet:
            code, message = "grasp_missed", f"The hooking fingers did not meet '{self.part.name}' in {_MEETS_S:g} s"
        else:
            wanted = self.follow_to if expected is None else expected
            message = f"The fingers lost '{self.held_part().name}' at joint position {s:.3f} (should be {wanted:.3f})"
            message += self.describe_held()
            code = "slipped"
        if self.extensions and self.unmet_condition() is None:  # what an extension adds is not needed
            self.executor.end_motion()
            return
        self.fail(code, message, s=s, expected=expected, frames_without_contact=self._lost_frames)

    def _check_follows(self) -> None:
        """Checks that the held part follows the hand: one that stays where it is will not move later."""
        expected = self.executor.expected_s
        if self.closed_gripper or expected is None or self.extensions or self.is_led_again():
            return
        led, moved, way = abs(expected - self.s0), abs(self.s - self.s0), abs(self.follow_to - self.s0)
        if led < _STAYS_AFTER * way or moved > _STAYS_SHARE * led:
            return
        message = f"'{self.part.name}' does not follow the hand: it is at joint position {self.s:.3f}"
        message += f" (should be {expected:.3f}){self.describe_held()}"
        self.fail("slipped", message, s=self.s, expected=expected)

    def _check_drag(self) -> None:
        """Checks that the fingertips touch the face that they drag, and stay at their spot on it."""
        from unlatch.skills.dragging import LIFTED_S, MOST_SLID_M, fingertips_on_part, slide_on_face

        place = fingertips_on_part(self)
        if self._count_contact(touching=self.is_touched):
            self._pressed_place = place
        slid_m = slide_on_face(self.cfg.planner_setting, place - self._pressed_place)
        evidence = {"s": self.s, "expected": self.executor.expected_s, "slid_m": slid_m}
        if self._lost_frames >= self.context.frames(LIFTED_S):
            code, what = ("slipped", "left") if self._has_met else ("grasp_missed", "did not meet")
            message = f"The fingertips {what} the face of '{self.part.name}' that they drag"
            self.fail(code, message, **evidence, frames_without_contact=self._lost_frames)
        elif slid_m > MOST_SLID_M:
            message = (
                f"The fingertips slid by {1e3 * slid_m:.0f} mm on the face of '{self.part.name}', expected at most "
                f"{1e3 * MOST_SLID_M:.0f} mm"
            )
            self.fail("slipped", message, **evidence, allowed_m=MOST_SLID_M)

    def _check_grasp(self, *, touching: bool) -> None:
        opening = self.context.arm.gripper_opening_m
        if opening < EMPTY_GRIPPER_M or not touching:
            self.fail(
                "grasp_missed",
                f"The fingers closed to {1e3 * opening:.1f} mm and hold nothing of '{self.part.name}'",
                gripper_opening_m=opening,
                touching=touching,
            )
