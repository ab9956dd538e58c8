"""Measures what images add to the CPU time of an evaluation, without that of the policy.

Usage: python benchmarks/evaluation_cost.py [episodes=8] [task=open_microwave] [rate_hz=10] [size=128] [every=1,5,12]

Plays the actions of demonstrations in an environment: with observations of numbers, and with images of the cameras
`front` and `wrist` that are new in every frame, every fifth and every twelfth. All take turns, episode by episode.
Prints the median CPU time of an episode with its reset, and how many times that of one from numbers it is. The first
episode of each is left out: it fills caches.
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass

import numpy as np

import unlatch
from unlatch.policies import UnlatchEnv
from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, print_line, run_guarded

CAMERAS = ("front", "wrist")


@dataclass
class EvaluationCostCfg:
    """The keys of this benchmark."""

    episodes: int = 8
    """Demonstrations that are played."""
    task: str = "open_microwave"
    rate_hz: int = 10
    """Recorded frames a second."""
    size: int = 128
    """Width and height of an image [pixels]."""
    every: str = "1,5,12"
    """Frames from new images to the next ones, several with commas."""


def main(arguments: list[str]) -> int:
    """Collects, plays and prints the times."""
    cfg = read_pairs(EvaluationCostCfg, arguments)
    common = [f"world.record_hz={cfg.rate_hz}"]
    sides = [f"sensors.{k}.{side}={cfg.size}" for k in range(len(CAMERAS)) for side in ("width", "height")]
    images = [*common, f"sensors=[{','.join(CAMERAS)}]", *sides, "observation.images=[rgb]"]
    observed = {"numbers": common}
    for frames in cfg.every.split(","):
        observed[f"images, new after {frames} frames"] = [*images, f"observation.images_every={frames}"]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        loaded = unlatch.load(cfg.task, *common, "executor=serial", "pictures=0")
        data = unlatch.collect(loaded, episodes=cfg.episodes, out=folder)
        rule = "success_when=still"  # as demonstrations are judged
        envs = {
            name: stack.enter_context(closing(UnlatchEnv(cfg.task, overrides=[*keys, rule])))
            for name, keys in observed.items()
        }
        times = [[play(env, data, number) for env in envs.values()] for number in range(cfg.episodes)]
    medians = np.median(times[1:], axis=0)
    for name, median in zip(envs, medians, strict=True):
        print_line(f"{name:32}{median:8.3f} s{median / medians[0]:8.2f}")
    return OK


def play(env: UnlatchEnv, data: DataSet, number: int) -> float:
    """Plays a demonstration; returns the CPU time [s]."""
    arrays, arms = data.read(number).arrays, env.cfg.robot.arms
    prefixes = [f"actions.{env.cfg.robot.name}.{arm.name}" for arm in arms]
    columns = [arrays[f"{prefix}.{key}"] for prefix in prefixes for key in ("joint_targets", "gripper_target")]
    actions = np.hstack(columns)
    started = time.process_time()
    env.reset(seed=0, options={"episode": number})
    for action in actions[env.episode.frames.frame :]:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            break
    return time.process_time() - started


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
