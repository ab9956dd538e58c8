"""Drags a part by friction: closed fingertips press on a face with a chosen force and lead it along its joint.

The arms are impedance-controlled: joint torques follow `K (q_target - q)`. To press at the fingertips with a force F,
the targets are therefore off the planned joints by `K^-1 J^T F`, where J is the Jacobian of the fingertips. In
equilibrium, the joints are those of the plan, and the force is F. It has two parts: the press into the face, and the
load along the face that keeps the part moving. Without the second one, the arm would lag behind its part, and as its
joints are coupled, it would also press less: by 32 of 48 N in one pose of a Panda that drags 20 N. A face that is a
millimetre off changes the force by the stiffness of the arm at its fingertips, 0.8 to 6 N/mm for a Panda.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unlatch.objects.annotation import SPOT, Part
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.closing_force_values import lever_m
from unlatch.objects.friction import OBJECT_FRICTION
from unlatch.robots.description import GripperCfg
from unlatch.simcore.geometry import unit
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.commands import JointMotion, ManipCommand, ManipKind, Phase
from unlatch.skills.gripping import SAFETY_FACTOR, joint_load, steady_load
from unlatch.solver.plan import KeyframePlan, Segment
from unlatch.solver.scene import ArmModel
from unlatch.solver.setting import PlannerSettingCfg

Array = np.ndarray

LEAST_PRESS_N = 15.0
"""Smallest force with which fingertips press: with less, errors of a centimetre would lift them off [N]."""
_LIMIT_SHARE = 0.5
"""Largest such force as a share of the force that a finger may bear: a leaning hand presses with one of its fingers."""
_LEAST_SAFETY = 1.3
"""Smallest factor of the friction on the load. Below it, the fingertips would slip."""
_EFFORT_SHARE = 0.5
"""Largest share of the torque of a motor that a press may take."""
_RAMP_S = 0.5
"""Time in which the force of a press rises, and in which it falls."""
LIFTED_S = 0.2
"""Fingertips that do not touch their face for this time have left it."""
MOST_SLID_M = 0.015
"""Fingertips that slid farther on their face have slipped."""


@dataclass(frozen=True)
class Press:
    """The force with which fingertips press on a face."""

    force_n: float
    """Along the inward normal of the face [N]."""
    needed_n: float
    """What drags the part with the smallest safety factor [N]."""
    most_n: float
    """Largest force with which the hand may press [N]."""
    along_n: float = 0.0
    """Force along the face that keeps the part moving [N]."""

    @property
    def is_enough(self) -> bool:
        """Whether the fingertips can press hard enough."""
        return self.needed_n <= self.most_n


def choose_press(gripper: GripperCfg, load_n: float) -> Press:
    """Returns the force with which fingertips press to drag a load by friction.

    One contact presses: its friction `friction * force` carries `SAFETY_FACTOR` times the load, the force along the
    face that moves the part [N]. It carries less, down to `_LEAST_SAFETY` times, where the hand would else press harder
    than its fingers bear. The friction of a contact is the product of the pads' and `OBJECT_FRICTION`.
    """
    friction, most_n = gripper.friction * OBJECT_FRICTION, _LIMIT_SHARE * gripper.finger_force_limit_n
    wanted = max(LEAST_PRESS_N, SAFETY_FACTOR * load_n / friction)
    return Press(min(wanted, most_n), _LEAST_SAFETY * load_n / friction, most_n)


def press_of_setting(
    asset: ObjectAsset, part: Part, setting: PlannerSettingCfg, gripper: GripperCfg, *, opens: bool
) -> Press:
    """Returns the force with which fingertips press to drag a part as a setting says; see `choose_press`."""
    point = part.keypoint(SPOT).xyz + np.array(setting.keypoint_shifts.get(SPOT, (0.0, 0.0, 0.0)))
    along_n = steady_load(asset, part, opens=opens) / _lever_of(asset, part, point)
    return replace(choose_press(gripper, drag_load(asset, part, point, opens=opens)), along_n=along_n)


def drag_load(asset: ObjectAsset, part: Part, point: Array, *, opens: bool) -> float:
    """Returns the force along the face at a point (3,) of the part's link that moves the part [N]."""
    lever = _lever_of(asset, part, point)
    peak_n = part.peak_opening_force_n if opens else part.peak_closing_force_n
    if peak_n > 0.0:  # catch and gasket are stated at the handle
        peak_n *= lever_m(asset.model, part, part.keypoint("articulated_object_head").xyz) / lever
    return joint_load(asset, part) / lever + peak_n


