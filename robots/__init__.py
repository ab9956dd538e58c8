"""Robots: their catalog, the description of a robot, and the robot in a world.

    from unlatch.robots import load_robot, model_path

    panda = load_robot("franka_panda")
    print(panda.arms[0].joints, panda.arms[0].gripper.max_width_m)
    print(model_path("franka_panda"))

A robot of a plugin is a function that returns a `RobotCfg` (entry points `unlatch.robots`).
"""

from unlatch.robots.arm_control import Action, ArmAction
from unlatch.robots.catalog import ROBOTS, load_robot
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
    "load_robot",
    "model_path",
]
