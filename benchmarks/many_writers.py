"""A thousand writers into one folder, and the opening of a very large set: file counts, times of a write, of the index.

    python benchmarks/many_writers.py writers=1000 episodes=10 processes=8 opened=100000

Each of `processes` plays its share of the writers, every one with an area, a lock and an index of its own, and writes
small records in turns. Then a set of `opened` episodes of which nothing but folders and index lines exist is opened by
`unlatch list data`, `watch` and `report`, with their CPU time and memory: a file of an episode that was read would be
an error: there is none.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unlatch.simcore.errors import SimCoreError
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command import run_guarded

HEADER = {"config": {"task": {"name": "many"}, "skills": [{"objects": ["box"]}]}}


@dataclass
class ManyWritersCfg:
    """What the benchmark takes."""

    writers: int = 1000
    episodes: int = 10
    """Episodes of each writer."""
    processes: int = 8
    """Processes that play the writers."""
    opened: int = 100_000
    """Episodes of the set that is only opened."""
    folder: str | None = None
    """Where the sets are made; null: the system's place for temporary files."""


def main() -> int:
    """Prints the figures; exit code 1 if an episode is missing."""
    cfg = read_pairs(ManyWritersCfg, sys.argv[1:])
    place = Path(tempfile.mkdtemp(dir=cfg.folder))
    try:
        missing = _write(cfg, place / "written")
        _open(cfg.opened, place / "opened")
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return int(missing > 0)


def _write(cfg: ManyWritersCfg, folder: Path) -> int:
    with DataSet.create_or_resume(folder, header=HEADER):
        pass
    context = multiprocessing.get_context("spawn")
    started = time.perf_counter()
    with context.Pool(cfg.processes) as pool:
        parts = [(folder, list(range(part, cfg.writers, cfg.processes)), cfg) for part in range(cfg.processes)]
        times = np.concatenate(pool.map(_play, parts, chunksize=1))
    seconds = time.perf_counter() - started
    n = cfg.writers * cfg.episodes
    p50, p99, worst = (1000.0 * float(value) for value in np.quantile(times, [0.5, 0.99, 1.0]))
    print(f"{cfg.writers} writers, {n} episodes in {seconds:.1f} s = {n / seconds:,.0f} a second")
    print(f"a write: median {p50:.1f} ms, 99 % {p99:.1f} ms, longest {worst:.1f} ms")
    files = sum(1 for path in folder.rglob("*") if path.is_file())
    data_set = DataSet.open(folder)
    started = time.perf_counter()
    there = sum(1 for _ in data_set.each_summary())
    seconds = time.perf_counter() - started
    print(f"{files} files, {len(list((folder / 'index').iterdir()))} indices, read in {seconds:.2f} s")
    print(f"left in .tmp: {len(list((folder / '.tmp').iterdir()))}; missing: {n - there}")
    return n - there


def _play(part: tuple[Path, list[int], ManyWritersCfg]) -> np.ndarray:
    """Plays writers in turns; the times of their writes [s]."""
    folder, writers, cfg = part
    times = []
    with ExitStack() as stack:
        sets = {writer: stack.enter_context(DataSet.open(folder, worker=f"s{writer}")) for writer in writers}
        for turn in range(cfg.episodes):
            for writer, data_set in sets.items():
                number = turn * cfg.writers + writer  # neighbours share a folder: that is where writers meet
                started = time.perf_counter()
                data_set.write(EpisodeRecord(number=number, seed=number, success=True))
                times.append(time.perf_counter() - started)
    return np.array(times)


def _open(n: int, folder: Path) -> None:
    with DataSet.create_or_resume(folder, header=HEADER) as data_set:
        for number in range(n):
            data_set.folder_of(number).mkdir(parents=True)
    index = folder / "index"
    index.mkdir()
    line = {"code": None, "n_actions": 200, "seed": 1, "state_sha256": "0" * 64, "success": True}
    line["timings_ms"] = {"execute": 487.123, "plan": 76.456, "reset": 40.789, "write": 11.012}
    line["objects"] = {"box": {"category": "box", "instance": "1", "x_m": 0.5, "y_m": 0.1, "yaw_rad": 0.2}}
    files = [(index / f"s{writer}.jsonl").open("w") for writer in range(100)]
    for number in range(n):
        files[number % 100].write(json.dumps({**line, "number": number}, sort_keys=True) + "\n")
    for file in files:
        file.close()
    print(f"{n:,} episodes without one of their files:")
    for words in (["list", "data"], ["watch"], ["report"]):
        seconds, peak_mb, text = _measured([*words, str(folder), *(["pictures=0"] if words == ["report"] else [])])
        counted = "counts all" if f"{n}/{n}" in text or words == ["report"] else f"says {text!r}"
        print(f"unlatch {' '.join(words)}: {counted}, {seconds:.1f} s of CPU, {peak_mb:.0f} MB at most")


def _measured(words: list[str]) -> tuple[float, float, str]:
    """CPU time [s] and the most resident memory [MB] of a command, and what it said."""
    process = subprocess.Popen([sys.executable, "-m", "unlatch", *words], stdout=subprocess.PIPE, text=True)
    text = process.stdout.read() if process.stdout is not None else ""
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SimCoreError(f"`unlatch {' '.join(words)}` ended with {os.waitstatus_to_exitcode(status)}.")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024.0, text


if __name__ == "__main__":
    sys.exit(run_guarded(main))
