"""Measures what demonstrations with images cost, in CPU time and on disk.

Usage: python benchmarks/image_cost.py [episodes=1000] [minutes=15] [size=128] [rate_hz=10] [cores=2] [seed=0]
       [task=open_microwave] [results=false]

Collects episodes in this process with images of the cameras `front` and `wrist`, which are drawn as the episodes are
made, until there are `episodes` successes or `minutes` have passed. Prints the CPU time and the size on disk of a
success, with all failed attempts, as measured and for 1,000 successes on some cores; beside it the CPU time of the same
first episodes without images. One episode is made before, so that caches are filled. `results=true` keeps the figures
for the README.
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
from unlatch.simcore.recording.renders import RenderSet
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, print_line, run_guarded
from unlatch.workflows.runs.schema import CollectCfg

_NAMED = 1000
"""Number of successes for which the README states hours and disk space."""
_BARE = 8
"""Episodes that are also made without images."""
_AT_ONCE = 10
"""Episodes that are made between two looks at the clock."""


@dataclass
class ImageCostCfg:
    """The keys of this benchmark."""

    episodes: int = 1000
    """Successes after which the run ends."""
    minutes: float = 15.0
    """Wall time after which no further episodes begin [min]."""
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
    common = (f"world.record_hz={cfg.rate_hz}", "executor=serial", "pictures=0")
    bare = unlatch.load(cfg.task, *common, seed=cfg.seed)
    drawn = ("cameras=[front,wrist]", f"images.size_px=[{cfg.size},{cfg.size}]", "images.name=set")
    with_images = unlatch.load(cfg.task, *common, *drawn, seed=cfg.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "set")
        for loaded, out in ((bare, Path(name, "bare")), (with_images, folder)):
            unlatch.collect(loaded, episodes=1, out=out)
        before = _size(folder)
        bare_s = _collect(bare, Path(name, "bare"), _BARE)[0] / _BARE
        seconds, attempts, successes = 0.0, 1, 0
        began = time.monotonic()
        while successes < cfg.episodes and time.monotonic() - began < 60.0 * cfg.minutes:
            attempts += _AT_ONCE
            more, successes = _collect(with_images, folder, attempts - 1)
            seconds += more
        size = _size(folder) - before
        renderer = RenderSet.open(folder, "set").header["renderer"]["name"]
    each_s, each_mb = seconds / successes, 1e-6 * size / successes
    hours, gigabytes = each_s * _NAMED / cfg.cores / 3600, 1e-3 * each_mb * _NAMED
    print_line(
        f"{successes} successes of {attempts - 1} attempts with images by {renderer}: {each_s:.2f} s of CPU time and "
        f"{each_mb:.2f} MB a success ({bare_s:.2f} s an attempt without images); {_NAMED:,} on {cfg.cores} cores: "
        f"{60.0 * hours:.0f} minutes, {gigabytes:.2f} GB"
    )
    if cfg.results:
        measured = {"hours": hours, "gigabytes": gigabytes, "renderer": renderer, "successes": successes}
        about = {"rate_hz": cfg.rate_hz, "cores": cfg.cores}
        command = f"python benchmarks/image_cost.py minutes={cfg.minutes:g} rate_hz={cfg.rate_hz} cores={cfg.cores}"
        keep_other("images", {**measured, **about, "command": command, **made_with()})
    return OK


def _collect(cfg: CollectCfg, folder: Path, further: int) -> tuple[float, int]:
    """Makes episodes 1 to `further`; returns the CPU time [s], and how many of them have succeeded."""
    started = time.process_time()
    data = unlatch.collect(cfg, episodes=1 + further, out=folder)
    seconds = time.process_time() - started
    return seconds, sum(item.success for item in data.summaries() if item.number > 0)


def _size(folder: Path) -> int:
    """Returns the size of all files in a folder [bytes]."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
