"""A policy that LeRobot trained on an exported data set, for all workers of `unlatch evaluate` at once.

UNLATCH_POLICY=outputs/drawers/checkpoints/last/pretrained_model unlatch evaluate task=close_drawer \
  policy=lerobot_policy:LeRobotPolicy observation.columns=true

Unlatch and LeRobot are in one environment; if they are not, use `lerobot_server.py`. UNLATCH_EXECUTED is the number of
actions of a chunk to execute before the policy predicts the next chunk; without it, as trained.
"""

import os
from collections import deque

import numpy as np
import torch
from lerobot.configs.policies import PreTrainedConfig
from lerobot.policies.factory import get_policy_class, make_pre_post_processors


def load(folder, size, device=None, executed=None):
    """Returns a trained policy, and the functions for its inputs and for its actions.

    folder: `pretrained_model` of a checkpoint. size: numbers of an action. device: for example cpu; None: cuda if there
    is one. executed: actions of a chunk to execute before the policy predicts the next chunk; None: as trained.
    """
    config = PreTrainedConfig.from_pretrained(folder)
    config.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if executed is not None:
        config.n_action_steps = executed
    (trained,) = config.output_features["action"].shape
    if trained != size:
        raise ValueError(f"an action of the policy has {trained} numbers, an action of the robot has {size}")
    policy = get_policy_class(config.type).from_pretrained(folder, config=config).eval()
    overrides = {"device_processor": {"device": config.device}}
    return policy, *make_pre_post_processors(config, pretrained_path=folder, preprocessor_overrides=overrides)


def read_inputs(observation, features):
    """Returns what a policy observes, by key, as tensors with 32-bit numbers; images with the channels first."""
    found = {}
    for key, feature in features.items():
        if key not in observation:
            raise ValueError(f"the observation lacks '{key}': set observation.columns=true, and what the export had")
        value = torch.from_numpy(np.array(observation[key]))
        if value.dtype == torch.uint8:
            value = value.movedim(-1, -3) / 255
        if tuple(value.shape[-len(feature.shape) :]) != tuple(feature.shape):
            raise ValueError(f"'{key}' has the shape {tuple(value.shape)}, the policy expects {tuple(feature.shape)}")
        found[key] = value.float()
    return found


class LeRobotPolicy:
    """ACT or Diffusion Policy, trained on an export with `action=joint_position`, the default."""

    def __init__(self, observation_space, action_space):
        """Loads the checkpoint."""
        executed = int(os.environ.get("UNLATCH_EXECUTED", 0)) or None
        self.policy, self.before, self.after = load(os.environ["UNLATCH_POLICY"], *action_space.shape, None, executed)
        config = self.config = self.policy.config
        if config.type not in ("act", "diffusion") or getattr(config, "temporal_ensemble_coeff", None) is not None:
            raise ValueError("expected act (without temporal ensemble) or diffusion: use lerobot_server.py")
        longest = config.chunk_size if config.type == "act" else config.horizon - config.n_obs_steps + 1
        if not 1 <= config.n_action_steps <= longest:
            raise ValueError(f"UNLATCH_EXECUTED={executed}, expected 1 to {longest}")
        read_inputs(observation_space.sample(), config.input_features)  # refuses other columns before the first episode
        self.chunks, self.seen, self.noise = {}, {}, {}

    def reset(self, slot, observation, info):
        """Forgets actions and observations of a worker."""
        self.chunks[slot] = []
        self.seen[slot] = deque(maxlen=self.config.n_obs_steps)
        self.noise[slot] = np.random.default_rng([info["seed"], info["episode"]])

    def act_batch(self, observations, slots):
        """Returns the next action of every worker."""
        inputs = read_inputs(observations, self.config.input_features)
        for row, slot in enumerate(slots):
            now = {key: value[row] for key, value in inputs.items()}
            self.seen[slot].extend([now] if self.seen[slot] else [now] * self.config.n_obs_steps)
        due = [slot for slot in slots if not self.chunks[slot]]
        if due:
            for slot, chunk in zip(due, self.predict(due), strict=True):
                self.chunks[slot] = list(chunk[: self.config.n_action_steps])
        return [self.chunks[slot].pop(0) for slot in slots]

    @torch.inference_mode()
    def predict(self, slots):
        """Returns a chunk of actions (n, size) for each of these workers."""
        options = {}
        batch = {  # (worker, time, ...)
            key: torch.stack([torch.stack([now[key] for now in self.seen[slot]]) for slot in slots])
            for key in self.config.input_features
        }
        if self.config.type == "diffusion":  # each worker draws its own noise, so it does not depend on the batch
            shape = self.config.horizon, *self.config.output_features["action"].shape
            noise = np.stack([self.noise[slot].standard_normal(shape, dtype=np.float32) for slot in slots])
            options["noise"] = torch.from_numpy(noise).to(self.config.device)
        else:
            batch = {key: value[:, -1] for key, value in batch.items()}
        return self.after(self.policy.predict_action_chunk(self.before(batch), **options)).cpu().numpy().astype(float)
