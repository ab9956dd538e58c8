"""One contract for every robot of the catalog."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pybullet as p
import pytest

from robots.action import Action, ArmAction
from robots.catalog import ROBOTS
from robots.description import RobotCfg
from robots.model import model_path
from robots.robot import Robot
from simcore.errors import ConfigError, UnknownEntryError, WorldError
from simcore.geometry import Pose
from simcore.sim.contacts import ContactMonitor, ContactView
from simcore.sim.rates import WorldCfg
from simcore.sim.world import World
from solver.kinematics import Kinematics

NAMES = ROBOTS.names()


@pytest.fixture
def world() -> Iterator[World]:
    with World(WorldCfg()) as opened:
        yield opened


def load(world: World, name: str) -> Robot:
    cfg: RobotCfg = ROBOTS.load(name)()
    robot = Robot(world, cfg, model_path(name), T_world_root=Pose.identity())
    for arm in robot.arms.values():
        arm.reset(arm.cfg.home, gripper_m=arm.cfg.gripper.max_width_m)
    return robot


def frames(world: World, robot: Robot, action: Action, count: int) -> None:
    for _ in range(count):
        robot.apply(action)
        for control_step in range(world.cfg.control_steps):
            robot.control_step(control_step)
            for _ in range(world.cfg.physics_steps):
                world.step()


@pytest.mark.parametrize("name", NAMES)
def test_limits_lie_inside_those_of_the_model(world: World, name: str) -> None:
    robot = load(world, name)
    for arm in robot.arms.values():
        for joint, low, high, speed, effort in zip(
            arm.cfg.joints, arm.cfg.lower, arm.cfg.upper, arm.cfg.max_velocity, arm.cfg.max_effort, strict=True
        ):
            model = robot.body.joint(joint)
            assert model.lower - 0.08 <= low < high <= model.upper + 1e-9, joint
            assert speed <= model.max_velocity + 1e-9
            assert effort <= model.max_effort + 1e-9
        assert np.all(np.array(arm.cfg.home) > arm.cfg.lower)
        assert np.all(np.array(arm.cfg.home) < arm.cfg.upper)


@pytest.mark.parametrize("name", NAMES)
def test_kinematics_equal_the_engines(world: World, name: str) -> None:
    robot = load(world, name)
    rng = np.random.default_rng(0)
    for arm in robot.arms.values():
        kinematics = Kinematics.from_urdf(model_path(name), base_link=arm.cfg.base_link, tip_link=arm.cfg.ee_link)
        assert list(kinematics.joint_names) == arm.cfg.joints
        for _ in range(20):
            q = rng.uniform(arm.cfg.lower, arm.cfg.upper)
            arm.reset(q, gripper_m=0.0)
            assert Pose.from_matrix(kinematics.fk(q)).is_close(arm.T_base_ee, atol_m=1e-6, atol_rad=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_motion_is_followed_and_stays_below_the_speed_limits(world: World, name: str) -> None:
    robot = load(world, name)
    arm = next(iter(robot.arms.values()))
    start = arm.q
    goal = start + 0.4 * np.where(np.arange(len(start)) % 2, 1.0, -1.0)
    goal = np.clip(goal, arm.cfg.lower, arm.cfg.upper)
    fastest = np.zeros(len(start))
    for frame in range(60):
        share = (frame + 1) / 60
        target = start + (3 * share**2 - 2 * share**3) * (goal - start)
        frames(world, robot, Action({arm.name: ArmAction(target, 0.0, Pose.identity())}), 1)
        fastest = np.maximum(fastest, np.abs(robot.body.joint_states(arm.cfg.joints)[1]))
    frames(world, robot, Action({arm.name: ArmAction(goal, 0.0, Pose.identity())}), 5)
    assert np.abs(arm.q - goal).max() < 1e-3
    assert np.all(fastest < arm.cfg.max_velocity)


@pytest.mark.parametrize("name", NAMES)
def test_fingers_stay_symmetric_under_a_side_load(world: World, name: str) -> None:
    robot = load(world, name)
    for arm in robot.arms.values():
        gripper = arm.cfg.gripper
        T_world_ee = robot.body.link_pose(arm.cfg.ee_link)
        head, side = np.array(arm.cfg.keypoints["tool_head"]), np.array(arm.cfg.keypoints["tool_side"])
        across = (side - head) / np.linalg.norm(side - head)
        box = 0.02
        world.add_box(
            f"cube_{arm.name}",
            size_m=(box, box, box),
            T_world_box=Pose(T_world_ee.R, T_world_ee @ (head + 0.015 * across)),
        )
        frames(world, robot, Action({arm.name: ArmAction(arm.q, 0.0, Pose.identity())}), 60)
        fingers = robot.body.joint_states(gripper.joints)[0]
        assert abs(fingers[0] - fingers[1]) < 2e-3, fingers


@pytest.mark.parametrize("name", NAMES)
def test_grip_force_and_width_are_those_of_the_description(world: World, name: str) -> None:
    robot = load(world, name)
    arm = next(iter(robot.arms.values()))
    gripper = arm.cfg.gripper
    assert arm.gripper_opening_m == pytest.approx(gripper.max_width_m, abs=1e-4)
    T_world_ee = robot.body.link_pose(arm.cfg.ee_link)
    head = np.array(arm.cfg.keypoints["tool_head"])
    world.add_box("cube", size_m=(0.02, 0.02, 0.02), T_world_box=Pose(T_world_ee.R, T_world_ee @ head))
    monitor = ContactMonitor(world, robot.body)
    views = [
        monitor.add(ContactView(link, lambda a, other, _l, link=link: a == link and other == "cube"))
        for link in gripper.finger_links
    ]
    frames(world, robot, Action({arm.name: ArmAction(arm.q, 0.0, Pose.identity())}), 60)
    for _ in range(20):
        world.step()
        monitor.sample()
    monitor.end_frame()
    for view in views:
        force_n = float(view.force_mean_n.get_value())
        assert 0.5 * gripper.grip_force_n < force_n <= 1.1 * gripper.max_force_n, (view.name, force_n)


@pytest.mark.parametrize("name", NAMES)
def test_links_of_the_description_exist_and_home_is_free_of_self_contact(world: World, name: str) -> None:
    robot = load(world, name)
    for arm in robot.arms.values():
        for link in (*arm.cfg.forbidden_links, *arm.cfg.gripper.finger_links, arm.cfg.base_link, arm.cfg.ee_link):
            robot.body.link_index(link)
    world.step()
    points = p.getContactPoints(bodyA=robot.body.body_id, physicsClientId=world.client)
    assert [pt for pt in points if pt[9] > 0] == []


def test_home_of_the_wrong_length() -> None:
    cfg = ROBOTS.load("franka_panda")()
    arm = cfg.arms[0]
    with pytest.raises(ConfigError, match=r"arm\.home has 2 values, expected 7"):
        type(arm)(**{**arm.__dict__, "home": [0.0, 0.0]})


def test_unknown_arm(world: World) -> None:
    robot = load(world, "franka_panda")
    with pytest.raises(WorldError, match=r"Robot 'franka_panda' has no arm 'lefd'\. Did you mean 'left'\?"):
        robot.arm("lefd")


def test_unknown_robot() -> None:
    with pytest.raises(
        UnknownEntryError, match=r"Unknown robot 'panda'\. Did you mean 'dual_panda' or 'franka_panda'\?"
    ):
        model_path("panda")
