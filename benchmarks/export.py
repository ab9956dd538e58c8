"""How fast a data set is exported on one core, and how much memory that takes over a thousand episodes.

    unlatch collect task=open_microwave episodes=8 out=data/mw pictures=0
    unlatch render data/mw cameras=[front] cameras.0.width=320 cameras.0.height=240
    python benchmarks/export.py data=data/mw render=default episodes=1000

Every rendered episode is exported by itself, states and one camera, to a new LeRobot set: seconds of wall and CPU time,
beside how long it lasted. Then copies of the first one, under other numbers, make a set of many episodes, which is
exported in one go; resident memory is told after every tenth of them.
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

from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.recording.export.lerobot.config import LeRobotCfg
from unlatch.simcore.recording.export.lerobot.exporter import LeRobotExporter
from unlatch.simcore.recording.export.run import run_export
from unlatch.simcore.recording.export.source import Source
from unlatch.simcore.recording.images.modality import RGB
from unlatch.simcore.recording.images.renders import RenderSet
from unlatch.workflows.cli.arguments import read_pairs

LONG_S = 15.0


@dataclasses.dataclass
class BenchCfg:
    """What the benchmark takes."""

    data: str = "data/mw"
    """A data set with rendered episodes."""
    render: str = "default"
    """Its render set."""
    episodes: int = 1000
    """How many copies the memory is measured over; 0: none."""


def export(data_set: DataSet, out: Path, cfg: LeRobotCfg, *, tell: int = 0) -> tuple[float, float, float]:
    """Exports; returns wall time, CPU time and how long the episodes lasted [s]."""
    wall, cpu, process = time.perf_counter(), time.process_time(), psutil.Process()

    def on_episode(count: int, total: int) -> None:
        if tell and count % tell == 0:
            print(f"  {count:5d} of {total}: {process.memory_info().rss / 2**20:7.1f} MiB")

    report = run_export(LeRobotExporter(Source(data_set, cfg), cfg), out, on_episode=on_episode)
    return time.perf_counter() - wall, time.process_time() - cpu, report.seconds


def copies(data_set: DataSet, renders: RenderSet, number: int, count: int, folder: Path) -> DataSet:
    """A data set of copies of one episode, images included."""
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
        print(f"{len(rows)} episodes, one by one, states and {', '.join(renders.cameras)}, one core:")
        for name, column in (("wall", 0), ("CPU", 1)):
            times, pace = rows[:, column], rows[:, 2] / rows[:, column]
            print(
                f"  {name}: median {np.median(times):.2f} s, slowest {times.max():.2f} s an episode; "
                f"{np.median(pace):.0f} times as fast as it lasted, at least {pace.min():.0f}; an episode of "
                f"{LONG_S:.0f} s: {LONG_S / pace.min():.2f} s at most"
            )
        if cfg.episodes:
            many = copies(data_set, renders, numbers[0], cfg.episodes, scratch / "many")
            print(f"{cfg.episodes} episodes in one go, resident memory:")
            wall, cpu, lasted = export(
                many, scratch / "all", LeRobotCfg(render=cfg.render), tell=max(1, cfg.episodes // 10)
            )
            print(f"  {lasted:.0f} s of record in {wall:.1f} s wall, {cpu:.1f} s CPU: {lasted / cpu:.0f} times as fast")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
