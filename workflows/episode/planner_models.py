"""Models of a robot: for the planner, for the collision checker, and of its arms without an engine."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from unlatch.robots.description import ArmCfg, RobotCfg, base_pose
from unlatch.robots.model import model_path
from unlatch.robots.robot import Robot
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.collision import RobotModel
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.scene import ArmModel
from unlatch.tasks.layout import Layout

_LIMIT_MARGIN_RAD = 0.03
"""Distance that plans keep from the ends of a joint's range [rad]."""


def robot_model(robot: Robot, arm: ArmCfg, layout: Layout) -> RobotModel:
    """Returns the model of one arm for the collision checker; the other arms keep their present joints."""
    cfg = robot.cfg
    home: dict[str, float] = {}
    for other in cfg.arms:
        q, opening_m = layout.q_home[other.name], other.gripper.max_width_m
        if other.name != arm.name:
            q, opening_m = robot.arm(other.name).q_read, robot.arm(other.name).gripper_opening_m
        home.update(zip(other.joints, (float(v) for v in q), strict=True))
        home.update(zip(other.gripper.joints, other.gripper.positions(opening_m), strict=True))
    return RobotModel(
        urdf_path=model_path(cfg),
        T_world_base=robot.T_world_root,
        arm_joints=tuple(arm.joints),
        finger_joints=tuple(arm.gripper.joints),
        finger_links=frozenset(arm.gripper.finger_links),
        ignored_pairs=frozenset(frozenset(pair) for pair in cfg.self_collision_ignored),
        home=home,
        arm_links=None if len(cfg.arms) == 1 else frozenset((*arm.forbidden_links, *arm.gripper.finger_links)),
        fingers_at=arm.gripper.positions,
        ee_link=arm.ee_link,
    )


def arm_model(cfg: RobotCfg, arm: ArmCfg) -> ArmModel:
    """Returns the model of an arm for the planner: the maker's limits less a margin."""
    return ArmModel(
        kinematics=kinematics_of(cfg, arm),
        tool_keypoints={name: np.array(xyz) for name, xyz in arm.keypoints.items()},
        q_lower=np.array(arm.lower) + _LIMIT_MARGIN_RAD,
        q_upper=np.array(arm.upper) - _LIMIT_MARGIN_RAD,
        max_velocity=np.array(arm.max_velocity),
        max_acceleration=np.array(arm.max_acceleration),
        workspace=np.array(arm.workspace),
        q_home=np.array(arm.home),
        symmetric_gripper=arm.gripper.symmetric,
    )


def base_of(robot: RobotCfg, arm: ArmCfg) -> Pose:
    """Returns `T_world_base` of an arm of a robot that stands where its configuration says."""
    return base_pose(robot) @ _read_base(model_path(robot), arm.base_link)


def kinematics_of(robot: RobotCfg, arm: ArmCfg) -> Kinematics:
    """Returns the kinematics from the base of an arm to its ee link."""
    return _read_kinematics(model_path(robot), arm.base_link, arm.ee_link)


@lru_cache(maxsize=16)
def _read_base(urdf: Path, base_link: str) -> Pose:
    return read_urdf(urdf).link_pose(base_link)


@lru_cache(maxsize=16)
def _read_kinematics(urdf: Path, base_link: str, ee_link: str) -> Kinematics:
    return Kinematics.from_urdf(urdf, base_link=base_link, tip_link=ee_link)
