"""The contract of a robot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unlatch.objects.friction import OBJECT_FRICTION
from unlatch.robots.catalog import ROBOTS
from unlatch.robots.checks import check_robot as check_limits
from unlatch.robots.description import ArmCfg, RobotCfg, base_pose
from unlatch.robots.model import model_path
from unlatch.robots.robot import Robot
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.contacts import ContactMonitor, ContactView
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.solver.kinematics import Kinematics
from unlatch.workflows.runs.loading import load_config
from unlatch.workflows.runs.schema import PlanCfg
from unlatch.workflows.testing.contract_checks import require

_OPENINGS = 4
_SAME_M, _SAME_RAD = 1e-6, 1e-6
_WIDTH_M = 1e-3


def check_robot(name: str, *, task: str = "open_drawer", config_dirs: Sequence[str] = ()) -> None:
    """Checks the contract of a robot, by its model and in a world of its own.

    The robot has the name of its entry; its links and joints exist in the model; no limit exceeds the maker's; the home
    pose lies inside the limits and touches nothing; planner and engine have equal kinematics; the gripper opens by the
    width that is set.

    Args:
        name: Name of the robot.
        task: A task for the configuration.
        config_dirs: Folders of further YAML files.

    Raises:
        AssertionError: A condition is broken; the message names it.
        ConfigError: There is no such robot, or its configuration is wrong.
    """
    if name in ROBOTS.names():
        made: RobotCfg = ROBOTS.make(name)
        require(
            made.name == name,
            f"Robot '{name}' is made with the name '{made.name}'. Expected the name of its catalog entry.",
        )
    cfg = load_config("plan", PlanCfg, [f"task={task}", f"robot={name}"], config_dirs=config_dirs).cfg.robot
    try:
        check_limits(cfg, object_friction=OBJECT_FRICTION)
    except ConfigError as exc:
        raise AssertionError(exc.message) from exc
    with World(WorldCfg()) as world:
        robot = Robot(world, cfg, model_path(cfg), T_world_root=base_pose(cfg))
        for arm in cfg.arms:
            _check_home(world, robot, arm)
            _check_kinematics(robot, arm)
            _check_gripper(robot, arm)


def _check_home(world: World, robot: Robot, cfg: ArmCfg) -> None:
    for joint, home, low, high in zip(cfg.joints, cfg.home, cfg.lower, cfg.upper, strict=True):
        require(low < home < high, f"Arm '{cfg.name}' has home={home} of {joint}, outside its limits {low} to {high}.")
    for arm in robot.arms.values():
        arm.reset(arm.cfg.home, gripper_m=arm.cfg.gripper.max_width_m)
    links = {*cfg.forbidden_links, *cfg.gripper.finger_links}
    monitor = ContactMonitor(world, robot.body)
    touching = monitor.add(ContactView("itself", lambda a, other, _: a in links and other == robot.cfg.name))
    world.step()
    monitor.sample()
    monitor.end_frame()
    force_n = float(np.max(touching.force_max_n.get_value() or 0.0))
    require(
        force_n == 0.0, f"Arm '{cfg.name}' touches its own robot at home, with {force_n:.1f} N. Choose another home."
    )


def _check_kinematics(robot: Robot, cfg: ArmCfg) -> None:
    arm = robot.arm(cfg.name)
    kinematics = Kinematics.from_urdf(model_path(robot.cfg), base_link=cfg.base_link, tip_link=cfg.ee_link)
    rng = np.random.default_rng(0)
    for _ in range(5):
        q = np.asarray(rng.uniform(np.array(cfg.lower), np.array(cfg.upper)))
        arm.reset(q, gripper_m=0.0)
        planned = Pose.from_matrix(kinematics.fk(q))
        require(
            planned.is_close(arm.T_base_ee, atol_m=_SAME_M, atol_rad=_SAME_RAD),
            f"Arm '{cfg.name}' has its ee at {arm.T_base_ee} in the engine and at {planned} for the planner.",
        )


def _check_gripper(robot: Robot, cfg: ArmCfg) -> None:
    arm, gripper = robot.arm(cfg.name), cfg.gripper
    for width in np.linspace(gripper.opening_range()[0], gripper.max_width_m, _OPENINGS):
        arm.reset(cfg.home, gripper_m=float(width))
        opening = arm.gripper_opening_m
        require(
            abs(opening - width) <= _WIDTH_M,
            f"The gripper of '{cfg.name}' opens by {opening:.4f} m instead of the commanded {width:.4f} m.",
        )
        _check_pads(robot, cfg, float(width))


def _check_pads(robot: Robot, cfg: ArmCfg, width_m: float) -> None:
    """Checks that the fingers lie on both sides of `tool_head`."""
    T_ee_world = robot.body.link_pose(cfg.ee_link).inverse()
    head, side = np.array(cfg.keypoints["tool_head"]), np.array(cfg.keypoints["tool_side"])
    across = (side - head) / np.linalg.norm(side - head)
    places = {
        link: float((T_ee_world @ robot.body.link_aabb(link).mean(axis=0) - head) @ across)
        for link in cfg.gripper.finger_links
    }
    require(
        min(places.values()) < 0.0 < max(places.values()),
        f"All finger links of '{cfg.name}' lie to one side of tool_head at an opening of {width_m:.3f} m: "
        f"{', '.join(f'{link} {place:.3f}' for link, place in places.items())} m towards tool_side. Mend the "
        "keypoints or gripper.finger_links.",
    )
