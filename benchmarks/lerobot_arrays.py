"""Trains ACT or Diffusion Policy of LeRobot on arrays of `examples/learn/states.py`, and serves it. Needs no Unlatch.

    python benchmarks/lerobot_arrays.py SET.npz ... out=FOLDER type=act steps=15000 batch=128 [KEY=VALUE ...]
    python benchmarks/lerobot_arrays.py FOLDER port=5800

KEY is one of the policy's configuration, such as `chunk_size`. The policy, what it normalizes and its optimizer are
LeRobot's own. `lerobot-train` reads the videos of an export again for every batch, at 12 to 18 steps a second; here all
images lie in memory.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "examples" / "learn"))
import numpy as np
import torch
from policy import ChunkPolicy
from serve import serve
from states import STATE
from train import IMAGE, read_sets

ACTION = "action"
OURS = {"out": "", "type": "act", "steps": 15000, "batch": 128, "seed": 0, "hidden": ""}
IMAGENET = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
"""Statistics that `lerobot-train` takes for images of every set."""


def as_images(images: torch.Tensor) -> torch.Tensor:
    """Returns images (..., H, W, 3) of 8 bits as (..., 3, H, W) from 0 to 1."""
    return images.movedim(-1, -3).float() / 255.0


def describe(values: torch.Tensor) -> dict[str, torch.Tensor]:
    """Returns the statistics of columns (N, n) that LeRobot normalizes with."""
    return {"mean": values.mean(0), "std": values.std(0), "min": values.amin(0), "max": values.amax(0)}


def train(paths: list[Path], options: dict[str, Any], keys: dict[str, Any]) -> None:
    """Trains and keeps a policy; `keys` are of its configuration."""
    from lerobot.configs import FeatureType, PolicyFeature
    from lerobot.policies.factory import get_policy_class, make_policy_config, make_pre_post_processors

    torch.manual_seed(options["seed"])
    torch.set_float32_matmul_precision("high")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_default_device(device)
    names, _, observed, *arrays = read_sets(paths)
    kinds = [f".{kind}" for kind in options["hidden"].split(",") if kind]
    is_shown = torch.tensor([not any(kind in name for kind in kinds) for name in names])
    actions, ends = map(torch.tensor, arrays)
    seen = {key: torch.as_tensor(values, device=device) for key, values in observed.items()}
    seen[STATE] = seen[STATE][:, is_shown]
    cameras = [key for key in seen if key.startswith(IMAGE)]
    features = {STATE: PolicyFeature(FeatureType.STATE, (seen[STATE].shape[1],))}
    for key in cameras:
        _, height, width, _ = seen[key].shape
        features[key] = PolicyFeature(FeatureType.VISUAL, (3, height, width))
    output = {ACTION: PolicyFeature(FeatureType.ACTION, (actions.shape[1],))}
    config = make_policy_config(
        options["type"], input_features=features, output_features=output, device=device, push_to_hub=False, **keys
    )
    policy = get_policy_class(options["type"])(config).to(device).train()
    statistics = {STATE: describe(seen[STATE]), ACTION: describe(actions)}
    imagenet = {name: torch.tensor(values)[:, None, None] for name, values in IMAGENET.items()}
    statistics |= dict.fromkeys(cameras, imagenet)
    before, after = make_pre_post_processors(config, dataset_stats=statistics)
    optimizer = config.get_optimizer_preset().build(policy.get_optim_params())
    preset = config.get_scheduler_preset()
    schedule = preset.build(optimizer, options["steps"]) if preset else None

    starts = torch.nn.functional.pad(ends[1:] != ends[:-1], (1, 0), value=True).nonzero()[:, 0]
    first = starts[torch.searchsorted(starts, torch.arange(len(ends)), right=True) - 1]
    back = config.observation_delta_indices
    ahead = torch.tensor(config.action_delta_indices)
    print(f"data: {len(starts)} episodes to train on, 0 held out", flush=True)
    start_s = time.perf_counter()
    for step in range(1, options["steps"] + 1):
        some = torch.randint(len(ends), (options["batch"],))
        rows = some if back is None else (some[:, None] + torch.tensor(back)).clamp(min=first[some][:, None])
        batch = {STATE: seen[STATE][rows].float(), **{key: as_images(seen[key][rows]) for key in cameras}}
        wanted = some[:, None] + ahead
        inside = wanted.clamp(first[some][:, None], ends[some][:, None])
        batch |= {ACTION: actions[inside].float(), "action_is_pad": wanted != inside}
        loss, _ = policy.forward(before(batch))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), config.get_optimizer_preset().grad_clip_norm)
        optimizer.step()
        if schedule:
            schedule.step()
        if step % 500 == 0 or step == options["steps"]:
            print(f"step {step}: loss {loss.item():.4f}, {time.perf_counter() - start_s:.0f} s", flush=True)
    for part in (policy, before, after):
        part.save_pretrained(Path(options["out"]))


class Network:
    """A trained policy, asked as the networks of `examples/learn`."""

    def __init__(self, folder: Path) -> None:
        """Loads it."""
        from lerobot.configs import PreTrainedConfig
        from lerobot.policies.factory import get_policy_class, make_pre_post_processors

        self.config = PreTrainedConfig.from_pretrained(folder)
        self.config.device = self.device = "cuda" if torch.cuda.is_available() else "cpu"
        kind = get_policy_class(self.config.type)
        self.policy = kind.from_pretrained(folder, config=self.config).to(self.device).eval()
        of_device = {"device_processor": {"device": self.device}}
        self.before, self.after = make_pre_post_processors(
            self.config, pretrained_path=str(folder), preprocessor_overrides=of_device
        )
        self.cfg = SimpleNamespace(views=list(self.config.image_features))

    @torch.no_grad()
    def act(self, seen: dict[str, np.ndarray], said: Any = ()) -> np.ndarray:
        """Returns actions (N, chunk, n) for observations by key."""
        images = {key: as_images(torch.tensor(seen[key], device=self.device)) for key in self.cfg.views}
        batch = self.before({STATE: torch.tensor(seen[STATE], device=self.device).float(), **images})
        if self.config.type == "diffusion":  # its `predict_action_chunk` keeps a history, of one environment only
            stacked = torch.stack([batch[key] for key in self.cfg.views], dim=1)[:, None]
            batch = {STATE: batch[STATE][:, None], "observation.images": stacked}
            return self.after(self.policy.diffusion.generate_actions(batch)).cpu().numpy()
        return self.after(self.policy.predict_action_chunk(batch)).cpu().numpy()


def main(words: list[str]) -> None:
    """Trains, or serves."""
    given = dict(word.split("=", 1) for word in words if "=" in word)
    paths = [Path(word) for word in words if "=" not in word]
    if not paths or ("out" in given) == paths[0].is_dir():
        sys.exit(__doc__)
    if paths[0].is_dir():
        serve(ChunkPolicy(None, None, [Network(paths[0])]), given)
        return
    keys = {key: read_value(given.pop(key)) for key in list(given) if key not in OURS}
    train(paths, {**OURS, **{key: type(OURS[key])(value) for key, value in given.items()}}, keys)


def read_value(text: str) -> Any:
    """Returns a value of JSON, or else the text itself."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    main(sys.argv[1:])
