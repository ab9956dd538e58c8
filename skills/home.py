"""Moves an arm from where it is to its home joints; the gripper stays as it is, with what it holds."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import ClassVar

import numpy as np

from unlatch.robots.description import GripperCfg
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.success_rules import MAX_AWAY_FROM_HOME, MAX_SPEED_AT_HOME, SuccessRule
from unlatch.skills.carrying import CARRYING_PACE, InHandSkill
from unlatch.skills.commands import JointMotion, ManipCommand, ManipKind, Phase
from unlatch.skills.config import HomeCfg, SkillCfg
from unlatch.skills.context import Failure
from unlatch.solver.joint_transit import plan_to_joints

Array = np.ndarray

_STILL_S = 0.2
"""Time at the end for which the targets rest, so that the arm comes to a stop [s]."""


class Home(InHandSkill):
    """Success: the arm is at its home and stands still, contacts and speeds are valid."""

    cfg_type: ClassVar[type[SkillCfg]] = HomeCfg

    @classmethod
    def declare_rule(cls, cfg: SkillCfg, gripper: GripperCfg) -> SuccessRule:
        """See `Skill.declare_rule`."""
        return replace(super().declare_rule(cfg, gripper), goes_home=True)

    @property
    def q_home(self) -> Array:
        """(n,) joints of the arm at the start of the episode [rad]."""
        return np.array([self.context.robot_model.home[joint] for joint in self.context.arm.cfg.joints])

    @property
    def is_held(self) -> bool:
        """Whether the hand has the object: a finger presses it, or it is between the fingers, as in a search."""
        if not self.object.free:
            return False
        if float(np.asarray(self.views.fingers_link.force_max_n.get_value())) > 0.0:
            return True
        head = self.T_ee_object.inverse() @ np.array(self.context.arm.cfg.keypoints["tool_head"])
        low, high = self.object.asset.bounds_obj
        return bool(np.all(head >= low) and np.all(head <= high))

    @property
    def is_carrying(self) -> bool:
        """See `InHandSkill.is_carrying`."""
        return self._carries and self.phase is Phase.transit

    _carries = False
    """Whether the hand had the object when the way was planned."""

    def plan(self, rng: np.random.Generator) -> bool:
        """See `Skill.plan`: a straight line of the joints if it is free, else a way around obstacles."""
        context, arm, self._carries = self.context, self.context.arm, self.is_held
        self.load_checker()
        # a context in which the object in the hand moves with it
        with self.context.checker.carried_from(self.context.arm.q_target) if self._carries else nullcontext():
            plan = plan_to_joints(
                arm.q_target,
                self.q_home,
                context.checker,
                rng,
                arm=context.arm_model,
                frame_s=context.frame_s,
                gripper_m=arm.gripper_opening_m,
                budget=context.budget,
                pace=CARRYING_PACE if self._carries else 1.0,
            )
        if not plan.found:
            self.refuse(plan)
            return False
        self.keyframe_plan, (way,) = plan, plan.segments
        q = np.vstack([way.q, np.repeat(way.q[-1:], context.frames(_STILL_S), axis=0)])
        self.commands = [ManipCommand(ManipKind.joint_ctrl, way.T_base_ee_end, Phase.transit, motion=JointMotion(q))]
        return True

    def predicted_poses(self) -> Mapping[str, Pose]:
        """See `Skill.predicted_poses`: what the hand holds moves with it."""
        if not self._carries:
            return {}
        T_base_home: Pose = self.context.arm_model.kinematics.pose(self.q_home)
        return {self.object_name: self.context.arm.T_world_base @ T_base_home @ self.T_ee_object}

    def unmet_condition(self) -> Failure | None:
        """See `Skill.unmet_condition`: a joint is away from its home, or the arm moves."""
        arm = self.context.arm
        away = float(np.abs(arm.joint_positions.get_value() - self.q_home).max())
        # in the precision of the record, from which the verdict is computed again
        speed = float(np.abs(np.asarray(arm.joint_velocities.get_value(), dtype=np.float32)).max())
        if away <= MAX_AWAY_FROM_HOME and speed <= MAX_SPEED_AT_HOME:
            return None
        return self.make_failure(
            "not_reached",
            f"The arm is not at rest at its home: {away:.3f} rad away, allowed {MAX_AWAY_FROM_HOME:g}, and "
            f"{speed:.3f} rad/s fast, allowed {MAX_SPEED_AT_HOME:g}",
            away=away,
            speed=speed,
        )
