"""One contract for every robot of the catalog."""

from dataclasses import replace

import numpy as np
import pybullet as p
import pytest

from unlatch.configs.group_files import default_option
from unlatch.robots.arm_control import Action, ArmAction
from unlatch.robots.catalog import ROBOTS
from unlatch.robots.description import base_pose
from unlatch.robots.models import model_path
from unlatch.robots.reach import ReachModel, ReachRegion, find_reaches, hand_poses
from unlatch.robots.robot import Robot
from unlatch.simcore.errors import AssetError, ConfigError, UnknownEntryError, WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.contacts import ContactMonitor, ContactView
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.solver.kinematics import Kinematics

RAD = np.pi / 180.0
REGION = ReachRegion((0.54, 0.0, 0.34), (0.10, 0.18, 0.12))
"""Where derived tasks put the part that a robot acts on."""
DATA_SHEETS = {
    # ranges, speeds, efforts: franka_ros, franka_description/robots/panda/joint_limits.yaml; accelerations: libfranka,
    # rate_limiting.h; hand: Franka, "Product Manual Franka Hand" 220010 v1.2
    "franka_panda": {
        "lower": [-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973],
        "upper": [2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973],
        "max_velocity": [2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61],
        "max_acceleration": [15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0],
        "max_effort": [87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0],
    },
    # ranges, speed, acceleration: UFACTORY documentation, "Robot specifications"; efforts: xarm_ros,
    # xarm_description/urdf/xarm6.urdf.xacro; gripper: xArm Gripper manual V1.11.0
    "xarm6": {
        "lower": [-360 * RAD, -118 * RAD, -225 * RAD, -360 * RAD, -97 * RAD, -360 * RAD],
        "upper": [360 * RAD, 120 * RAD, 11 * RAD, 360 * RAD, 180 * RAD, 360 * RAD],
        "max_velocity": [180 * RAD] * 6,
        "max_acceleration": [1145.9155 * RAD] * 6,
        "max_effort": [50.0, 50.0, 32.0, 32.0, 32.0, 20.0],
    },
    # universal_robot, ur_description/config/ur5/joint_limits.yaml, which quotes the user manual CB3 3.13 and the
    # maker's article "Max. joint torques"; accelerations are not published; gripper: Robotiq Hand-E instruction manual
    "ur5": {
        "lower": [-360 * RAD] * 6,
        "upper": [360 * RAD] * 6,
        "max_velocity": [180 * RAD] * 6,
        "max_effort": [150.0, 150.0, 150.0, 28.0, 28.0, 28.0],
    },
    # ur_description/config/ur5e/joint_limits.yaml, after the user manual; accelerations are not published; gripper:
    # Robotiq 2F-85 instruction manual
    "ur5e": {
        "lower": [-360 * RAD, -360 * RAD, -180 * RAD, -360 * RAD, -360 * RAD, -360 * RAD],
        "upper": [360 * RAD, 360 * RAD, 180 * RAD, 360 * RAD, 360 * RAD, 360 * RAD],
        "max_velocity": [180 * RAD] * 6,
        "max_effort": [150.0, 150.0, 150.0, 28.0, 28.0, 28.0],
    },
    # Franka, "Robot and interface specifications", limits of the Research 3
    "fr3": {
        "lower": [-2.7437, -1.7837, -2.9007, -3.0421, -2.8065, 0.5445, -3.0159],
        "upper": [2.7437, 1.7837, 2.9007, -0.1518, 2.8065, 4.5169, 3.0159],
        "max_velocity": [2.62, 2.62, 2.62, 2.62, 5.26, 4.18, 5.26],
        "max_acceleration": [10.0] * 7,
        "max_effort": [87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0],
    },
    # Rethink SDK wiki, "Hardware Specifications" (ranges seen; speeds, efforts and the gripper as first written down);
    # accelerations are not published
    "baxter": {
        "lower": [-1.7016, -2.147, -3.0541, -0.05, -3.059, -1.5707, -3.059],
        "upper": [1.7016, 1.047, 3.0541, 2.618, 3.059, 2.094, 3.059],
        "max_velocity": [2.0, 2.0, 2.0, 2.0, 4.0, 4.0, 4.0],
        "max_effort": [50.0, 50.0, 50.0, 50.0, 15.0, 15.0, 15.0],
    },
}
"""The makers' numbers, written down apart from the descriptions; of any other robot only its model is asked."""
GRIPPERS = {
    "franka_panda": {"max_width_m": 0.08, "max_force_n": 70.0, "max_speed_m_s": 0.05, "finger_force_limit_n": 140.0},
    "xarm6": {"max_width_m": 0.084, "max_force_n": 30.0},
    "ur5e": {"max_width_m": 0.085, "max_force_n": 235.0, "max_speed_m_s": 0.075, "finger_force_limit_n": 235.0},
    "ur5": {"max_width_m": 0.05, "max_force_n": 130.0, "max_speed_m_s": 0.15, "finger_force_limit_n": 130.0},
    "baxter": {"max_width_m": 0.044, "max_force_n": 35.0},
}
"""The makers' numbers of the grippers, from the same sources; a speed that is not there is not stated."""
PANDAS = ("dual_panda", "franka_panda", "franka_robotiq")
"""Robots whose model has wider limits than the maker's files."""
DATA_SHEETS["dual_panda"] = DATA_SHEETS["franka_robotiq"] = DATA_SHEETS["franka_panda"]
GRIPPERS["franka_robotiq"] = GRIPPERS["ur5e"]
GRIPPERS["dual_panda"] = GRIPPERS["fr3"] = GRIPPERS["franka_panda"]


