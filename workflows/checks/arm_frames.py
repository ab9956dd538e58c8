"""Frames of an arm from the model of its robot, without an engine."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from unlatch.robots.description import ArmCfg, RobotCfg, base_pose
from unlatch.robots.model import model_path
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.solver.kinematics import Kinematics


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
