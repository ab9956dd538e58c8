"""A policy that LeRobot trained on an export, loaded from a folder of its training."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.extras import import_extra
from unlatch.workflows.gym.config import ActionMode
from unlatch.workflows.policies.catalog import PolicySpaces, SingleWorkerPolicy, UserPolicy

if TYPE_CHECKING:
    from unlatch.workflows.gym.env import UnlatchEnv

Array = np.ndarray

PREFIX = "lerobot:"
"""Beginning of a spec of such a policy; the folder follows."""
_FOLDERS = (".", "pretrained_model", "last/pretrained_model", "checkpoints/last/pretrained_model")
"""Where a checkpoint may lie in the folder that a user names."""
_CHUNKED = ("act", "diffusion")
"""Types that predict from a short history of observations which they do not keep themselves."""


def find_checkpoint(address: str) -> Path:
    """Returns the folder `pretrained_model` of a checkpoint.

    Args:
        address: That folder, or the folder of the checkpoint, of all checkpoints (the last one is taken), or of the
            training.

    Raises:
        ConfigError: It has no checkpoint.
    """
    for name in _FOLDERS:
        folder = Path(address, name)
        if (folder / "config.json").is_file() and (folder / "model.safetensors").is_file():
            return folder
    raise ConfigError(
        f"policy='{PREFIX}{address}': the folder has no checkpoint of LeRobot. Expected one with config.json and "
        "model.safetensors, such as OUTPUT_DIR/checkpoints/last/pretrained_model of lerobot-train.",
        key="policy",
    )


def can_batch(address: str) -> bool:
    """Returns whether one network can act for several workers, by the settings of a checkpoint; imports nothing.

    Raises:
        ConfigError: There is no checkpoint.
    """
    settings = _read_settings(address)
    return settings.get("type") in _CHUNKED and settings.get("temporal_ensemble_coeff") is None


def frames_between_predictions(address: str) -> int:
    """Returns after how many frames a checkpoint predicts again, and looks at nothing in between; imports nothing.

    Raises:
        ConfigError: There is no checkpoint.
    """
    settings = _read_settings(address)
    looks_once = settings.get("n_obs_steps") == 1  # else at frames before that of the prediction, too
    return int(settings.get("n_action_steps", 1)) if looks_once and can_batch(address) else 1


def _read_settings(address: str) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads((find_checkpoint(address) / "config.json").read_text(encoding="utf-8"))
    return settings


def load(address: str, env: UnlatchEnv, *, timeout_s: float) -> UserPolicy:
    """Makes the policy for the one environment of a worker.

    Raises:
        ConfigError: There is no such checkpoint, or it does not fit the environment.
        PluginError: LeRobot is not installed.
    """
    checkpoint = open_checkpoint(address, PolicySpaces(env.observation_space, env.action_space, env.cfg.action.mode))
    if can_batch(address):
        return SingleWorkerPolicy(ChunkedPolicy(checkpoint))
    return UserPolicy(SequentialPolicy(checkpoint))


def make_batched(address: str, spaces: PolicySpaces) -> ChunkedPolicy:
    """Makes the policy for all workers.

    Raises:
        ConfigError: There is no such checkpoint, it does not fit the environment, or it is of another type.
        PluginError: LeRobot is not installed.
    """
    if not can_batch(address):
        raise ConfigError(
            f"policy='{PREFIX}{address}' keeps observations of one worker only. Set batch=false.", key="batch"
        )
    return ChunkedPolicy(open_checkpoint(address, spaces))


def open_checkpoint(address: str, spaces: PolicySpaces) -> Checkpoint:
    """Loads a checkpoint for an environment.

    Raises:
        ConfigError: There is no such checkpoint, or it does not fit the environment.
        PluginError: LeRobot is not installed.
    """
    checkpoint = Checkpoint(address, action_size=spaces.action_space.shape[0], action_mode=spaces.action_mode)
    checkpoint.read_inputs(
        {key: np.zeros((1, *box.shape), box.dtype) for key, box in spaces.observation_space.spaces.items()}
    )
    return checkpoint


class Checkpoint:
    """A trained network, with LeRobot's functions for what goes into it and what comes out."""

    def __init__(self, address: str, *, action_size: int, action_mode: ActionMode) -> None:
        """Loads the network, onto a graphics card if there is one.

        Args:
            address: See `find_checkpoint`.
            action_size: Number of values of an action of the robot.
            action_mode: What they mean.

        Raises:
            ConfigError: There is no such checkpoint, or its actions are others.
            PluginError: LeRobot is not installed.
        """
        self._name, folder = f"policy='{PREFIX}{address}'", str(find_checkpoint(address))
        if action_mode is not ActionMode.joint_position:
            raise ConfigError(
                f"{self._name}: action.mode={action_mode.value}, expected joint_position, as in an export. Remove "
                "action.mode.",
                key="action.mode",
            )
        self.torch: Any = _import("torch")
        factory = _import("lerobot.policies.factory")  # registers the types of policies that a configuration names
        self.config: Any = _import("lerobot.configs.policies").PreTrainedConfig.from_pretrained(folder)
        (trained,) = self.config.output_features["action"].shape
        if trained != action_size:
            raise ConfigError(
                f"{self._name}: its actions have {trained} values, those of this robot {action_size}. Expected the "
                "same. Set the robot of the training data.",
                key="robot",
            )
        self.config.device = "cuda" if self.torch.cuda.is_available() else "cpu"
        self.network: Any = factory.get_policy_class(self.config.type).from_pretrained(folder, config=self.config)
        self.network.eval()
        self.prepare: Callable[[dict[str, Any]], dict[str, Any]]
        """Normalizes a batch of inputs."""
        self.finish: Callable[[Any], Any]
        """Returns actions in the units of the training data."""
        overrides = {"device_processor": {"device": self.config.device}}
        self.prepare, self.finish = factory.make_pre_post_processors(
            self.config, pretrained_path=folder, preprocessor_overrides=overrides
        )

    def read_inputs(self, observations: Mapping[str, Array]) -> dict[str, Any]:
        """Returns what the network observes, as tensors of 32-bit numbers; images have their channels first.

        Args:
            observations: Arrays (B, ...) by key.

        Raises:
            ConfigError: A key is missing, or has another shape.
        """
        inputs = {}
        for key, feature in self.config.input_features.items():
            if key not in observations:
                raise ConfigError(
                    f"{self._name} needs '{key}', which is not observed. Set observation.columns=true and what the "
                    f"export had: {_advice(key)}.",
                    key="observation",
                )
            value = self.torch.from_numpy(np.array(observations[key]))
            if value.dtype == self.torch.uint8:
                value = value.movedim(-1, -3) / 255
            if (shape := tuple(value.shape[1:])) != (expected := tuple(feature.shape)):
                raise ConfigError(
                    f"{self._name}: '{key}' has the shape {shape}, expected {expected}. Set what the export had: "
                    f"{_advice(key)}.",
                    key="observation",
                )
            inputs[key] = value.float()
        return inputs