def models():
    """Every robot of the catalog, those of other distributions too; skipped where its model is not to be had."""
    for name in ROBOTS.own_names():
        marks = []
        try:
            model_path(name)
        except AssetError as exc:
            marks = [pytest.mark.skip(reason=exc.message)]
        yield pytest.param(name, marks=marks)


NAMES = list(models())


@pytest.fixture(scope="module", params=NAMES)
def loaded(request):
    """A world and a robot in it, which all tests of the robot share."""
    cfg = ROBOTS.load(request.param)()
    with World(WorldCfg()) as opened:
        yield opened, Robot(opened, cfg, model_path(request.param), T_world_root=base_pose(cfg))


@pytest.fixture
def robot(loaded):
    """The robot at home with open hands; what a test adds to its world is taken out again."""
    world, robot = loaded
    for arm in robot.arms.values():
        arm.reset(arm.cfg.home, gripper_m=arm.cfg.gripper.max_width_m)
    yield robot
    for name in [name for name, body in world.bodies.items() if body is not robot.body]:
        world.remove(name)


@pytest.fixture
def world(loaded):
    return loaded[0]


def _head_and_across(arm):
    """Returns (3,) `tool_head` [m] and the (3,) unit direction in which the fingers open, ee frame."""
    head, side = np.array(arm.cfg.keypoints["tool_head"]), np.array(arm.cfg.keypoints["tool_side"])
    return head, (side - head) / np.linalg.norm(side - head)


def frames(world, robot, action, count):
    for _ in range(count):
        robot.apply(action)
        robot.simulate_frame()


def test_limits_lie_inside_those_of_the_model_and_home_inside_them_free_of_self_contact(world, robot):
    for cfg in robot.cfg.arms:
        limits = zip(cfg.joints, cfg.lower, cfg.upper, cfg.max_velocity, cfg.max_effort, strict=True)
        for joint, low, high, speed, effort in limits:
            model = robot.body.joint(joint)
            assert model.lower - 0.08 <= low < high <= model.upper + 1e-9, joint
            assert speed <= model.max_velocity + 1e-9
            assert effort <= model.max_effort + 1e-9
        assert np.all((np.array(cfg.home) > cfg.lower) & (np.array(cfg.home) < cfg.upper))
        for link in (*cfg.forbidden_links, *cfg.gripper.finger_links, cfg.base_link, cfg.ee_link):
            robot.body.link_index(link)
    world.step()
    points = p.getContactPoints(bodyA=robot.body.body_id, physicsClientId=world.client)
    assert [pt for pt in points if pt[9] > 0] == []


