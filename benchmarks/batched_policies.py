"""Compares one process that runs a network for all workers with a network in each worker, on this machine's CPU.

The arms stand still, so that both runs simulate the same frames; the actions come from the network's inputs and outputs
nevertheless. Needs the extras `gym` and `train`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import unlatch
from unlatch.workflows.cli.terminal import run_guarded
from unlatch.workflows.runs.evaluate import EvaluationResult

ARM = "robots.franka_panda.left"
INPUTS = (f"{ARM}.joint_positions", f"{ARM}.joint_velocities", f"{ARM}.tcp_position", f"{ARM}.gripper_opening")


class StillNetwork:
    """Stands still; computes a network of three hidden layers of each observation and adds none of it."""

    width = 700
    """Width of a layer: 1,001,000 weights with 18 inputs and 8 outputs."""
    passes = 1
    """How often the network is applied for an action: a policy that denoises its actions does so ten times."""

    def __init__(self, observation_space: Any, action_space: Any) -> None:
        import torch

        self.torch = torch
        torch.set_num_threads(1)
        torch.manual_seed(0)
        size = sum(observation_space[key].shape[0] for key in INPUTS)
        layers: list[Any] = []
        for before, after in ((size, self.width), *(((self.width, self.width),) * 2)):
            layers += [torch.nn.Linear(before, after), torch.nn.ReLU()]
        self.network = torch.nn.Sequential(*layers, torch.nn.Linear(self.width, action_space.shape[0])).eval()

    def reset(self, *_: Any) -> None:
        """Begins an episode, as a policy of one worker or of all."""

    def act(self, observation: dict[str, np.ndarray]) -> np.ndarray:
        """Returns the action of one observation."""
        return self.act_batch({key: observation[key][None] for key in INPUTS}, np.zeros(1, dtype=int))[0]

    def act_batch(self, observations: dict[str, np.ndarray], slots: np.ndarray) -> np.ndarray:
        """Returns one action for each observation, (B, 8)."""
        values = np.hstack([observations[key] for key in INPUTS]).astype(np.float32)
        with self.torch.inference_mode():
            for _ in range(self.passes):
                found = self.network(self.torch.from_numpy(values)).numpy()
        still: np.ndarray = np.hstack([observations[f"{ARM}.joint_positions"], np.full((len(values), 1), 0.04)])
        return still + 0.0 * found


def evaluate(args: argparse.Namespace, folder: str, *, batch: bool) -> tuple[EvaluationResult, float]:
    """Runs one evaluation; returns its result and its wall time [s]."""
    cfg = unlatch.load("close_drawer", "task.max_duration_s=6")
    StillNetwork.width, StillNetwork.passes = args.width, args.passes
    start = perf_counter()
    out = Path(folder) / f"batch-{batch}"
    result = unlatch.evaluate(cfg, StillNetwork, episodes=args.episodes, workers=args.workers, out=out, batch=batch)
    return result, perf_counter() - start


def describe(result: EvaluationResult, seconds: float) -> dict[str, Any]:
    """Returns the figures of one run."""
    per_frame = [item.timings_ms["execute"] / item.n_actions for item in result.data.summaries()]
    figures = {
        "episodes": result.n,
        "wall_s": round(seconds, 1),
        "episodes_per_hour": round(3600 * result.n / seconds),
        "median_ms_per_frame": round(median(per_frame), 2),
    }
    if result.inference is not None:
        figures["mean_batch"] = round(result.inference.mean_batch, 2)
        figures["share_of_time_in_policy"] = round(result.inference.share, 3)
    return figures


def main() -> int:
    """Prints the figures of both runs and their ratio as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=12)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--width", type=int, default=700, help="700 gives one million weights")
    parser.add_argument("--passes", type=int, default=1, help="network evaluations for one action")
    args = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, batch in (("policy_per_worker", False), ("one_process", True)):
            found[name] = describe(*evaluate(args, folder, batch=batch))
    ratio = found["policy_per_worker"]["median_ms_per_frame"] / found["one_process"]["median_ms_per_frame"]
    print(json.dumps({**vars(args), **found, "ratio_of_frame_rates": round(ratio, 2)}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
