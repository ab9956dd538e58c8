"""Environments under odd calls: wrong options, seeds, actions and arguments, copies, and calls out of order."""

import copy
import pickle
import re
from collections.abc import Iterator

import gymnasium
import numpy as np
import pytest

import unlatch
from unlatch.simcore.errors import ConfigError
from unlatch.workflows.gym.env import UnlatchEnv
from unlatch.workflows.gym.make_env import register_environments

pytestmark = pytest.mark.integration
JOINTS = "robots.franka_panda.left.joint_positions"
ID = "unlatch/CloseDrawer-v0"
NO_NUMBER = "options['episode']={} of reset is not a whole number. Expected one, 0 or more."


@pytest.fixture(scope="module")
def env() -> Iterator[UnlatchEnv]:
    made = unlatch.make_env("close_drawer")
    yield made
    made.close()


def test_wrong_options_and_seeds_of_reset_are_named_and_change_nothing(env):
    env.reset(seed=5)
    for options, message in (
        ({"epsiode": 12}, "the unknown key 'epsiode'. Did you mean 'episode'? Expected {'episode': k}"),
        ({"episode": 1, "seed": 3}, "the unknown key 'seed'. Expected {'episode': k}"),
        ({3: 1}, "the unknown key 3. Expected"),
        ({"episode": "12"}, NO_NUMBER.format("'12'")),
        ({"episode": 1.0}, NO_NUMBER.format("1.0")),
        ({"episode": True}, NO_NUMBER.format("True")),
        ({"episode": None}, NO_NUMBER.format("None")),
        ({"episode": -1}, "options['episode']=-1 is out of range. Expected 0 to 9999999999."),
        ({"episode": 10**10}, "options['episode']=10000000000 is out of range."),
        ([("episode", 1)], "options=[('episode', 1)] of reset is of type list. Expected {'episode': k}"),
        ([], "options=[] of reset is of type list."),
    ):
        with pytest.raises(ConfigError, match=re.escape(message)):
            env.reset(seed=6, options=options)
    for seed, message in (
        (True, "seed=True of reset is not a whole number. Expected one, 0 or more."),
        (1.0, "seed=1.0 of reset is not a whole number."),
        (-1, "seed=-1 is out of range. Expected 0 or more."),
    ):
        with pytest.raises(ConfigError, match=re.escape(message)):
            env.reset(seed=seed)
    assert env.reset()[1]["seed"] == env.reset(seed=5, options={"episode": 1})[1]["seed"]


def test_any_whole_number_is_an_episode_and_a_seed(env):
    found = [env.reset(seed=n, options={"episode": n})[1] for n in (2, np.int64(2), np.array(2))]
    assert {(info["episode"], info["seed"]) for info in found} == {(2, found[0]["seed"])}
    assert env.reset(options={})[1]["episode"] == 3


def test_an_action_of_other_values_is_refused_in_a_short_message(env):
    env.reset(seed=0)
    for action, got in (
        (np.zeros(7), "ndarray of shape [7]: [0. 0. 0. 0. 0. 0. 0.]"),
        ([0.0] * 9, "list of shape [9]: [0.0, "),
        (np.full(8, np.nan), "ndarray of shape [8]: [nan nan"),
        (np.full(8, np.inf), "ndarray of shape [8]: [inf inf"),
        (np.zeros(8, dtype=complex), "ndarray of shape [8]: [0.+0.j"),
        (["a"] * 8, "list of shape [8]: ['a', 'a'"),
        ([[0.0], [1.0, 2.0]], "list: [[0.0], [1.0, 2.0]]"),
        ({"left": 1.0}, "dict of shape []: {'left': 1.0}"),
        (None, "NoneType of shape []: None"),
        ([[0.123456789] * 300] * 300, "list of shape [300, 300]: "),
    ):
        expected = f"An action of 8 finite numbers is expected (joint_position, 1 arm), got {got}"
        with pytest.raises(ConfigError, match=re.escape(expected)) as found:
            env.step(action)
        assert len(str(found.value)) < 300


