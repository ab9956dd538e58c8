"""Measures the memory of a process that renders one episode repeatedly.

    python benchmarks/render_memory.py [data=DATA] [renderer=software] [episodes=300] [frames=4] [size=64]

Each time, opens the record again with another draw of `randomization=full`. Renders the first `frames` frames of one
camera with colours, depth and labels, and writes them into a new set, as `unlatch render` does. Prints the resident
memory of the process after every tenth of the episodes.
"""

from __future__ import annotations

import dataclasses
import shutil
import sys
import tempfile
from pathlib import Path

import psutil

from unlatch.configs.cameras import RenderSettings, read_render_settings, with_cameras
from unlatch.configs.composition import Request
from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.catalogs import RENDERERS
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.renders import RenderSet
from unlatch.simcore.sim.collision import BulletCollisionChecker
from unlatch.simcore.sim.world import World
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.run_report import load_configs
from unlatch.workflows.cli.terminal import CommandLine, run_guarded
from unlatch.workflows.commands.collect import collect_and_report
from unlatch.workflows.images.render import header_of
from unlatch.workflows.images.render_config import RenderCfg
from unlatch.workflows.images.render_job import RenderJob
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.runs.schema import CollectCfg


@dataclasses.dataclass
class BenchCfg:
    """The keys of the benchmark."""

    data: str | None = None
    """A data set with a success; null: collect one."""
    renderer: str = "software"
    """Name of the renderer in the catalog."""
    episodes: int = 300
    """Number of times that the episode is rendered."""
    frames: int = 4
    """Number of frames of each time."""
    size: int = 64
    """Width of the images [pixels]; the height is three quarters of it."""


def cut_record(data_set: DataSet, frames: int) -> EpisodeRecord:
    """Returns the beginning of the first success."""
    record = data_set.read(next(item.number for item in data_set.summaries() if item.success))
    cut = {key: array[: frames + (len(array) == record.n_actions + 1)] for key, array in record.arrays.items()}
    return dataclasses.replace(record, arrays=cut)


def measure(cfg: BenchCfg, data_set: DataSet, episode_cfg: EpisodeCfg, settings: RenderSettings, folder: Path) -> None:
    """Renders the episode repeatedly and prints the memory."""
    record, process = cut_record(data_set, cfg.frames), psutil.Process()
    asked = RenderCfg(modalities=["rgb", "depth", "segmentation"])
    world = World(episode_cfg.world, visuals=True, renderer=RENDERERS.load(cfg.renderer)())
    with world, BulletCollisionChecker() as checker:
        for index in range(cfg.episodes):
            header = header_of(asked, episode_cfg, settings, cfg.renderer)
            with RenderSet.create_or_resume(folder, f"set{index}", header) as render_set:
                job = RenderJob(
                    with_cameras(episode_cfg, settings.cameras),
                    data_set,
                    render_set,
                    cfg.renderer,
                    settings.randomization,
                    {record.number: "0"},
                )
                job.render(record, world, checker, render_set)
            shutil.rmtree(folder / "renders")
            if (index + 1) % max(1, cfg.episodes // 10) == 0:
                memory_mib = process.memory_info().rss / 2**20
                print(f"{cfg.renderer}: {index + 1:5d} episodes: resident memory {memory_mib:7.1f} MiB", flush=True)


def main() -> None:
    """Runs the benchmark."""
    cfg = read_pairs(BenchCfg, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        if cfg.data is None:
            line = CommandLine(overrides=["task=close_drawer", "episodes=1", "executor=serial", "pictures=0"])
            (loaded,) = load_configs("collect", CollectCfg, line)
            loaded.cfg.out = cfg.data = f"{folder}/data"
            collect_and_report(loaded.cfg)
        data_set = DataSet.open(cfg.data)
        episode_cfg = config_of(data_set)
        size = [f"cameras.0.width={cfg.size}", f"cameras.0.height={cfg.size * 3 // 4}"]
        settings = read_render_settings(episode_cfg, ["front"], randomization="full", request=Request(size))
        measure(cfg, data_set, episode_cfg, settings, Path(folder))


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