@pytest.mark.parametrize("name", [each for each in NAMES if each.values[0] in DATA_SHEETS])
def test_limits_are_those_of_the_data_sheet(name):
    joints = read_urdf(model_path(name)).joints
    for arm in ROBOTS.load(name)().arms:
        # a model that stops earlier, or moves more slowly, than the data sheet allows is kept to
        for key, of_model in MODEL_LIMITS.items():
            values = DATA_SHEETS[name].get(key)
            if values is None:
                continue
            narrower = np.maximum if key == "lower" else np.minimum
            model = [getattr(joints[joint], of_model) if of_model else np.inf for joint in arm.joints]
            expected = values if name in PANDAS else narrower(values, model)
            np.testing.assert_allclose(getattr(arm, key), expected, atol=2e-3, err_msg=key)


MODEL_LIMITS = {
    "lower": "lower",
    "upper": "upper",
    "max_velocity": "velocity",
    "max_effort": "effort",
    "max_acceleration": "",
}


@pytest.mark.parametrize("name", [each for each in NAMES if each.values[0] in GRIPPERS])
def test_no_gripper_goes_beyond_its_data_sheet(name):
    for gripper in (arm.gripper for arm in ROBOTS.load(name)().arms):
        for key, value in GRIPPERS[name].items():
            assert getattr(gripper, key) <= value * 1.001, key
        assert gripper.grip_force_n <= GRIPPERS[name]["max_force_n"]
        assert gripper.max_width_m >= 0.94 * GRIPPERS[name]["max_width_m"]


def test_kinematics_equal_the_engines(world, robot):
    rng = np.random.default_rng(0)
    for arm in robot.arms.values():
        kinematics = Kinematics.from_urdf(
            model_path(robot.cfg.name), base_link=arm.cfg.base_link, tip_link=arm.cfg.ee_link
        )
        assert list(kinematics.joint_names) == arm.cfg.joints
        for _ in range(20):
            q = rng.uniform(arm.cfg.lower, arm.cfg.upper)
            arm.reset(q, gripper_m=0.0)
            assert Pose.from_matrix(kinematics.fk(q)).is_close(arm.T_base_ee, atol_m=1e-6, atol_rad=1e-6)


def test_a_motion_is_followed_and_stays_below_the_speed_limits(world, robot):
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


@pytest.mark.slow
def test_fingers_stay_symmetric_under_a_side_load_and_soft_pads_share_it(world, robot):
    for arm in robot.arms.values():
        gripper, (head, across) = arm.cfg.gripper, _head_and_across(arm)
        T_world_ee = robot.body.link_pose(arm.cfg.ee_link)
        beside = Pose(T_world_ee.R, T_world_ee @ (head + 1.4e-4 * across))
        cube = world.add_box(f"cube_{arm.name}", size_m=(0.02, 0.02, 0.02), T_world_box=beside)
        frames(world, robot, Action({arm.name: ArmAction(arm.q, 0.0, Pose.identity())}), 60)
        fingers = robot.body.joint_states(gripper.joints)[0]
        shares = (fingers - gripper.offsets()) / np.array(gripper.travel())
        assert np.ptp(shares) * gripper.max_width_m < 2e-3, fingers
        assert arm.gripper_opening_m > 0.015  # something was in the way
        if not gripper.pad_stiffness_n_m > 0.0:
            continue  # the pads are rigid
        loads = [0.0, 0.0]  # of the finger on either side
        for point in p.getContactPoints(robot.body.body_id, cube.body_id, physicsClientId=world.client):
            loads[int((np.array(point[5]) - cube.root_pose().p) @ (T_world_ee.R @ across) > 0.0)] += point[9]
        assert sum(loads) == pytest.approx(2.0 * gripper.grip_force_n, rel=0.1)
        assert min(loads) > 0.05 * max(loads)


