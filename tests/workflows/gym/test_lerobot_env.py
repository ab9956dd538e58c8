"""The plugin of LeRobot in `examples/`, without LeRobot: `make check-lerobot` runs LeRobot's own rollout in it."""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

import unlatch  # noqa: E402

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[3]
PLUGIN = ROOT / "examples" / "lerobot_env_unlatch"
SMALL = {"cameras": ("front",), "width": 32, "height": 24, "overrides": ["seed=3", "task.max_duration_s=1"]}


@pytest.fixture(scope="module")
def plugin() -> Iterator[ModuleType]:
    sys.path.insert(0, str(PLUGIN))
    import lerobot_env_unlatch

    yield lerobot_env_unlatch
    sys.path.remove(str(PLUGIN))


@pytest.mark.slow
def test_observations_have_the_names_that_lerobot_reads(plugin):
    with closing(plugin.LeRobotEnv("close_drawer", environment_state=True, **SMALL)) as env:
        observation, info = env.reset(seed=0)
        assert env.observation_space.contains(observation)
        assert set(observation) == {"agent_pos", "environment_state", "pixels"}
        assert observation["agent_pos"].shape == (8,)
        assert observation["agent_pos"].dtype == np.float32
        assert {name: image.shape for name, image in observation["pixels"].items()} == {"front": (24, 32, 3)}
        assert (env.task, env._max_episode_steps) == ("close_drawer", 30)
        assert "drawer" in env.task_description
        assert info["is_success"] is False
        np.testing.assert_array_equal(env.render(), observation["pixels"]["front"])


@pytest.mark.slow
def test_a_seed_is_the_number_of_an_episode_of_the_run(plugin):
    ours = unlatch.make_env("close_drawer", "seed=3", "observation.columns=true")
    with closing(ours), closing(plugin.LeRobotEnv("close_drawer", **{**SMALL, "cameras": ()})) as env:
        expected = [ours.reset(options={"episode": k})[0]["observation.environment_state"] for k in (5, 6)]
        with closing(
            plugin.LeRobotEnv("close_drawer", environment_state=True, **{**SMALL, "cameras": ()})
        ) as with_state:
            found = [with_state.reset(seed=5)[0], with_state.reset()[0]]  # without a seed, the next one follows
        for seen, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(seen["environment_state"], wanted.astype(np.float32))
        assert env.reset(seed=5)[1]["episode"] == 5


@pytest.mark.slow
def test_a_vector_of_environments_states_which_episodes_succeeded(plugin, collected):
    data = unlatch.open_dataset(collected("close_drawer", seed=3, episodes=2))
    rows = [
        np.hstack([record.arrays[f"actions.franka_panda.left.{key}"] for key in ("joint_targets", "gripper_target")])[
            5:
        ]
        for record in (data[0], data[1])
    ]
    rows[1] = rows[1][:20]  # stops on the way
    options = {"cameras": (), "overrides": ["seed=3", "task.max_duration_s=8"]}
    envs = gymnasium.make_vec(
        "lerobot_env_unlatch/close_drawer",
        num_envs=2,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP},
        **options,
    )
    with closing(envs):
        envs.reset(seed=[0, 1])
        assert envs.call("_max_episode_steps") == (240, 240)
        ended: dict[int, bool] = {}
        for frame in range(240):
            action = np.stack([row[min(frame, len(row) - 1)] for row in rows])
            _, _, terminated, truncated, info = envs.step(action)
            for k in np.flatnonzero(terminated | truncated):
                ended.setdefault(int(k), bool(info["final_info"]["is_success"][k]))
            if len(ended) == 2:
                break
    assert ended == {0: True, 1: False}


def test_an_unknown_measure_of_success_is_refused(plugin):
    with pytest.raises(ValueError, match=r"success=.best. is unknown. Expected one of: clean, goal\."):
        plugin.LeRobotEnv("close_drawer", success="best")


@pytest.mark.slow
def test_the_file_for_the_hub_makes_environments(plugin):
    spec = importlib.util.spec_from_file_location("hub_env", PLUGIN / "env.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.make_env(n_envs=2)
    with closing(made["unlatch"][0]) as envs:
        assert envs.num_envs == 2
        assert envs.call("task") == ("open_microwave", "open_microwave")
