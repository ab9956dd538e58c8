"""Tasks as Gymnasium environments: the same scenes, rules and verdicts as in collection."""

import re
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.check import check_record
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.export.config import ExportCfg, RotationForm, StateKind
from unlatch.simcore.recording.export.trajectory import ACTION, TrajectoryMaker
from unlatch.simcore.recording.json_values import plain
from unlatch.simcore.recording.success_rules import INITIAL_S
from unlatch.simcore.sim.world import WorldCfg
from unlatch.workflows.episode.observed_scene import recorded_scene
from unlatch.workflows.gym.env import UnlatchEnv
from unlatch.workflows.gym.make_env import register_environments
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.runner import EpisodeRunner

pytestmark = pytest.mark.integration
ARM = "actions.franka_panda.left"
STILL = "success_when=still"


def recorded(task: str, *overrides: str, number: int = 0) -> EpisodeRecord:
    cfg = load(task, "seed=5", *overrides)
    with EpisodeRunner(cfg) as runner:
        return runner.run(number)


def actions_of(record: EpisodeRecord) -> Iterator[np.ndarray]:
    for index in range(WorldCfg().frames(INITIAL_S), record.n_actions):
        yield np.append(record.arrays[f"{ARM}.joint_targets"][index], record.arrays[f"{ARM}.gripper_target"][index])


def played(env: UnlatchEnv, record: EpisodeRecord) -> tuple[EpisodeRecord, dict[str, Any], bool]:
    _, info = env.reset(seed=5, options={"episode": record.number})
    over = info["code"] is not None
    for action in actions_of(record):
        assert not over
        _, reward, terminated, truncated, info = env.step(action)
        over = terminated or truncated
        assert reward == float(info["success"])
    if not over:
        env.finish()
    return env.record(), info, over


@pytest.mark.slow
@pytest.mark.parametrize(
    "task",
    [
        "open_microwave",
        *(
            pytest.param(task, marks=pytest.mark.slow)
            for task in (
                "close_microwave",
                "open_drawer",
                "close_drawer",
                "open_drawers",
                "open_close_microwave",
                "open_cabinet_drawer",  # the hand is still on the door when nothing is missing of its stage
            )
        ),
    ],
)
def test_recorded_actions_give_the_recorded_states_and_verdict(make, task):
    record = recorded(task, number=1)
    env = make(task, STILL)
    again, info, over = played(env, record)
    assert record.success
    assert over
    assert info["success"]
    assert (again.success, again.code, again.settle) == (record.success, record.code, record.settle)
    for key, array in record.arrays.items():
        if not key.startswith("skills."):
            assert np.array_equal(array, again.arrays[key]), key
    assert check_record(again) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "code"),
    [
        (["skills.0.contact_force_threshold_n=0"], None),
        (["robot.arms.0.gripper.finger_force_limit_n=5"], "overload"),
        (["task.max_duration_s=3"], "timeout"),
        (["task.regions.0.center_m=[-0.2,0.0]", "task.regions.0.half_extent_m=[0.0,0.0]"], "invalid_layout"),
        (["task.goal.0.kind=moved", "task.goal.0.value=1.2"], "not_reached"),
    ],
)
def test_failures_are_judged_as_in_collection(make, overrides, code):
    record = recorded("close_drawer", *overrides)
    env = make("close_drawer", *overrides, STILL)
    again, _, _ = played(env, record)
    assert again.success == record.success
    if code is not None:
        assert record.code == code
        assert again.code in (code, "unsettled")
    assert check_record(again) == []


@pytest.mark.slow
def test_a_layout_without_a_plan_is_not_reached_for_a_policy(make):
    overrides = ["task.regions.0.center_m=[1.6,0.0]"]
    record = recorded("close_drawer", *overrides)
    env = make("close_drawer", *overrides)
    again, _, _ = played(env, record)
    assert record.code == "plan_infeasible"
    assert (again.success, again.code) == (False, "not_reached")


def test_every_task_is_registered():
    ids = register_environments()
    assert {"unlatch/OpenMicrowave-v0", "unlatch/CloseDrawer-v0"} <= set(ids)
    assert set(ids) <= set(gymnasium.registry)


@pytest.mark.slow
def test_resets_count_episodes_and_a_seed_restarts_the_count(make):
    env = make("close_drawer")
    first, info_0 = env.reset(seed=3)
    second, info_1 = env.reset()
    again, info_2 = env.reset(seed=3)
    assert [info["episode"] for info in (info_0, info_1, info_2)] == [0, 1, 0]
    assert all(np.array_equal(first[key], again[key]) for key in first)
    assert not all(np.array_equal(first[key], second[key]) for key in first)


@pytest.mark.slow
def test_concurrent_environments_do_not_affect_each_other():
    register_environments()
    envs = gymnasium.make_vec("unlatch/CloseDrawer-v0", num_envs=2, vectorization_mode="sync")
    observations, _ = envs.reset(seed=3)
    actions = np.stack([np.append(observations["robots.franka_panda.left.joint_positions"][i], 0.04) for i in (0, 1)])
    for _ in range(3):
        observations, *_ = envs.step(actions)
    envs.close()
    alone = UnlatchEnv("close_drawer")
    for index in (0, 1):
        alone.reset(seed=3 + index)
        for _ in range(3):
            observation, *_ = alone.step(actions[index])
        for key, value in observation.items():
            assert np.array_equal(value, observations[key][index]), key
    alone.close()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["joint_delta", "ee_delta"])