def test_actions_of_any_type_of_numbers_are_taken(env):
    observation, _ = env.reset(seed=0)
    action = np.append(observation[JOINTS], 0.04)
    for given in (action.astype(np.float32), action, list(action), tuple(action)):
        assert env.observation_space.contains(env.step(given)[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make_copy", "begun"),
    [(lambda env: pickle.loads(pickle.dumps(env)), True), (copy.deepcopy, False), (copy.copy, True)],
)
def test_a_copy_is_an_environment_of_its_own_that_goes_on_with_the_run(make_copy, begun):
    env = unlatch.make_env("close_drawer", "action.mode=joint_delta", "object.instance=1", render_mode="rgb_array")
    if begun:
        env.reset(seed=4)
    env.action_space.seed(8)
    made = make_copy(env)
    assert (made.cfg, made.render_mode, made.action_space) == (env.cfg, "rgb_array", env.action_space)
    assert made.observation_space == env.observation_space
    assert np.array_equal(made.action_space.sample(), env.action_space.sample())
    with pytest.raises(gymnasium.error.ResetNeeded):
        made.step(np.zeros(8))
    (first, info), (second, other) = env.reset(), made.reset()
    assert (info["episode"], info["seed"]) == (other["episode"], other["seed"])
    assert all(np.array_equal(first[key], second[key]) for key in first)
    env.close()
    assert made.step(np.ones(8))[0][JOINTS].shape == (7,)
    made.close()


@pytest.mark.slow
def test_an_environment_in_gymnasiums_wrappers_can_be_pickled():
    env = gymnasium.make(ID)
    env.reset(seed=1)
    made = pickle.loads(pickle.dumps(env))
    assert made.spec == env.spec
    assert made.reset(seed=1)[1]["seed"] == env.reset(seed=1)[1]["seed"]
    env.close()
    made.close()


@pytest.mark.slow
def test_calls_before_reset_and_after_close_say_what_to_do():
    env = unlatch.make_env("close_drawer", render_mode="rgb_array")
    for call in (lambda: env.step(np.zeros(8)), env.render, env.record, env.finish):
        with pytest.raises(gymnasium.error.ResetNeeded, match="Call reset\\(\\) before"):
            call()
    env.reset(seed=0)
    env.finish()
    env.close()
    env.close()
    for call in (env.reset, lambda: env.step(np.zeros(8)), env.render):
        with pytest.raises(gymnasium.error.ClosedEnvironmentError, match=r"'close_drawer' is closed\. Make a new one"):
            call()
    assert env.record().code == "not_reached"


@pytest.mark.slow
def test_a_step_after_the_end_changes_nothing_and_gives_no_reward(make):
    env = make("close_drawer", "task.goal.0.value=10", "success_when=held")
    env.reset(seed=0)
    rewards, over = [], False
    while not over:
        last, reward, terminated, truncated, info = env.step(np.append(env.episode.frames.state[JOINTS], 0.04))
        rewards.append(reward)
        over = terminated or truncated
    again, reward, *flags, later = env.step(np.append(last[JOINTS], 0.04))
    assert (reward, flags, later["code"]) == (0.0, [terminated, truncated], info["code"])
    assert rewards == [*[0.0] * (len(rewards) - 1), float(info["success"])]
    assert all(np.array_equal(last[key], again[key]) for key in last)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"robot": "ur5"}, "robot= is not an argument of an environment. Expected some of task, overrides,"),
        ({"robot": "ur5"}, "Set a key of the configuration by overrides=['robot=...']."),
        ({"config_dirs": ["mine"]}, "config_dirs= is not an argument of an environment. Did you mean 'config_dir'?"),
        ({"overrides": "robot=ur5"}, "overrides='robot=ur5' is not a list. Expected one, such as ['robot=ur5']."),
        ({"overrides": [3]}, "An override is 3, of type int. Expected text: 'robot=ur5'."),
        ({"task": 3}, "The task is 3, of type int. Expected text: 'open_drawer'."),
        ({"cfg": {"task": "open_drawer"}}, "cfg is of type dict. Expected what unlatch.load returns."),
        ({"render_mode": "picture"}, "render_mode='picture' is unknown. Expected None or 'rgb_array'."),
    ],
)
@pytest.mark.filterwarnings("ignore:.*render_mode='picture'")
def test_wrong_arguments_of_gymnasium_make_are_named(arguments, message):
    register_environments()
    with pytest.raises(ConfigError, match=re.escape(message)):
        gymnasium.make(ID, **arguments)


@pytest.mark.parametrize(
    ("given", "named", "message"),
    [
        (
            ("close_drawer", ["robot=ur5"]),
            {},
            "An override is ['robot=ur5'], of type list. Expected text: 'robot=ur5'.",
        ),
        (("close_drawer",), {"observation": {"keys": ["robots.*"]}}, "Expected unlatch.ObservationCfg(...)."),
        (("close_drawer",), {"action": "joint_delta"}, "of type str. Expected unlatch.ActionCfg"),
        (("close_drawer",), {"config_dirs": "absent"}, "--config-dir absent is not a folder."),
    ],
)
def test_wrong_arguments_of_make_env_are_named(given, named, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        unlatch.make_env(*given, **named)


def test_a_composed_configuration_of_collection_makes_an_environment_and_takes_no_overrides():
    with pytest.raises(ConfigError, match=r"overrides=\['robot=ur5'\] .* Give them to unlatch.load"):
        unlatch.make_env(unlatch.load("close_drawer"), "robot=ur5")
    env = gymnasium.make(ID, cfg=unlatch.load("close_drawer", "robot=ur5"))
    assert env.unwrapped.cfg.robot.name == "ur5"
    env.close()


@pytest.mark.slow
@pytest.mark.parametrize("context", ["spawn", "forkserver"])
def test_environments_run_in_processes_of_their_own(context):
    register_environments()
    kwargs = {"context": context}
    envs = gymnasium.make_vec(ID, num_envs=2, vectorization_mode="async", vector_kwargs=kwargs)
    observations, infos = envs.reset(seed=3, options={"episode": 1})
    assert infos["episode"].tolist() == [1, 1]
    assert envs.observation_space.contains(observations)
    observations, *_ = envs.step(envs.action_space.sample())
    assert envs.observation_space.contains(observations)
    with pytest.raises(ConfigError, match="the unknown key 'epsiode'"):
        envs.reset(options={"epsiode": 1})
    envs.close(terminate=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name == "unlatch/PlaceCan-v0" else pytest.mark.heavy)  # it has no part
        for name in register_environments()
    ],
)
def test_every_task_can_be_made_by_its_id(name):
    env = gymnasium.make(name)
    observation, _ = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    observation, *_ = env.step(env.action_space.sample())
    assert env.observation_space.contains(observation)
    env.close()
