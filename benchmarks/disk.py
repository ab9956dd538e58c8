"""Measures the disk space of an episode, by file and by array.

    python benchmarks/disk.py                                  # makes episodes of four tasks
    python benchmarks/disk.py tasks=open_microwave episodes=40 arrays=true
    python benchmarks/disk.py data=data/mw                     # reads a data set, of version 2, 3 or 4 of the format

Prints medians over the episodes in kB (1000 bytes): both files of an episode, and each of them. Beside them stand the
CPU times of encoding and decoding `state.npz` [ms]. With `arrays=true`, prints by array how much larger `state.npz` is
with the array than without it, in bytes. The sum is less than the file, because an array may repeat another one.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EPISODE_FILE, STATE_FILE, EpisodeRecord
from unlatch.simcore.recording.episode_reading import decode_state
from unlatch.simcore.recording.state_file import encode_state
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.run_report import load_configs
from unlatch.workflows.cli.terminal import CommandLine, run_guarded
from unlatch.workflows.runs.code_versions import header_of
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg

_REPEATS = 5
"""How often encoding and decoding are timed; the least time counts."""


@dataclass
class DiskCfg:
    """The keys of the benchmark."""

    tasks: str = "open_microwave,close_microwave,open_drawer,close_drawer"
    """Shipped tasks, separated by commas."""
    episodes: int = 12
    """Episodes of each task."""
    seed: int = 0
    data: str = ""
    """A data set in place of the tasks."""
    arrays: bool = False
    """Whether the share of each array is printed."""


def _collect(task: str, cfg: DiskCfg, folder: Path) -> DataSet:
    overrides = [f"task={task}", f"seed={cfg.seed}", f"episodes={cfg.episodes}"]
    (job,) = load_configs("collect", CollectCfg, CommandLine(overrides=overrides))
    run: CollectCfg = job.cfg
    with DataSet.create_or_resume(folder, header=header_of(run)) as data_set, EpisodeRunner(run) as runner:
        for number in run.numbers():
            data_set.write(runner.run(number))
    return data_set


def _time_ms(call: Callable[[], object]) -> float:
    """Returns the CPU time of a call, the least of several [ms]."""
    times = []
    for _ in range(_REPEATS):
        start = time.process_time()
        call()
        times.append(1e3 * (time.process_time() - start))
    return min(times)


def _measure_episode(data_set: DataSet, record: EpisodeRecord) -> dict[str, float]:
    """Returns sizes [kB] and times [ms] of an episode, by title of the column."""
    folder = data_set.folder_of(record.number)
    state, text = ((folder / name).stat().st_size / 1e3 for name in (STATE_FILE, EPISODE_FILE))
    packed = encode_state(record.arrays)
    return {
        "actions": record.n_actions,
        "kB": state + text,
        STATE_FILE: state,
        EPISODE_FILE: text,
        "encode": _time_ms(lambda: encode_state(record.arrays)),
        "decode": _time_ms(lambda: decode_state(packed, where=STATE_FILE)),
    }


def _array_bytes(record: EpisodeRecord) -> dict[str, int]:
    """Returns by array how many bytes larger `state.npz` is with it than without it."""
    whole = len(encode_state(record.arrays))
    return {
        key: whole - len(encode_state({other: array for other, array in record.arrays.items() if other != key}))
        for key in record.arrays
    }


def _print_row(label: str, data_set: DataSet, *, arrays: bool, titles: bool) -> None:
    found, shares = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
    types: dict[str, str] = {}
    for record in data_set:
        for title, value in _measure_episode(data_set, record).items():
            found[title].append(value)
        for key, size in (_array_bytes(record) if arrays else {}).items():
            shares[key].append(size)
            types[key] = f"{record.arrays[key].dtype} {list(record.arrays[key].shape[1:])}"
    if titles:
        print(f"{'median':<22} {'n':>4} " + " ".join(f"{title:>12}" for title in found))
    cells = " ".join(f"{statistics.median(values):>12.1f}" for values in found.values())
    print(f"{label:<22} {len(found['kB']):>4} {cells}", flush=True)
    for key, sizes in sorted(shares.items(), key=lambda item: -statistics.median(item[1])):
        print(f"  {statistics.median(sizes):>8.0f} bytes  {types[key]:<14} {key}")


def main() -> int:
    """Prints one row for each task or for the data set."""
    cfg = read_pairs(DiskCfg, sys.argv[1:])
    if cfg.data:
        _print_row(Path(cfg.data).name, DataSet.open(cfg.data), arrays=cfg.arrays, titles=True)
        return 0
    for place, task in enumerate(cfg.tasks.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            data_set = _collect(task, cfg, Path(folder) / "set")
            _print_row(task, data_set, arrays=cfg.arrays, titles=place == 0 or cfg.arrays)
    return 0


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
