"""Compares `policy=lerobot:PATH` for several workers with LeRobot's own `select_action`, one worker at a time.

Run by `make check-lerobot`, with LeRobot's Python. The networks are not trained: it checks which observations and
actions belong to which worker, not what a policy can do.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Dict
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.policies.factory import get_policy_class, make_policy_config, make_pre_post_processors

from unlatch.workflows.policies.catalog import PolicySpaces
from unlatch.workflows.policies.lerobot import make_batched, open_checkpoint

SIZES = {"observation.state": 5, "observation.environment_state": 3}
ACTIONS = 4
FRAMES = 9
TYPES: dict[str, dict[str, Any]] = {
    "act": {"dim_model": 32, "dim_feedforward": 32, "n_encoder_layers": 1, "n_vae_encoder_layers": 1, "chunk_size": 6},
    "diffusion": {"horizon": 8, "down_dims": (16, 32), "noise_scheduler_type": "DDIM", "num_inference_steps": 3},
}


def save(kind: str, folder: Path) -> None:
    """Writes a network with random weights, and random statistics of the data."""
    rng = np.random.default_rng(0)
    features = {"observation.state": FeatureType.STATE, "observation.environment_state": FeatureType.ENV}
    config = make_policy_config(
        kind,
        input_features={key: PolicyFeature(type=kind, shape=(SIZES[key],)) for key, kind in features.items()},
        output_features={"action": PolicyFeature(type=FeatureType.ACTION, shape=(ACTIONS,))},
        n_action_steps=4,
        device="cpu",
        push_to_hub=False,
        **TYPES[kind],
    )
    stats = {}
    for key, n in (*SIZES.items(), ("action", ACTIONS)):
        low, spread = rng.normal(size=n), 1.0 + rng.random(n)
        values = {"min": low, "max": low + 2.0 * spread, "mean": low + spread, "std": spread}
        stats[key] = {name: torch.tensor(value, dtype=torch.float32) for name, value in values.items()}
    get_policy_class(kind)(config).save_pretrained(folder)
    for processor in make_pre_post_processors(config, dataset_stats=stats):
        processor.save_pretrained(folder)


def compare(kind: str, folder: Path) -> None:
    """Raises AssertionError if a worker gets other actions than from LeRobot."""
    observed, acted = Dict({key: Box(-1.0, 1.0, (n,)) for key, n in SIZES.items()}), Box(-1.0, 1.0, (ACTIONS,))
    spaces = PolicySpaces(observed, acted)
    batched, alone = make_batched(str(folder), spaces), open_checkpoint(str(folder), spaces)
    rng = np.random.default_rng(1)
    workers = {slot: {key: rng.normal(size=(FRAMES, n)) for key, n in SIZES.items()} for slot in (0, 2)}
    for slot in workers:
        batched.reset(slot, {}, {"seed": 7, "episode": slot})
    given: dict[int, list[np.ndarray]] = {slot: [] for slot in workers}
    for tick in range(FRAMES + 2):  # the second worker begins two ticks later
        asked = [slot for slot in workers if 0 <= tick - slot < FRAMES]
        seen = {key: np.stack([workers[slot][key][tick - slot] for slot in asked]) for key in SIZES}
        for slot, action in zip(asked, batched.act_batch(seen, np.array(asked)), strict=True):
            given[slot].append(action)
    for slot, frames in workers.items():
        alone.network.reset()
        draws = np.random.default_rng([7, slot])
        for frame in range(FRAMES):
            one = {key: torch.tensor(frames[key][frame][None], dtype=torch.float32) for key in SIZES}
            new = frame % 4 == 0 and kind == "diffusion"
            noise = torch.from_numpy(draws.standard_normal((1, 8, ACTIONS), dtype=np.float32)) if new else None
            options = {"noise": noise} if kind == "diffusion" else {}
            with torch.inference_mode():
                expected = alone.finish(alone.network.select_action(alone.prepare(one), **options))[0].numpy()
            np.testing.assert_allclose(given[slot][frame], expected, atol=1e-4, err_msg=f"{kind} {slot} {frame}")


if __name__ == "__main__":
    for kind in TYPES:
        with tempfile.TemporaryDirectory() as folder:
            save(kind, Path(folder))
            compare(kind, Path(folder))
        print(f"{kind}: the batched policy gives the actions of LeRobot")
