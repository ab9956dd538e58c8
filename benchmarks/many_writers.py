"""Measures a thousand writers in one folder, and the opening of a very large data set.

    python benchmarks/many_writers.py writers=1000 episodes=10 processes=8 opened=100000

Each of `processes` acts as its share of the writers. Every writer has its own area, lock and index, and writes small
records in turn. Prints file counts, the times of a write, and the time to read the index. Then `unlatch list data`,
`watch` and `report` open a set of `opened` episodes, and their CPU time and memory are printed. Only folders and index
lines of this set exist. So a command that reads a file of an episode fails.
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

from unlatch.simcore.errors import UnlatchError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import run_guarded

HEADER = {"config": {"task": {"name": "many"}, "skills": [{"objects": ["box"]}]}}


@dataclass
class ManyWritersCfg:
    """The keys of the benchmark."""

    writers: int = 1000
    episodes: int = 10
    """Number of episodes of each writer."""
    processes: int = 8
    """Number of processes that act as writers."""
    opened: int = 100_000
    """Number of episodes of the set that is only opened."""
    folder: str | None = None
    """Folder of the sets; null: the system's temporary folder."""


def main() -> int:
    """Prints the figures; exit code 1 if an episode is missing."""
    cfg = read_pairs(ManyWritersCfg, sys.argv[1:])
    place = Path(tempfile.mkdtemp(dir=cfg.folder))
    try:
        missing = _measure_writes(cfg, place / "written")
        _measure_opening(cfg.opened, place / "opened")
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return int(missing > 0)


def _measure_writes(cfg: ManyWritersCfg, folder: Path) -> int:
    with DataSet.create_or_resume(folder, header=HEADER):
        pass
    context = multiprocessing.get_context("spawn")
    started = time.perf_counter()
    with context.Pool(cfg.processes) as pool:
        parts = [(folder, list(range(part, cfg.writers, cfg.processes)), cfg) for part in range(cfg.processes)]
        times = np.concatenate(pool.map(_act_as_writers, parts, chunksize=1))
    seconds = time.perf_counter() - started
    n = cfg.writers * cfg.episodes
    p50, p99, worst = (1000.0 * float(value) for value in np.quantile(times, [0.5, 0.99, 1.0]))
    print(f"{cfg.writers} writers, {n} episodes in {seconds:.1f} s = {n / seconds:,.0f} per second")
    print(f"time of a write: median {p50:.1f} ms, 99 % {p99:.1f} ms, longest {worst:.1f} ms")
    files = sum(1 for path in folder.rglob("*") if path.is_file())
    data_set = DataSet.open(folder)
    started = time.perf_counter()
    there = sum(1 for _ in data_set.each_summary())
    seconds = time.perf_counter() - started
    print(f"{files} files, {len(list((folder / 'index').iterdir()))} indices, read in {seconds:.2f} s")
    print(f"left in .tmp: {len(list((folder / '.tmp').iterdir()))}; missing: {n - there}")
    return n - there


def _act_as_writers(part: tuple[Path, list[int], ManyWritersCfg]) -> np.ndarray:
    """Writes records for several writers in turn; returns the times of the writes [s]."""
    folder, writers, cfg = part
    times = []
    with ExitStack() as stack:
        sets = {writer: stack.enter_context(DataSet.open(folder, worker=f"s{writer}")) for writer in writers}
        for turn in range(cfg.episodes):
            for writer, data_set in sets.items():
                number = turn * cfg.writers + writer  # neighbours share a folder, so writers meet there
                started = time.perf_counter()
                data_set.write(EpisodeRecord(number=number, seed=number, success=True))
                times.append(time.perf_counter() - started)
    return np.array(times)


def _measure_opening(n: int, folder: Path) -> None:
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
    print(f"opening a set of {n:,} episodes whose files do not exist:")
    for words in (["list", "data"], ["watch"], ["report"]):
        seconds, peak_mb, text = _run_measured([*words, str(folder), *(["pictures=0"] if words == ["report"] else [])])
        counted = "counts all" if f"{n}/{n}" in text or words == ["report"] else f"says {text!r}"
        print(f"unlatch {' '.join(words)}: {counted}, {seconds:.1f} s of CPU time, at most {peak_mb:.0f} MB")


def _run_measured(words: list[str]) -> tuple[float, float, str]:
    """Returns CPU time [s], largest resident memory [MB] and output of a command."""
    process = subprocess.Popen([sys.executable, "-m", "unlatch", *words], stdout=subprocess.PIPE, text=True)
    text = process.stdout.read() if process.stdout is not None else ""
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise UnlatchError(f"`unlatch {' '.join(words)}` ended with {os.waitstatus_to_exitcode(status)}.")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024.0, text


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