def test_delta_actions_move_the_arm_by_the_given_change(make, mode):
    env = make("close_drawer", f"action.mode={mode}")
    before, _ = env.reset(seed=3)
    action = np.zeros(env.action_space.shape)
    action[0] = 0.5
    for _ in range(10):
        after, *_ = env.step(action)
    arm = "robots.franka_panda.left"
    if mode == "joint_delta":
        moved = after[f"{arm}.joint_positions"] - before[f"{arm}.joint_positions"]
        wanted = 10 * 0.5 * 0.05
        assert moved[0] == pytest.approx(wanted, abs=0.05)
        assert np.abs(moved[1:]).max() < 0.02
    else:
        moved = after[f"{arm}.ee_position"] - before[f"{arm}.ee_position"]
        assert moved[0] == pytest.approx(10 * 0.5 * 0.02, abs=0.03)
        assert np.abs(moved[1:]).max() < 0.02


@pytest.mark.slow
def test_render_gives_a_picture(make):
    env = make("close_drawer", render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (360, 480, 3)
    assert picture.dtype == np.uint8
    assert picture.std() > 10


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["observation.keys=[robot.*]"], "matches no record key"),
        (["observation.keys=[]"], "observation.keys is empty"),
        (["action.mode=torque"], "torque"),
        (["observation.state=[gripper,geometri]"], "[1]='geometri' is unknown. Did you mean 'geometry'?"),
        (["action.max_joint_delta_rad=-1"], "out of range"),
        (["observation.point_cloud=-1"], "observation.point_cloud=-1 is out of range"),
        (["actoin.mode=ee_delta"], "actoin"),
    ],
)
def test_a_wrong_key_is_named_in_the_error(overrides, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        UnlatchEnv("close_drawer", overrides=overrides)


@pytest.mark.slow
def test_images_of_the_sensors_are_observed_and_change_nothing_else(make):
    record = recorded("close_drawer")
    overrides = [
        "sensors=[front]",
        "sensors.0.width=64",
        "sensors.0.height=48",
        "observation.images=[rgb,depth,segmentation]",
    ]
    env = make("close_drawer", *overrides, "observation.columns=true")
    first, _ = env.reset(seed=5, options={"episode": 0})
    for action, _ in zip(actions_of(record), range(60), strict=False):
        last, *_ = env.step(action)
    assert env.observation_space.contains(last)
    image = "sensors.front.rgb_image"
    assert first[image].shape == (48, 64, 3)
    assert first["sensors.front.depth_image_m"].dtype == np.float32
    assert first["sensors.front.segmentation_image"].dtype == np.int32
    assert np.array_equal(first["observation.images.front"], first[image])
    assert (first[image] != last[image]).any()
    q = "robots.franka_panda.left.joint_positions"
    assert np.array_equal(last[q], record.arrays[q][WorldCfg().frames(INITIAL_S) + 60])


@pytest.mark.slow
@pytest.mark.parametrize(("when", "success"), [("held", True), ("still", False)])
def test_a_policy_whose_targets_never_stand_still_succeeds_once_the_goal_has_held(make, when, success):
    record = recorded("close_drawer")
    env = make("close_drawer", f"success_when={when}")
    env.reset(seed=5, options={"episode": 0})
    jitter, over = 1e-3, False
    for action in actions_of(record):
        jitter = -jitter
        _, _, terminated, truncated, info = env.step(action + jitter)
        over = terminated or truncated
        if over:
            break
    if not over:
        env.finish()
    made = env.record()
    assert (over, info["success"], made.success) == (success, success, success)
    assert made.code == (None if success else "unsettled")
    assert check_record(made) == []


ALL_STATES = [*StateKind]
HAND = [StateKind.tcp_pose, StateKind.joint_velocity, StateKind.gripper]
POINTS = {"objects": False, "keypoints": False, "point_cloud": 64, "point_cloud_part_share": 0.75}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "conventions"),
    [
        ("close_drawer", {}),
        ("open_microwave", {"state": ALL_STATES, **POINTS}),
        ("open_cabinet_drawer", {"state": HAND, "rotation": RotationForm.rot6d}),
    ],
)
def test_the_columns_of_an_export_are_observed(make, task, conventions):
    record = recorded(task)
    cfg = ExportCfg(**conventions)
    words = {**conventions, "state": f"[{','.join(kind.name for kind in cfg.state)}]"}
    own = [f"observation.{key}={getattr(value, 'name', value)}" for key, value in words.items()]
    env = make(task, STILL, "observation.columns=true", *own)
    maker = TrajectoryMaker(
        cfg, {"robot": plain(env.cfg.robot)}, scene_of=lambda recorded: recorded_scene(env.cfg, recorded)
    )
    exported = maker.make(record)[0].columns
    wanted = {key: column.values for key, column in exported.items() if key != ACTION}
    observation, _ = env.reset(seed=5, options={"episode": 0})
    first = WorldCfg().frames(INITIAL_S)
    if cfg.point_cloud:
        assert wanted["observation.point_cloud"][0, :, 3].sum() == 48
    for index, action in enumerate(actions_of(record)):
        assert {key for key in observation if key.startswith("observation.")} == set(wanted)
        for key, values in wanted.items():
            assert np.array_equal(observation[key], values[first + index]), (key, index)
        observation, *_ = env.step(action)
    assert index > 60


def test_a_policy_observes_the_readings_of_the_encoders(make):
    rule = "{view: franka_panda, attribute: encoder_offset, distribution: 0.01}"
    env = make("open_drawer", f"randomization.rules=[{rule}]")
    observation, _ = env.reset(seed=5)
    key = "robots.franka_panda.left.joint_positions"
    assert np.allclose(observation[key] - env.episode.frames.state[key], 0.01, atol=1e-12)
