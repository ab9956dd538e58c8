"""Measures what the images of demonstrations cost beside the demonstrations, in time and on disk.

Usage: python benchmarks/image_cost.py [episodes=8] [size=128] [rate_hz=30] [workers=2] [seed=0] [task=open_microwave]
       [results=false]

Collects episodes, renders them with the cameras `front` and `wrist` and the renderer that `unlatch render` takes by
default here, as video, and prints both times and the size on disk, as measured and for 1,000 episodes. A few episodes
are collected first, so that the cache is filled. The times include the start of the workers. `results=true` keeps the
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
    rate_hz: int = 30
    """Recorded frames, and images of a camera, a second."""
    workers: int = 2
    seed: int = 0
    task: str = "open_microwave"
    results: bool = False
    """Whether the figures are kept for the README."""


def main(arguments: list[str]) -> int:
    """Collects, renders and prints the times."""
    cfg = read_pairs(ImageCostCfg, arguments)
    loaded = unlatch.load(cfg.task, f"world.record_hz={cfg.rate_hz}", seed=cfg.seed)
    sides = [f"cameras.{i}.{side}={cfg.size}" for i in range(len(CAMERAS)) for side in ("width", "height")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "set")
        unlatch.collect(loaded, episodes=cfg.workers, out=folder, workers=cfg.workers)
        start = time.perf_counter()
        data = unlatch.collect(loaded, episodes=cfg.episodes + cfg.workers, out=folder, workers=cfg.workers)
        collect_s = time.perf_counter() - start
        start = time.perf_counter()
        renders = unlatch.render(data, cameras=CAMERAS, overrides=sides, workers=cfg.workers)
        render_s = (time.perf_counter() - start) * cfg.episodes / (cfg.episodes + cfg.workers)
        size = sum(path.stat().st_size for path in (folder / "renders").rglob("*") if path.is_file())
        renderer = renders.header["renderer"]["name"]
    share = _NAMED / cfg.episodes
    gigabytes = 1e-9 * size * _NAMED / (cfg.episodes + cfg.workers)
    print_line(
        f"{cfg.episodes} episodes: collected in {collect_s:.1f} s, images of {renderer} in {render_s:.1f} s; "
        f"{_NAMED:,} of them: {share * collect_s / 60:.0f} min and {share * render_s / 3600:.1f} h, {gigabytes:.2f} GB"
    )
    if cfg.results:
        measured = {"hours": share * render_s / 3600, "gigabytes": gigabytes, "renderer": renderer}
        about = {"rate_hz": cfg.rate_hz, "workers": cfg.workers, "episodes": cfg.episodes}
        command = f"python benchmarks/image_cost.py episodes={cfg.episodes} rate_hz={cfg.rate_hz} workers={cfg.workers}"
        keep_other("images", {**measured, **about, "command": command, **made_with()})
    return OK


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:])))