def _import(module: str) -> ModuleType:
    return import_extra(module, extra="lerobot", needed_by="policy=lerobot")


def _advice(key: str) -> str:
    """Returns the keys that decide about a column."""
    if key.startswith("observation.images."):
        return f"sensors=[{key.rpartition('.')[2]}], sensors.0.width, sensors.0.height and observation.images=[rgb]"
    if key == "observation.state":
        return "robot, observation.state and observation.rotation"
    return "task" if key == "observation.environment_state" else key


class ChunkedPolicy:
    """ACT or Diffusion Policy, for any number of workers: all whose last actions are used up share one prediction."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._config = checkpoint.config
        self._chunks: dict[int, list[Array]] = {}
        self._seen: dict[int, deque[dict[str, Any]]] = {}
        self._noise: dict[int, np.random.Generator] = {}

    def reset(self, slot: int, observation: Mapping[str, Array], info: Mapping[str, Any]) -> None:
        """Forgets actions and observations of a worker."""
        self._chunks[slot] = []
        self._seen[slot] = deque(maxlen=self._config.n_obs_steps)
        # seed and episode alone decide about the noise, not the other workers
        self._noise[slot] = np.random.default_rng([info["seed"], info["episode"]])

    def act_batch(self, observations: Mapping[str, Array], slots: Array) -> Sequence[Array]:
        """Returns the next action of every worker."""
        inputs = self._checkpoint.read_inputs(observations)
        for row, slot in enumerate(slots):
            now = {key: value[row] for key, value in inputs.items()}
            self._seen[slot].extend([now] if self._seen[slot] else [now] * self._config.n_obs_steps)
        due = [slot for slot in slots if not self._chunks[slot]]
        if due:
            for slot, chunk in zip(due, self._predict(due), strict=True):
                self._chunks[slot] = list(chunk[: self._config.n_action_steps])
        return [self._chunks[slot].pop(0) for slot in slots]

    def _predict(self, slots: Sequence[int]) -> Array:
        """Returns actions (B, T, n) of these workers."""
        torch, options = self._checkpoint.torch, {}
        batch = {  # (B, time, ...)
            key: torch.stack([torch.stack([now[key] for now in self._seen[slot]]) for slot in slots])
            for key in self._config.input_features
        }
        if self._config.type == "diffusion":
            shape = self._config.horizon, *self._config.output_features["action"].shape
            noise = np.stack([self._noise[slot].standard_normal(shape, dtype=np.float32) for slot in slots])
            options["noise"] = torch.from_numpy(noise).to(self._config.device)
        else:
            batch = {key: value[:, -1] for key, value in batch.items()}
        with torch.inference_mode():
            chunks = self._checkpoint.network.predict_action_chunk(self._checkpoint.prepare(batch), **options)
            actions: Array = self._checkpoint.finish(chunks).cpu().numpy().astype(float)
        return actions


class SequentialPolicy:
    """A network of any type, which keeps the observations and actions of one worker itself."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._language = ""

    def reset(self, observation: Mapping[str, Array], info: Mapping[str, Any]) -> None:
        """Begins an episode. Seed and episode decide about the noise of the network."""
        drawn = np.random.default_rng([info["seed"], info["episode"]]).integers(2**63)
        self._checkpoint.torch.manual_seed(int(drawn))
        self._checkpoint.network.reset()
        self._language = info["language"][0]

    def act(self, observation: Mapping[str, Array]) -> Array:
        """Returns the next action (n,)."""
        inputs = self._checkpoint.read_inputs({key: np.asarray(value)[None] for key, value in observation.items()})
        with self._checkpoint.torch.inference_mode():
            batch = self._checkpoint.prepare({"task": [self._language], **inputs})
            actions = self._checkpoint.finish(self._checkpoint.network.select_action(batch))
        return actions[0].cpu().numpy().astype(float)
