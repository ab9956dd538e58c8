"""Robots: the catalog, the description of a robot, and the robot in a world."""

from unlatch.robots.arm_control import Action, ArmAction
from unlatch.robots.catalog import ROBOTS, load_robot
from unlatch.robots.checks import check_robot
from unlatch.robots.description import ArmCfg, GripperCfg, RobotCfg
from unlatch.robots.models import model_path
from unlatch.robots.robot import Arm, Robot

__all__ = [
    "ROBOTS",
    "Action",
    "Arm",
    "ArmAction",
    "ArmCfg",
    "GripperCfg",
    "Robot",
    "RobotCfg",
    "check_robot",
    "load_robot",
    "model_path",
]
