"""Measures what the images of demonstrations cost beside the demonstrations, in CPU time and on disk.

Usage: python benchmarks/image_cost.py [episodes=8] [size=128] [rate_hz=10] [cores=2] [seed=0] [task=open_microwave]
       [results=false]

Collects episodes in this process, renders them with the cameras `front` and `wrist` and the renderer that `unlatch
render` takes by default here, as video, and prints the CPU time and the size on disk, as measured and for 1,000
episodes on some cores. One episode is made and rendered before, so that caches are filled. `results=true` keeps the
figures for the README.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from fingerprint import made_with
from summary_tables import keep_other

import unlatch
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, print_line, run_guarded

CAMERAS = ("front", "wrist")
_NAMED = 1000
"""Number of episodes for which the README states hours and disk space."""


@dataclass
class ImageCostCfg:
    """The keys of this benchmark."""

    episodes: int = 8
    size: int = 128
    """Width and height of an image [pixels]."""
    rate_hz: int = 10
    """Recorded frames, and images of a camera, a second."""
    cores: int = 2
    """Cores among which the CPU time is divided."""
    seed: int = 0
    task: str = "open_microwave"
    results: bool = False
    """Whether the figures are kept for the README."""


def main(arguments: list[str]) -> int:
    """Collects, renders and prints the times."""
    cfg = read_pairs(ImageCostCfg, arguments)
    loaded = unlatch.load(cfg.task, f"world.record_hz={cfg.rate_hz}", "executor=serial", "pictures=0", seed=cfg.seed)
    options = {"cameras": CAMERAS, "size_px": [cfg.size, cfg.size], "executor": "serial", "all": True}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "set")
        unlatch.render(unlatch.collect(loaded, episodes=1, out=folder), **options)
        start = time.process_time()
        data = unlatch.collect(loaded, episodes=cfg.episodes + 1, out=folder)
        collected = time.process_time()
        renders = unlatch.render(data, **options)
        collect_s, render_s = collected - start, time.process_time() - collected
        size = sum(path.stat().st_size for path in (folder / "renders").rglob("*") if path.is_file())
        renderer = renders.header["renderer"]["name"]
    hours = [seconds * _NAMED / cfg.episodes / cfg.cores / 3600 for seconds in (collect_s, render_s)]
    gigabytes = 1e-9 * size * _NAMED / (cfg.episodes + 1)
    print_line(
        f"CPU time of an episode: {collect_s / cfg.episodes:.2f} s, of its images by {renderer}: "
        f"{render_s / cfg.episodes:.2f} s; {_NAMED:,} on {cfg.cores} cores: {hours[0]:.2f} and {hours[1]:.2f} h, "
        f"{gigabytes:.2f} GB of images"
    )
    if cfg.results:
        measured = {"hours": hours[1], "gigabytes": gigabytes, "renderer": renderer}
        about = {"rate_hz": cfg.rate_hz, "cores": cfg.cores, "episodes": cfg.episodes}
        command = f"python benchmarks/image_cost.py episodes={cfg.episodes} rate_hz={cfg.rate_hz} cores={cfg.cores}"
        keep_other("images", {**measured, **about, "command": command, **made_with()})
    return OK


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:])))
