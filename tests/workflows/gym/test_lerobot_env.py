"""The plugin of LeRobot in `examples/`, without LeRobot: `make check-lerobot` runs LeRobot's own rollout in it."""

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import unlatch

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