def test_pads_stand_as_far_apart_as_the_opening_says(world, robot):
    for arm in robot.arms.values():
        gripper = arm.cfg.gripper
        swings_alone = len(gripper.joints) == 1  # its faces are a V: wide open, they do not face each other
        widest = (0.7 if swings_alone else 1.0) * gripper.max_width_m
        for width in np.linspace(gripper.opening_range()[0], widest, 4):
            arm.reset(arm.q, gripper_m=float(width))
            assert arm.gripper_opening_m == pytest.approx(width, abs=1e-4)
            if width < 0.004:
                continue  # no room for a ray
            T_world_ee = robot.body.link_pose(arm.cfg.ee_link)
            head, across_ee = _head_and_across(arm)
            across = T_world_ee.rotate(across_ee)
            tail = np.array(arm.cfg.keypoints["tool_tail"])
            gaps = []
            # fingers on levers draw their tips back as they open
            for share in (0.0,) if swings_alone else (0.0, 0.3, 0.6):
                middle = T_world_ee @ (head + share * (tail - head))
                ends = np.array([middle + sign * 0.1 * across for sign in (1.0, -1.0)])
                hits = p.rayTestBatch([middle.tolist()] * 2, ends.tolist(), physicsClientId=world.client)
                if {robot.body.link_names[hit[1]] for hit in hits if hit[0] >= 0} <= set(gripper.finger_links):
                    gaps.append(sum(0.1 * hit[2] for hit in hits))
            # Bullet's colliders have a margin of a millimetre
            assert min(gaps) == pytest.approx(width, abs=5e-3 if swings_alone else 3e-3)


def _across(robot, arm_name, link):
    """Returns how far the middle of a finger's box is from the middle of the hand, in the opening direction [m]."""
    arm = robot.arm(arm_name)
    T_ee_world = robot.body.link_pose(arm.cfg.ee_link).inverse()
    head, across = _head_and_across(arm)
    return float((T_ee_world @ robot.body.link_aabb(link).mean(axis=0) - head) @ across)


LEAST_REACH = {"arx5": 0.4, "lift2": 0.25, "aloha": 0.5, "openarm": 0.25}
"""Shares of the region's hand poses that these arms reach, as docs/robots.md says: the wrists of an ARX5 and an OpenArm
bend little, whatever the size of the task, and each ViperX of an Aloha stands beside the region."""


@pytest.mark.slow
def test_the_arm_comes_where_its_kinematics_say_over_the_region_of_derived_tasks(world, robot):
    path = model_path(robot.cfg.name)
    model = read_urdf(path)
    shares, tried, too_weak = [], 0, 0
    for arm in robot.arms.values():
        cfg = arm.cfg
        kinematics = Kinematics.from_urdf(path, base_link=cfg.base_link, tip_link=cfg.ee_link)
        T_world_base = base_pose(robot.cfg) @ model.link_pose(cfg.base_link)
        region = ReachModel(REGION, Kinematics.from_urdf).scaled(robot.cfg.scale).region
        (found,) = find_reaches(kinematics, cfg, [T_world_base], region=region, count=2)
        shares.append(found.share)
        rotations, points = hand_poses(cfg, region=region, count=2)
        for index in np.flatnonzero(found.found)[::11]:
            arm.reset(found.q[index], gripper_m=0.0)
            if _touches_itself(world, robot):
                continue
            arm.reset(found.q[index] - 0.01, gripper_m=0.0)
            frames(world, robot, Action({arm.name: ArmAction(found.q[index], 0.0, Pose.identity())}), 15)
            there = robot.body.link_pose(cfg.ee_link)
            goal = Pose(rotations[index], points[index])
            if len(cfg.joints) < 6:  # it turns about its first axis as it has to
                goal = T_world_base @ kinematics.pose(found.q[index])
            efforts = np.abs(robot.body.joint_states(cfg.joints)[2])
            tried += 1
            if np.any(efforts > 0.999 * np.array(cfg.max_effort)):
                too_weak += 1  # Baxter's arm, stretched out low: the springs of the real one are not in its model
                continue
            assert there.is_close(goal, atol_m=5e-3, atol_rad=0.03), (index, there, goal)
    assert max(shares) >= LEAST_REACH.get(robot.cfg.name, 0.85 if len(robot.cfg.arms[0].joints) > 5 else 0.5), shares
    assert too_weak <= 0.4 * tried  # Baxter 3 of 11, all others none


