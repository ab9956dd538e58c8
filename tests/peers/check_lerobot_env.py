"""Compares LeRobot's rollout in our environments with `unlatch evaluate`: the same successes for the same seeds.

Run by `make check-lerobot`, in an environment with LeRobot: `check_lerobot_env.py OUT`. The policy plays recorded
actions of demonstrations; in every odd episode it stops half way, so that some fail.
"""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import closing, redirect_stderr
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from lerobot.envs.configs import EnvConfig
from lerobot.envs.factory import make_env
from lerobot.envs.utils import env_to_policy_features
from lerobot.scripts.lerobot_eval import rollout

from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.success_rules import INITIAL_S

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "lerobot_env_unlatch"))

import lerobot_env_unlatch  # noqa: E402  registers `--env.type=unlatch`

TASK, SEED, EPISODES, ENVS = "close_drawer", 3, 6, 3
SHORT = "task.max_duration_s=10"
CAMERAS = {"cameras": ["front"], "width": 64, "height": 48}
HALF_WAY = """
import numpy as np
from unlatch.simcore.recording.data_set import DataSet
class HalfWay:
    def __init__(self, observation_space, action_space):
        self.data = DataSet.open({data!r})
    def reset(self, observation, info):
        number = info["episode"]
        self.actions = actions_of(self.data, number)
    def act(self, observation):
        action, self.actions = self.actions[0], self.actions[1:] if len(self.actions) > 1 else self.actions
        return action
def actions_of(data, number):
    arrays, arm = data.read(number).arrays, "actions.franka_panda.left"
    actions = np.hstack([arrays[f"{{arm}}.joint_targets"], arrays[f"{{arm}}.gripper_target"]])[{first}:]
    return actions[: len(actions) // 3] if number % 2 else actions
"""


class Player(torch.nn.Module):
    """Plays the actions of one batch of episodes; the last one is repeated."""

    def __init__(self, chunks: list[np.ndarray]) -> None:
        super().__init__()
        self._chunks = chunks
        self._frame = 0
        self.seen: dict[str, Any] = {}

    def reset(self) -> None:
        self._frame = 0

    def select_action(self, observation: dict[str, Any]) -> torch.Tensor:
        self.seen = self.seen or observation
        rows = [chunk[min(self._frame, len(chunk) - 1)] for chunk in self._chunks]
        self._frame += 1
        return torch.from_numpy(np.stack(rows))


def same(value: Any) -> Any:
    """Returns what it gets: there is nothing to normalize."""
    return value


def rolled_out(actions: list[np.ndarray], *, asynchronous: bool) -> list[bool]:
    """Returns the successes that LeRobot counts, in batches of environments."""
    cfg = EnvConfig.get_choice_class("unlatch")(task=TASK, overrides=[f"seed={SEED}", SHORT], **CAMERAS)
    features = env_to_policy_features(cfg)
    expected = {"action": (8,), "observation.state": (8,), "observation.images.front": (3, 48, 64)}
    assert {key: tuple(feature.shape) for key, feature in features.items()} == expected
    found: list[bool] = []
    with closing(make_env(cfg, n_envs=ENVS, use_async_envs=asynchronous)["unlatch"][0]) as env:
        for first in range(0, EPISODES, ENVS):
            player = Player(actions[first : first + ENVS])
            with redirect_stderr(io.StringIO()):  # a bar of progress
                steps = rollout(env, player, same, same, same, same, seeds=list(range(first, first + ENVS)))
            # after an episode, a vector of environments begins the next one, which does not count
            ends = steps["done"].int().argmax(dim=1)
            found += [bool(steps["success"][k, : ends[k] + 1].any()) for k in range(ENVS)]
            shape = tuple(player.seen["observation.images.front"].shape)
            assert shape == (ENVS, 3, 48, 64), shape
            assert all("drawer" in text for text in player.seen["task"]), player.seen["task"]
    return found


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    demos, evaluated = out / "demos", out / "evaluated"
    module = HALF_WAY.format(data=str(demos.absolute()), first=round(INITIAL_S * 30))
    (out / "half_way.py").write_text(module, encoding="utf-8")
    common = [f"task={TASK}", f"seed={SEED}", f"episodes={EPISODES}", "pictures=0", SHORT]
    if evaluated.exists():
        raise SystemExit(f"{evaluated} exists. Give another folder.")
    for words in (["collect", f"out={demos.absolute()}"], ["evaluate", "policy=half_way:HalfWay", "out=evaluated"]):
        command = [sys.executable, "-m", "unlatch", words[0], *common, *words[1:]]
        subprocess.run(command, check=True, cwd=out)
    ours = [item.success for item in DataSet.open(evaluated).summaries()]
    namespace: dict[str, Any] = {}
    exec(module, namespace)
    actions = [namespace["actions_of"](DataSet.open(demos), number) for number in range(EPISODES)]
    assert 0 < sum(ours) < EPISODES, f"{ours} distinguishes nothing"
    # before 0.6, LeRobot's rollout asks for attributes that an asynchronous vector of environments does not have
    for asynchronous in (False, True) if hasattr(EnvConfig, "create_envs") else (False,):
        theirs = rolled_out(actions, asynchronous=asynchronous)
        assert theirs == ours, f"LeRobot counts {theirs}, unlatch evaluate {ours}"
    assert f"lerobot_env_unlatch/{TASK}" in gymnasium.registry
    assert lerobot_env_unlatch.__all__ == ["LeRobotEnv"]
    print(f"LeRobot's rollout and unlatch evaluate count the same: {sum(ours)} of {EPISODES} succeed")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
