"""Opens the hand, steps straight back and waits until all is at rest: what comes before a skill is planned anew."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.carrying import CarryingSkill
from unlatch.skills.contract.command import JointMotion, ManipCommand, ManipKind, Phase
from unlatch.skills.contract.execution import CommandExecutor
from unlatch.skills.contract.failure import Failure
from unlatch.skills.contract.skill import Skill
from unlatch.solver.planning.clearance import Clearance
from unlatch.solver.planning.step_back import plan_step_back
from unlatch.solver.planning.timing import time_path

Array = np.ndarray

_DISTANCE_M = 0.10
"""How far the hand steps back, as after a skill that succeeds."""
_RELEASE_S = 0.4
"""Time to open the fingers."""
_LAG_RAD = 0.02
"""An arm that is farther from its targets is first given targets where it is, so that it stops pressing."""
_YIELD_SPEED_SCALE = 0.3
_NEAR_M = 0.02
"""A hand that is nearer to something than this steps back before the skill is planned [m]."""
_BRAKE_S = 0.27
"""Time in which a moving arm comes to rest on its way."""
_REST_S = 2.0
"""Longest time to wait until the part rests."""
_REST_SPEED = {True: 0.005, False: 0.02}
"""Speed below which a part rests: sliders (True) [m/s], others [rad/s]."""
_OBJECT_REST_M_S, _OBJECT_REST_RAD_S = 0.005, 0.1
"""Speeds below which a free object rests."""

RepeatableSkill: TypeAlias = ArticulationSkill | CarryingSkill
"""A skill that may be planned anew after it was broken off."""


class StepBack(Skill):
    """Takes the hand of a skill that was broken off away from its part or object; no condition of its own judges it."""

    def __init__(self, broken: RepeatableSkill, *, begun: StepBack | None = None) -> None:
        """Makes it for a skill that has ended. A hand that was in transit is not at the part: it only brakes.

        `begun` has braked and found the part near the hand; this one steps back from there.
        """
        super().__init__(broken.cfg, broken.context)
        self._broken = broken
        self._stops: CommandExecutor | None = broken.executor if begun is None else None
        self._ended_in = broken.executor.last_phase if begun is None else Phase.approach
        self._waited = 0

    def plan(self, rng: np.random.Generator) -> bool:
        """See `Skill.plan`; fails where the way straight back is blocked."""
        del rng
        arm, model = self.context.arm, self.context.arm_model
        frames = self.context.frames
        braking = np.zeros((0, model.n_q)) if self._stops is None else self._stops.braking_path(frames(_BRAKE_S))
        is_lagging = not len(braking) and float(np.abs(arm.q_read - arm.q_target).max()) > _LAG_RAD
        q = braking[-1] if len(braking) else arm.q_read if is_lagging else arm.q_target
        width_m, T_base_ee = self._width_m, model.kinematics.pose(q)
        if len(braking):
            motion = JointMotion(braking, gripper_m=arm.gripper_target_m)
            self.commands.append(ManipCommand(ManipKind.joint_ctrl, T_base_ee, self._ended_in, motion=motion))
        if self._ended_in is Phase.transit:
            self._wait_at(T_base_ee)
            return True
        back = self._plan_way(q)
        if back is None:
            self.fail("motion_blocked", f"The hand cannot step back from '{self._thing}'")
            return False
        if is_lagging:
            relief, _ = time_path(
                np.vstack([arm.q_target, q]), model, dt=self.context.frame_s, speed_scale=_YIELD_SPEED_SCALE
            )
            motion = JointMotion(relief, gripper_m=arm.gripper_target_m)
            self.commands.append(ManipCommand(ManipKind.joint_ctrl, T_base_ee, Phase.release, motion=motion))
        if width_m > arm.gripper_target_m:
            self.commands.append(
                ManipCommand(
                    ManipKind.open_gripper,
                    T_base_ee,
                    Phase.release,
                    dwell_frames=frames(_RELEASE_S),
                    params={"width_m": width_m},
                )
            )
        motion = JointMotion(back, gripper_m=width_m)
        T_base_end = model.kinematics.pose(back[-1])
        self.commands.append(ManipCommand(ManipKind.joint_ctrl, T_base_end, Phase.retreat, motion=motion))
        self._wait_at(T_base_end)
        return True

    def _wait_at(self, T_base_ee: Pose) -> None:
        """Adds a command that waits until the part rests."""
        closes = self.context.arm.gripper_target_m <= 0.0 if self._ended_in is Phase.transit else self._width_m <= 0.0
        kind = ManipKind.close_gripper if closes else ManipKind.open_gripper
        width_m = self.context.arm.gripper_target_m if self._ended_in is Phase.transit else self._width_m
        self.commands.append(ManipCommand(kind, T_base_ee, Phase.retreat, dwell_frames=1, params={"width_m": width_m}))

    @property
    def only_brakes(self) -> bool:
        """Whether the hand stays where the arm comes to rest, with its fingers as they are."""
        return self._ended_in is Phase.transit

    def further(self) -> StepBack | None:
        """Returns the step back that follows where this one only braked and the part came near the hand meanwhile."""
        return StepBack(self._broken, begun=self) if self.only_brakes and self.is_near(self._broken) else None

    @property
    def _thing(self) -> str:
        broken = self._broken
        return broken.part.name if isinstance(broken, ArticulationSkill) else broken.object_name

    @staticmethod
    def is_near(broken: RepeatableSkill) -> bool:
        """Returns whether the hand of a skill is so near to something that it steps back before it is planned."""
        broken.load_checker()
        arm, checker = broken.context.arm, broken.context.checker
        s, gripper = _joint_position(broken), arm.gripper_target_m
        return checker.deepest_collision(arm.q_target, s=s, gripper=gripper, clearance_m=_NEAR_M) is not None

    def _plan_way(self, q: Array) -> Array | None:
        broken = self._broken
        broken.load_checker()
        s = _joint_position(broken)
        if isinstance(broken, ArticulationSkill):
            links = broken.request().contact_links
        else:
            links = tuple(sorted({link for _, link in broken.finger_pairs()}))
        clearance = Clearance(
            self.context.checker,
            contact_links=links,
            s0=s,
            gripper_m=self._width_m,
            held_gripper_m=self._width_m,
        )
        return plan_step_back(
            q, self.context.arm_model, clearance, s=s, distance_m=_DISTANCE_M, frame_s=self.context.frame_s
        )

    @property
    def _width_m(self) -> float:
        """Opening of the fingers on the way back [m]: that of the approach, or what lets go of an object."""
        broken = self._broken
        if isinstance(broken, CarryingSkill):
            return broken.release_width_m
        return 0.0 if broken.closed_gripper else broken.approach_width_m

    def is_subtask_done(self) -> bool:
        """See `Skill.is_subtask_done`; the last command also waits for the part."""
        if not super().is_subtask_done():
            return False
        if self.executor.index < len(self.commands) - 1:
            return True
        self._waited += 1
        return self._is_part_at_rest() or self._waited >= self.context.frames(_REST_S)

    def _is_part_at_rest(self) -> bool:
        body = self._broken.object.body
        if isinstance(self._broken, CarryingSkill):
            linear, angular = (float(np.linalg.norm(each)) for each in body.root_velocity())
            return linear < _OBJECT_REST_M_S and angular < _OBJECT_REST_RAD_S
        joint = self._broken.part.joint
        _, speed, _ = body.joint_states([joint])
        return abs(float(speed[0])) < _REST_SPEED[body.joint(joint).prismatic]

    def unmet_condition(self) -> Failure | None:
        """See `Skill.unmet_condition`: it has none."""
        return None


def _joint_position(broken: RepeatableSkill) -> float:
    """Returns the joint position of the part of a skill [rad or m]; 0 for a skill that carries: nothing is led."""
    return broken.snapshot().s if isinstance(broken, ArticulationSkill) else 0.0
