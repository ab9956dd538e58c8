"""Measures the speed of `unlatch export` on one core, and its memory over a thousand episodes.

    unlatch collect task=open_microwave episodes=8 out=data/mw pictures=0
    unlatch render data/mw cameras=[front] cameras.0.width=320 cameras.0.height=240
    python benchmarks/export.py data=data/mw render=default episodes=1000

Exports every rendered episode alone, with states and one camera, to a new LeRobot set. Prints wall time and CPU time
compared with the duration of the episode. Then makes a set of many copies of the first episode, with other numbers.
Exports this set in one run, and prints the resident memory after every tenth of it.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
import dataclasses
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil

from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.export.exporter import run_export
from unlatch.simcore.recording.export.lerobot import LeRobotCfg, LeRobotExporter
from unlatch.simcore.recording.export.trajectory import ExportSource
from unlatch.simcore.recording.modality import RGB
from unlatch.simcore.recording.renders import RenderSet
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import run_guarded

LONG_S = 15.0


@dataclasses.dataclass
class BenchCfg:
    """The keys of the benchmark."""

    data: str = "data/mw"
    """A data set with rendered episodes."""
    render: str = "default"
    """Name of the render set."""
    episodes: int = 1000
    """Number of copies for the measurement of memory; 0: no measurement."""


def export(data_set: DataSet, out: Path, cfg: LeRobotCfg, *, report_every: int = 0) -> tuple[float, float, float]:
    """Exports a data set; returns wall time, CPU time and duration of the episodes [s]."""
    wall, cpu, process = time.perf_counter(), time.process_time(), psutil.Process()

    def on_episode(count: int, total: int) -> None:
        if report_every and count % report_every == 0:
            print(f"  {count:5d} of {total}: {process.memory_info().rss / 2**20:7.1f} MiB")

    report = run_export(LeRobotExporter(ExportSource(data_set, cfg), cfg), out, on_episode=on_episode)
    return time.perf_counter() - wall, time.process_time() - cpu, report.seconds


def copies(data_set: DataSet, renders: RenderSet, number: int, count: int, folder: Path) -> DataSet:
    """Returns a data set of copies of one episode, with images."""
    record, images = data_set.read(number), renders.episode(number)
    cameras = [camera for camera in renders.header["cameras"] if RGB in renders.streams[camera["name"]]]
    with DataSet.create_or_resume(folder, header=data_set.header) as many:
        for copy in range(count):
            many.write(dataclasses.replace(record, number=copy, seed=copy))
        with RenderSet.create_or_resume(many.path, renders.name, {**renders.header, "cameras": cameras}) as rendered:
            for copy in range(count):

                def fill(draft: Path) -> dict[str, object]:
                    for camera in cameras:
                        path = images.path(camera["name"], RGB)
                        os.link(path, draft / path.name)
                    return {"n_frames": images.n_frames, "state_sha256": images.state_sha256, "labels": {}}

                rendered.write(copy, fill)
    return many


def main() -> None:
    """Prints both tables."""
    cfg = read_pairs(BenchCfg, sys.argv[1:])
    core = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    data_set = DataSet.open(cfg.data)
    renders = RenderSet.open(data_set.path, cfg.render)
    numbers = [item.number for item in data_set.summaries() if item.success and item.number in renders]
    scratch = Path(tempfile.mkdtemp(prefix=".bench-", dir=data_set.path.absolute().parent))
    try:
        first = LeRobotCfg(render=cfg.render, only=[numbers[0]])
        export(data_set, scratch / "warm", first)
        rows = np.array(
            [
                export(data_set, scratch / str(number), LeRobotCfg(render=cfg.render, only=[number]))
                for number in numbers
            ]
        )  # (N, 3)
        print(f"Export of {len(rows)} episodes, one by one, with states and {', '.join(renders.cameras)}, on one core:")
        for name, column in (("wall", 0), ("CPU", 1)):
            times, pace = rows[:, column], rows[:, 2] / rows[:, column]
            print(
                f"  {name}: median {np.median(times):.2f} s, slowest {times.max():.2f} s per episode; "
                f"{np.median(pace):.0f} times faster than real time, at least {pace.min():.0f}; an episode of "
                f"{LONG_S:.0f} s takes at most {LONG_S / pace.min():.2f} s"
            )
        if cfg.episodes:
            many = copies(data_set, renders, numbers[0], cfg.episodes, scratch / "many")
            print(f"Resident memory during the export of {cfg.episodes} episodes in one run:")
            wall, cpu, lasted = export(
                many, scratch / "all", LeRobotCfg(render=cfg.render), report_every=max(1, cfg.episodes // 10)
            )
            print(
                f"  {lasted:.0f} s of record in {wall:.1f} s wall, {cpu:.1f} s CPU: {lasted / cpu:.0f} times faster "
                f"than real time"
            )
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