def _touches_itself(world, robot):
    p.performCollisionDetection(physicsClientId=world.client)
    return bool(p.getContactPoints(robot.body.body_id, robot.body.body_id, physicsClientId=world.client))


def test_links_that_cannot_pass_each_other_collide(world, robot):
    ignored = {frozenset(pair) for pair in robot.cfg.self_collision_ignored}
    names = robot.body.link_names
    rng = np.random.default_rng(0)
    touching = set()
    for _ in range(60):
        for arm in robot.arms.values():
            arm.reset(rng.uniform(arm.cfg.lower, arm.cfg.upper), gripper_m=0.0)
        p.performCollisionDetection(physicsClientId=world.client)
        points = p.getContactPoints(robot.body.body_id, robot.body.body_id, physicsClientId=world.client)
        touching |= {frozenset((names[point[3]], names[point[4]])) for point in points if point[8] < -1e-3}
    assert touching
    assert not touching & ignored


def test_grip_force_and_width_are_those_of_the_description(world, robot):
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
    world.step(20)
    monitor.sample()
    monitor.end_frame()
    sides = {1.0: 0.0, -1.0: 0.0}
    for view in views:
        sides[float(np.sign(_across(robot, arm.name, view.name)))] += float(view.force_mean_n.get_value())
    for force_n in sides.values():
        assert 0.5 * gripper.grip_force_n < force_n <= 1.1 * gripper.max_force_n, sides


def test_what_is_unknown_or_of_the_wrong_length_is_refused():
    cfg = ROBOTS.load("franka_panda")()
    with pytest.raises(ConfigError, match=r"arm\.home has 2 values, expected 7"):
        replace(cfg.arms[0], home=[0.0, 0.0])
    with World(WorldCfg()) as world:
        robot = Robot(world, cfg, model_path(cfg), T_world_root=Pose.identity())
        with pytest.raises(WorldError, match=r"Robot 'franka_panda' has no arm 'lefd'\. Did you mean 'left'\?"):
            robot.arm("lefd")
    assert default_option("robot") == "franka_panda"  # proposed before others that are as near
    known = r"Unknown robot 'panda'\. Did you mean 'franka_panda' or 'dual_panda'\?"
    with pytest.raises(UnknownEntryError, match=known):
        model_path("panda")


def test_springs_carry_what_the_motors_of_baxter_cannot():
    cfg = ROBOTS.load("baxter")()
    with World(WorldCfg()) as world:
        robot = Robot(world, cfg, model_path("baxter"), T_world_root=Pose.from_translation((0.0, 0.0, 1.0)))
        arm = robot.arm("left")
        arm.reset(np.zeros(7), gripper_m=0.04)  # stretched out level
        for _ in range(120):
            world.step()
        q, _, effort = robot.body.joint_states(arm.cfg.joints)
    np.testing.assert_allclose(q, 0.0, atol=1e-3)
    assert effort[1] == pytest.approx(-56.4 + 30.0, abs=0.5)  # the arm weighs 56.4 N m there, the motor gives 50
