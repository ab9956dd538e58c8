"""Spaces of environments: the limits of joints and motors, and every observation inside them."""

from collections.abc import Iterator
from dataclasses import replace

import gymnasium
import numpy as np
import pybullet as p
import pytest
from gymnasium.utils.env_checker import check_env

import unlatch
from unlatch.objects.config import ObjectCfg, ObjectSource
from unlatch.objects.library import largest_joint_position
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.robots.catalog import ROBOTS
from unlatch.workflows.gym.config import ActionCfg, ActionMode, GripperForm
from unlatch.workflows.gym.env import UnlatchEnv
from unlatch.workflows.gym.spaces import FASTEST, MARGIN_M, MARGIN_RAD, SPEED_FACTOR, ActionDecoder

pytestmark = pytest.mark.integration
ARM = "robots.franka_panda.left"
SPEEDS = [2.175] * 4 + [2.61] * 3
EFFORTS = [87.0] * 4 + [12.0] * 3


@pytest.fixture(scope="module")
def env() -> Iterator[UnlatchEnv]:
    made = unlatch.make_env("close_drawer", "object.instance=3")
    yield made
    made.close()


def assert_limits(space: gymnasium.spaces.Box, low: object, high: object):
    assert np.allclose(space.low, low, atol=1e-12)
    assert np.allclose(space.high, high, atol=1e-12)


def test_a_robots_bounds_are_its_limits_with_the_margin_of_simulation(env):
    space, arm = env.observation_space, env.cfg.robot.arms[0]
    stops = [(-2.9671, 2.9671), (-1.8326, 1.8326), (-2.9671, 2.9671), (-3.1416, 0.0), (-2.9671, 2.9671)]
    low, high = np.array([*stops, (-0.0873, 3.8223), (-2.9671, 2.9671)]).T  # of the model
    assert (low < arm.lower).all()
    assert (high > arm.upper).all()
    assert_limits(space[f"{ARM}.joint_positions"], low - MARGIN_RAD, high + MARGIN_RAD)
    assert_limits(space[f"{ARM}.joint_velocities"], -SPEED_FACTOR * np.array(SPEEDS), SPEED_FACTOR * np.array(SPEEDS))
    assert_limits(space[f"{ARM}.joint_efforts"], -np.array(EFFORTS), EFFORTS)
    assert_limits(space[f"{ARM}.gripper_target"], 0.0, 0.08)
    assert_limits(space[f"{ARM}.gripper_opening"], -2 * MARGIN_M, 0.08 + 2 * MARGIN_M)
    assert_limits(space[f"{ARM}.gripper_joint_positions"], -MARGIN_M, 0.04 + MARGIN_M)
    for key in (f"{ARM}.ee_position", "objects.drawer.root_position"):
        assert not space[key].is_bounded("below")
        assert not space[key].is_bounded("above")
    for key in (f"{ARM}.ee_quat_xyzw", f"{ARM}.tcp_quat_xyzw", "objects.drawer.root_quat_xyzw"):
        assert_limits(space[key], -1.0, 1.0)


@pytest.mark.parametrize("mode", ["joint_position", "joint_delta", "ee_delta"])
@pytest.mark.parametrize(
    ("form", "closed", "opened"), [("own", None, None), ("closed_1", 1, 0), ("closed_sign", 1, -1)]
)
def test_the_number_of_a_gripper_means_what_the_data_of_a_policy_say(env, mode, form, closed, opened):
    env.reset(seed=0)
    robot, (arm,) = env.episode.scene.robot, env.cfg.robot.arms
    decoder = ActionDecoder(ActionCfg(ActionMode[mode], gripper=GripperForm[form]), env.cfg.robot)
    ends = {"joint_position": (0.0, 0.08)}.get(mode, (-1.0, 1.0)) if closed is None else (closed, opened)
    assert (decoder.bounds()[0][-1], decoder.bounds()[1][-1]) == (min(ends), max(ends))
    for number, opening_m in zip((*ends, sum(ends) / 2), (0.0, 0.08, 0.04), strict=True):
        action = np.array([*decoder.hold(robot)[:-1], number])
        assert decoder.decode(action, robot)[arm.name].gripper_target_m == pytest.approx(opening_m, abs=1e-12)


@pytest.mark.parametrize("mode", ["joint_position", "joint_delta", "ee_delta"])
@pytest.mark.parametrize("form", ["own", "closed_1", "closed_sign"])
def test_the_action_that_holds_leaves_every_target_as_it_is_and_another_one_moves_it(env, mode, form):
    env.reset(seed=0)
    robot, (arm,) = env.episode.scene.robot, env.cfg.robot.arms
    decoder = ActionDecoder(ActionCfg(ActionMode[mode], gripper=GripperForm[form]), env.cfg.robot)
    held, now = decoder.decode(decoder.hold(robot), robot)[arm.name], robot.arm(arm.name)
    np.testing.assert_allclose(held.joint_targets, now.q_target, atol=1e-9)
    assert held.gripper_target_m == pytest.approx(now.gripper_target_m, abs=1e-12)
    action = decoder.hold(robot)
    action[0] += 0.5
    moved = decoder.decode(action, robot)[arm.name]
    turned, shifted = moved.joint_targets - held.joint_targets, moved.T_base_ee.p - held.T_base_ee.p
    if mode == "ee_delta":
        np.testing.assert_allclose(shifted, [0.5 * 0.02, 0.0, 0.0], atol=1e-3)
    else:
        np.testing.assert_allclose(turned, [0.5 if mode == "joint_position" else 0.5 * 0.05, *[0.0] * 6], atol=1e-9)