def _lever_of(asset: ObjectAsset, part: Part, point: Array) -> float:
    return max(lever_m(asset.model, part, point), 1e-3)


def press_torques(arm: ArmModel, q: Array, forces: Array) -> Array:
    """Returns (T, n) joint torques with which the fingertips press [N m].

    They are at joints q (T, n) [rad], and have forces (T, 3) on the face, base frame [N].
    """
    tip = arm.tool_keypoints["tool_tip"]
    torques = []
    for joints, force in zip(q, forces, strict=True):
        J = arm.kinematics.jacobian(joints)
        reach = arm.kinematics.pose(joints).R @ tip  # from the ee origin, of which J is the Jacobian
        torques.append(J[:3].T @ force + J[3:].T @ np.cross(reach, force))
    return np.array(torques)


def find_weak_joint(skill: ArticulationSkill, plan: KeyframePlan, press: Press) -> str | None:
    """Returns a joint whose motor is too weak for the press of a plan; None: all are strong enough."""
    cfg = skill.context.arm.cfg
    torques = [
        press_torques(skill.context.arm_model, segment.q, _press_forces(skill, segment, press))
        for segment in plan.segments
        if segment.kind == "follow"
    ]
    shares = np.abs(np.concatenate(torques)).max(axis=0) / np.array(cfg.max_effort)
    worst = int(np.argmax(shares))
    return cfg.joints[worst] if shares[worst] > _EFFORT_SHARE else None


def drag_commands(skill: ArticulationSkill, plan: KeyframePlan, press: Press) -> list[ManipCommand]:
    """Returns the commands to approach a face, press on it, drag the part, let go and step back."""
    arm, close = skill.context.arm_model, ManipKind.close_gripper
    stiffness = np.array(skill.context.arm.cfg.stiffness)
    frames = skill.context.frames(_RAMP_S)
    x = np.arange(1, frames + 1)[:, None] / frames
    ramp = x * x * (3.0 - 2.0 * x)  # (F, 1), from near 0 to 1, slowly at both ends
    touches_already = not any(segment.kind == "approach" for segment in plan.segments)
    pressing: list[ManipCommand] = []
    for segment in plan.segments:
        if segment.kind != "follow":
            continue
        offsets = press_torques(arm, segment.q, _press_forces(skill, segment, press)) / stiffness
        first, last, end = segment.q[0], segment.q[-1], segment.T_base_ee_end
        T_first = arm.kinematics.pose(first)
        rise = np.ones_like(ramp) if touches_already else ramp
        pressing += [
            ManipCommand(close, T_first, Phase.grasp, motion=JointMotion(first + rise * offsets[0])),
            ManipCommand(close, end, Phase.follow, motion=JointMotion(segment.q + offsets, s=segment.s)),
            ManipCommand(close, end, Phase.release, motion=JointMotion(last + (1.0 - ramp) * offsets[-1])),
        ]
    commands = skill.closed_gripper_commands(plan)
    led = [index for index, command in enumerate(commands) if command.phase is Phase.follow]
    return [*commands[: led[0]], *pressing, *commands[led[-1] + 1 :]]


def fingertips_on_part(skill: ArticulationSkill) -> Array:
    """Returns the (3,) place of the fingertips now, frame of the part's link [m]."""
    arm, model = skill.context.arm, skill.context.arm_model
    T_world_ee = arm.T_world_base @ model.kinematics.pose(arm.q_read)
    T_world_link = skill.object.seen_frames(skill.part.name)["link"]
    return T_world_link.inverse() @ (T_world_ee @ model.tool_keypoints["tool_tip"])


def slide_on_face(setting: PlannerSettingCfg, moved: Array) -> float:
    """Returns how far fingertips slid along the face that they press on, from their motion (3,) on the part [m]."""
    inward = unit(np.array(setting.press_direction))
    return float(np.linalg.norm(moved - inward * float(moved @ inward)))


def _press_forces(skill: ArticulationSkill, segment: Segment, press: Press) -> Array:
    """Returns the (T, 3) forces on the face along a segment, base frame [N]: into the face, and along the motion."""
    scene = skill.snapshot()
    inward = scene.R_base_link @ unit(np.array(skill.cfg.planner_setting.press_direction))
    if segment.s is None:
        return np.tile(press.force_n * inward, (len(segment.q), 1))
    joint, spot = scene.joint, scene.keypoint(SPOT)
    along = joint.axis if joint.prismatic else unit(np.cross(joint.axis, spot - joint.origin))
    force = press.force_n * inward + press.along_n * np.sign(segment.s[-1] - segment.s[0]) * along
    return np.array([joint.motion(float(s) - scene.s)[0] @ force for s in segment.s])
