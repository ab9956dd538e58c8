"""The motion that a skill still has to carry out, for the planner of another arm."""

from __future__ import annotations

import numpy as np

from unlatch.simcore.sim.sweep import PlannedMotion
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.contract.command import ManipKind
from unlatch.skills.contract.skill import Skill
from unlatch.skills.holding import HoldingSkill


def planned_motion(skill: Skill) -> PlannedMotion:
    """Returns the motion that a planned skill still has to carry out, from where its arm and part are now."""
    arm = skill.context.arm
    commands = skill.commands[skill.executor.index :]
    motions = [command.motion for command in commands if command.motion is not None and len(command.motion)]
    widths = [arm.gripper_opening_m, arm.gripper_target_m]
    widths += [float(np.max(motion.gripper_m)) for motion in motions if motion.gripper_m is not None]
    if any(command.kind is ManipKind.open_gripper and command.motion is None for command in commands):
        widths.append(arm.cfg.gripper.max_width_m)
    obstacle, joint, s = None, None, np.zeros(0)
    if isinstance(skill, ArticulationSkill) and not isinstance(skill, HoldingSkill):
        obstacle, joint = skill.object_name, skill.part.joint
        limits = skill.object.body.joint(joint)
        led = [motion.s for motion in motions if motion.s is not None]
        s = np.clip(np.concatenate([[skill.s], *led]), limits.lower, limits.upper)
    return PlannedMotion(
        links=frozenset((*arm.cfg.forbidden_links, *arm.cfg.gripper.finger_links)),
        joints=tuple(arm.cfg.joints),
        q=np.concatenate([arm.q[None], *(motion.q for motion in motions)]),
        fingers=dict(zip(arm.cfg.gripper.joints, arm.cfg.gripper.positions(max(widths)), strict=True)),
        obstacle=obstacle,
        joint=joint,
        s=s,
    )
