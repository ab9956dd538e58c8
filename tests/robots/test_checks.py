"""A configured robot fits its model, and is never stronger, faster or stickier than the real one."""

import inspect
from dataclasses import replace

import pytest

from unlatch.robots.catalog import ROBOTS
from unlatch.robots.checks import OTHER_FRICTION, check_robot, limit_problems, model_problems
from unlatch.robots.models import model_path
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.sim.world import World


def changed(change):
    robot = ROBOTS.load("franka_panda")()
    change(robot)
    return robot


def set_item(key, value):
    return lambda robot: getattr(robot.arms[0], key).__setitem__(2, value)


def set_gripper(**values):
    return lambda robot: setattr(robot.arms[0], "gripper", replace(robot.arms[0].gripper, **values))


@pytest.mark.parametrize("name", ROBOTS.own_names())
def test_every_robot_of_the_catalog_fits_its_model_and_limits(name):
    check_robot(ROBOTS.load(name)(), object_friction=0.8)


@pytest.mark.parametrize(
    "lower",
    [
        set_item("lower", -1.0),
        set_item("max_effort", 40.0),
        set_gripper(max_force_n=40.0, grip_force_n=30.0, max_speed_m_s=0.02, max_width_m=0.06, friction=0.5),
        set_gripper(spinning_friction=0.0),
    ],
)
def test_limits_may_be_lowered(lower):
    assert list(limit_problems(changed(lower), object_friction=0.8)) == []


@pytest.mark.parametrize(
    ("place", "key", "value"),
    [
        ("arm", "lower", -2.9),
        ("arm", "upper", 2.9),
        ("arm", "max_velocity", 2.2),
        ("arm", "max_acceleration", 10.1),
        ("arm", "max_effort", 87.5),
        ("gripper", "max_force_n", 71.0),
        ("gripper", "finger_force_limit_n", 141.0),
        ("gripper", "max_speed_m_s", 0.06),
        ("gripper", "max_width_m", 0.09),
        ("gripper", "friction", 0.4),
        ("gripper", "friction", 1.6),
        ("gripper", "spinning_friction", 0.006),
    ],
)
def test_limits_may_not_be_raised(place, key, value):
    robot = changed(set_item(key, value) if place == "arm" else set_gripper(**{key: value}))
    (problem,) = limit_problems(robot, object_friction=0.8)
    named = f"{key}[2]" if place == "arm" else f"gripper.{key}"
    assert problem.message.startswith(f"robot.arms[0].{named}=")
    with pytest.raises(ConfigError, match=r"limit of|friction of contact"):
        check_robot(robot, object_friction=0.8)


def test_pads_of_a_robot_outside_the_catalog_may_not_be_stickier_either():
    robot = changed(set_gripper(spinning_friction=0.006))
    robot.urdf = str(model_path(robot))
    (problem,) = limit_problems(robot, object_friction=0.8)
    assert problem.message.startswith(
        "robot.arms[0].gripper.spinning_friction=0.006 goes beyond Unlatch's limit of 0.005 m"
    )
    robot.arms[0].gripper.spinning_friction = 0.005
    assert list(limit_problems(robot, object_friction=0.8)) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_gripper(joints=["panda_finger_joint1"]), "robot.arms[0].gripper.joints=['panda_finger_joint1'] are not"),
        (set_gripper(joints=["panda_joint1", "panda_joint2"], max_force_n=90.0), "robot.arms[0].gripper.joints="),
        (set_gripper(finger_links=["panda_hand"]), "robot.arms[0].gripper.finger_links[0]='panda_hand' is not a"),
        (lambda robot: robot.arms[0].forbidden_links.remove("panda_hand"), "robot.arms[0].forbidden_links lacks"),
    ],
)
def test_only_the_fingers_of_the_real_robot_may_touch_an_object(change, message):
    first = next(limit_problems(changed(change), object_friction=0.8))
    assert first.message.startswith(message)


def test_a_second_arm_that_the_model_lacks_is_named_by_its_index():
    robot = ROBOTS.load("franka_panda")()
    robot.arms.append(replace(robot.arms[0], name="right", base_link="panda_link00"))
    assert [problem.values["key"] for problem in model_problems(robot)] == ["robot.arms[1].base_link"]


def test_the_checked_frictions_are_those_of_the_scene():
    for load in (World.load_urdf, World.add_box):
        assert inspect.signature(load).parameters["friction"].default == OTHER_FRICTION