def test_the_engine_cuts_off_speeds_at_the_bound_of_fingers_and_parts(env):
    env.reset(seed=0)
    body = env.episode.scene.objects["drawer"].body
    (joint, *_) = body.movable_joints
    client = body.client
    speeds = []
    for _ in range(20):
        p.setJointMotorControl2(body.body_id, joint.index, p.TORQUE_CONTROL, force=1e6, physicsClientId=client)
        p.stepSimulation(physicsClientId=client)
        speeds.append(abs(p.getJointState(body.body_id, joint.index, physicsClientId=client)[1]))
    assert 0.9 * FASTEST < max(speeds) <= FASTEST
    for key in (f"{ARM}.gripper_joint_velocities", "parts.drawer.drawer.joint_velocity"):
        assert_limits(env.observation_space[key], -FASTEST, FASTEST)


def test_the_joint_of_an_object_that_is_the_same_in_every_episode_has_its_limits(env):
    env.reset(seed=1)
    (joint, *_) = env.episode.scene.objects["drawer"].body.movable_joints
    assert joint.upper > 0.1
    space = env.observation_space["parts.drawer.drawer.joint_position"]
    assert_limits(space, joint.lower - MARGIN_M, joint.upper + MARGIN_M)


@pytest.mark.parametrize("category", sorted(GENERATORS.names()))
def test_joints_of_generated_objects_keep_within_the_bounds_of_their_kind(category):
    generate, cfg = GENERATORS.load(category), ObjectCfg(name="item", category=category)
    for seed in range(20):
        made = generate(seed, name=category)
        for part in made.articulation.parts.values():
            joint = made.model.joints[part.joint]
            assert max(-joint.lower, joint.upper) <= largest_joint_position(cfg, part.kind) < np.inf
            unknown = replace(cfg, source=ObjectSource.partnet_mobility)
            assert largest_joint_position(unknown, part.kind) == np.inf


@pytest.mark.parametrize(
    ("rule", "freed", "kept"),
    [
        ("{view: franka_panda, attribute: encoder_offset, distribution: 0.3}", "joint_positions", "joint_efforts"),
        (
            "{view: franka_panda, attribute: max_efforts, operation: scaling, distribution: 2}",
            "joint_efforts",
            "gripper_target",
        ),
    ],
)
def test_values_that_a_randomization_rule_moves_beyond_the_limits_are_unbounded(make, rule, freed, kept):
    env = make("close_drawer", f"randomization.rules=[{rule}]")
    assert not env.observation_space[f"{ARM}.{freed}"].is_bounded("below")
    assert env.observation_space[f"{ARM}.{kept}"].is_bounded()
    observation, _ = env.reset(seed=1)
    assert env.observation_space.contains(observation)


def test_a_value_beyond_the_space_is_observed_as_the_bound(env, monkeypatch):
    env.reset(seed=0)
    values = dict(env._observable_values())
    key = f"{ARM}.joint_velocities"
    values[key] = np.array([100.0, -100.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    monkeypatch.setattr(env, "_observable_values", lambda: values)
    observation = env._observation()
    assert observation[key][:3].tolist() == [21.75, -21.75, 1.0]
    assert env.observation_space.contains(observation)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("robot", "task"),
    [
        *((robot, "open_drawer") for robot in ROBOTS.names()),
        *(
            ("franka_panda", task)
            for task in ("open_microwave", "open_box", "press_door_lever", "turn_hand_wheel", "place_can")
        ),
        ("dual_panda", "open_pot_held"),
    ],
)
def test_observations_of_random_actions_lie_in_the_space_and_equal_the_simulated_state(make, robot, task):
    rng = np.random.default_rng(0)
    for mode in ("joint_position", "joint_delta", "ee_delta"):
        env = make(task, f"robot={robot}", f"action.mode={mode}", "end_at_violation=false")
        observation, _ = env.reset(seed=0)
        assert env.observation_space.contains(observation)
        for step in range(60):
            if step % 6 == 0:
                action = rng.uniform(env.action_space.low, env.action_space.high)
            observation, *_ = env.step(action)
            assert env.observation_space.contains(observation)
            simulated = env._observable_values()
            assert [key for key in observation if not np.array_equal(observation[key], simulated[key])] == []


@pytest.mark.slow
@pytest.mark.parametrize("task", ["CloseDrawer", "PlaceCan"])
def test_gymnasiums_checks_pass(task):
    env = gymnasium.make(f"unlatch/{task}-v0", render_mode="rgb_array")
    check_env(env.unwrapped)
    env.close()


def test_columns_of_an_export_have_the_bounds_of_the_joints(make):
    env = make("close_drawer", "observation.columns=true", "observation.state=[joint_position,gripper,tcp_pose]")
    state, space = env.observation_space["observation.state"], env.observation_space
    assert_limits(
        gymnasium.spaces.Box(state.low[:8], state.high[:8], dtype=state.dtype),
        [*space[f"{ARM}.joint_positions"].low, *space[f"{ARM}.gripper_opening"].low],
        [*space[f"{ARM}.joint_positions"].high, *space[f"{ARM}.gripper_opening"].high],
    )
    assert np.isinf(state.low[8:]).all()


def test_flags_and_numbers_of_a_record_can_be_observed(make):
    env = make("close_drawer", "observation.keys=['*']")
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    assert_limits(env.observation_space["validity.collision_valid"], 0, 1)
    assert_limits(env.observation_space["time"], 0.0, np.inf)
