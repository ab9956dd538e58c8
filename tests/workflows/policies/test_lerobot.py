"""Policies that LeRobot trained; `make check-lerobot` tests them with LeRobot itself."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict

import unlatch
from unlatch.simcore.errors import ConfigError, PluginError
from unlatch.simcore.extras import install_command
from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.commands.check import evaluate_command as evaluate
from unlatch.workflows.gym.config import ActionMode, ObservationCfg
from unlatch.workflows.policies.catalog import PolicySpaces
from unlatch.workflows.policies.lerobot import can_batch, find_checkpoint, make_batched, open_checkpoint
from unlatch.workflows.runs.evaluate import make_env_of
from unlatch.workflows.runs.loading import config_as
from unlatch.workflows.runs.schema import EvaluateCfg

Array = np.ndarray
JOINTS = 3
CHUNK = 4


class Network:
    """Predicts its newest state plus 0, 1, 2, ... and the first number of its noise."""

    made: ClassVar[list[Network]] = []

    def __init__(self) -> None:
        self.batches: list[int] = []
        Network.made.append(self)

    def eval(self) -> None:
        """Does nothing."""

    def predict_action_chunk(self, batch: dict[str, Any], noise: Any = None) -> Any:
        state = batch["observation.state"]
        self.batches.append(len(state))
        import torch

        newest = state if noise is None else state[:, -1] + noise[:, 0, :1]
        return newest[:, None] + torch.arange(CHUNK)[None, :, None]

    def reset(self) -> None:
        self.batches.clear()

    def select_action(self, batch: dict[str, Any]) -> Any:
        import torch

        assert batch["task"] == ["Close it."]
        return batch["observation.state"] + 1e-4 * torch.rand(1)


@pytest.fixture
def trained(tmp_path, monkeypatch) -> Any:
    """Writes a checkpoint that a stand-in for LeRobot reads; returns the output folder of its training."""
    pytest.importorskip("torch")
    config = SimpleNamespace(
        input_features={"observation.state": SimpleNamespace(shape=(JOINTS,))},
        output_features={"action": SimpleNamespace(shape=(JOINTS,))},
        n_obs_steps=1,
        n_action_steps=2,
        horizon=CHUNK,
    )

    def read(folder: str) -> Any:
        vars(config).update(json.loads(Path(folder, "config.json").read_text()))
        return config

    def find_class(kind: str) -> Any:
        return SimpleNamespace(from_pretrained=lambda folder, config: Network())

    names = ("lerobot", "lerobot.configs", "lerobot.configs.policies", "lerobot.policies", "lerobot.policies.factory")
    modules: dict[str, Any] = {name: ModuleType(name) for name in names}
    modules["lerobot.configs.policies"].PreTrainedConfig = SimpleNamespace(from_pretrained=read)
    modules["lerobot.policies.factory"].get_policy_class = find_class
    modules["lerobot.policies.factory"].make_pre_post_processors = lambda *_, **__: (lambda item: item,) * 2
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    Network.made.clear()

    def write(kind: str, **settings: Any) -> str:
        vars(config).update(settings)
        folder = tmp_path / "training" / "checkpoints" / "last" / "pretrained_model"
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps({"type": kind}))
        (folder / "model.safetensors").write_bytes(b"")
        return str(tmp_path / "training")

    return write


def spaces(
    size: int = JOINTS, actions: int = JOINTS, key: str = "observation.state", mode: ActionMode | None = None
) -> PolicySpaces:
    observed = Dict({key: Box(-1.0, 1.0, (size,))})
    return PolicySpaces(observed, Box(-1.0, 1.0, (actions,)), mode or ActionMode.joint_position)


def seen(*states: float) -> dict[str, Array]:
    return {"observation.state": np.array([[state] * JOINTS for state in states])}


def test_a_checkpoint_is_found_in_every_folder_above_it(trained):
    folder = Path(trained("act"))
    for inner in ("", "checkpoints", "checkpoints/last", "checkpoints/last/pretrained_model"):
        assert find_checkpoint(str(folder / inner)).resolve() == folder / "checkpoints/last/pretrained_model"


@pytest.mark.parametrize(
    ("settings", "frames"),
    [
        ({"type": "act", "n_obs_steps": 1, "n_action_steps": 8}, 8),
        ({"type": "act", "n_obs_steps": 1, "n_action_steps": 8, "temporal_ensemble_coeff": 0.01}, 1),
        ({"type": "diffusion", "n_obs_steps": 2, "n_action_steps": 8}, 1),
        ({"type": "smolvla", "n_obs_steps": 1, "n_action_steps": 50}, 1),
        ({"type": "act"}, 1),
    ],
)
def test_images_are_made_when_a_checkpoint_predicts_if_it_looks_at_nothing_in_between(
    settings, frames, tmp_path, monkeypatch
):
    (tmp_path / "config.json").write_text(json.dumps(settings))
    (tmp_path / "model.safetensors").write_bytes(b"")
    seen: list[ObservationCfg] = []
    monkeypatch.setattr("unlatch.workflows.gym.env.UnlatchEnv", lambda cfg: seen.append(cfg.observation))
    cfg = config_as(EvaluateCfg, unlatch.load("close_drawer", "sensors=[front]"), policy=f"lerobot:{tmp_path}")
    for chosen in (None, 3):
        make_env_of(replace(cfg, observation=ObservationCfg(images=["rgb"], images_every=chosen)))
    make_env_of(cfg)
    assert [each.images_every for each in seen] == [frames, 3, 1]


def test_a_folder_without_a_checkpoint_is_refused_before_anything_is_written(tmp_path, capsys):
    out = tmp_path / "out"
    assert evaluate(["task=close_drawer", f"policy=lerobot:{tmp_path}", f"out={out}"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "the folder has no checkpoint of LeRobot. Expected one with config.json and model.safetensors" in said
    assert not out.exists()


def test_workers_whose_actions_are_used_up_share_one_prediction(trained):
    policy = make_batched(folder := trained("act"), spaces())
    for slot in (0, 2):
        policy.reset(slot, {}, {"seed": 7, "episode": slot})
    asked = [((1.0, 2.0), (0, 2)), ((5.0, 6.0), (0, 2)), ((8.0,), (2,)), ((3.0, 4.0), (0, 2))]
    given = [[float(row[0]) for row in policy.act_batch(seen(*states), np.array(slots))] for states, slots in asked]
    assert given == [[1.0, 2.0], [2.0, 3.0], [8.0], [3.0, 9.0]]  # two actions of each prediction
    assert Network.made[0].batches == [2, 1, 1]
    policy = make_batched(folder, spaces())
    for state in (1.0, 5.0):  # a reset forgets the rest of a prediction
        policy.reset(0, {}, {"seed": 7, "episode": 0})
        assert policy.act_batch(seen(state), np.array([0]))[0].tolist() == [state] * JOINTS


def test_the_noise_of_an_episode_does_not_depend_on_other_workers(trained):
    policy = make_batched(trained("diffusion", n_obs_steps=2), spaces())
    for slot, episode in ((0, 4), (1, 9)):
        policy.reset(slot, {}, {"seed": 7, "episode": episode})
    together = policy.act_batch(seen(0.0, 0.0), np.array([0, 1]))
    policy.reset(0, {}, {"seed": 7, "episode": 9})
    alone = policy.act_batch(seen(0.0), np.array([0]))
    assert together[1].tolist() == alone[0].tolist()
    assert together[0].tolist() != alone[0].tolist()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"key": "robots.arm"}, "needs 'observation.state', which is not observed. Set observation.columns=true"),
        ({"size": 5}, "'observation.state' has the shape (5,), expected (3,). Set what the export had: robot"),
        ({"actions": 8}, "its actions have 3 values, those of this robot 8."),
        ({"mode": ActionMode.ee_delta}, "action.mode=ee_delta, expected joint_position"),
    ],
)
def test_what_does_not_fit_the_training_is_named(trained, wrong, said):
    folder = trained("act")
    with pytest.raises(ConfigError) as caught:
        open_checkpoint(folder, spaces(**wrong))
    assert said in str(caught.value)


def test_a_type_that_keeps_its_own_state_runs_in_each_worker_only_and_a_missing_package_is_named(trained, monkeypatch):
    folder = trained("smolvla")
    assert not can_batch(folder)
    with pytest.raises(ConfigError, match=r"keeps observations of one worker only. Set batch=false."):
        make_batched(folder, spaces())
    monkeypatch.setitem(sys.modules, "lerobot.configs.policies", None)
    with pytest.raises(PluginError, match="Install it: " + re.escape(install_command("lerobot"))):
        open_checkpoint(folder, spaces())


@pytest.mark.parametrize("kind", ["act", "smolvla"])
@pytest.mark.slow
def test_an_episode_with_a_checkpoint_is_recorded(trained, kind, tmp_path):
    folder = trained(
        kind,
        input_features={"observation.state": SimpleNamespace(shape=(8,))},
        output_features={"action": SimpleNamespace(shape=(8,))},
    )
    options = ["executor=serial", "batch=false", "episodes=1", "pictures=0", "task.max_duration_s=1"]
    columns = ["observation.columns=true", "task.language=[Close it.]"]
    command = ["task=close_drawer", f"policy=lerobot:{folder}", *columns, *options, f"out={tmp_path / 'out'}"]
    assert evaluate(command) == 0
    record = DataSet.open(tmp_path / "out").read(0)
    assert record.code == "timeout", record.evidence
