"""Compares the CPU time of an episode with that of another version of Unlatch, in turns, in one run.

    git worktree add ../before aac7f4c3      # version 0.2.0
    python benchmarks/compare_versions.py before=../before
    python benchmarks/compare_versions.py before=../before tasks=open_drawer episodes=12 rounds=3
    python benchmarks/compare_versions.py before=../before library=true episodes=1

Both versions run in the Python environment of this one. In each round, one process of each version makes the same
episodes after one that is not counted; the least time of each episode over the rounds counts. The table has medians
over the episodes, and the ratio of the sums. Times are CPU times of whole episodes, from the reset to the record in
memory.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from unlatch.configs.group_files import option_names
from unlatch.simcore.errors import UnlatchError
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, run_guarded

_ROOT = Path(__file__).resolve().parents[1]
_CHILD = """
import json, sys, time
import unlatch
from unlatch.workflows.runs.runner import EpisodeRunner

with EpisodeRunner(unlatch.load(*sys.argv[1].split(), seed=int(sys.argv[2]))) as runner:
    runner.run(1000)
    for number in range(int(sys.argv[3])):
        start = time.process_time()
        record = runner.run(number)
        print(json.dumps([time.process_time() - start, bool(record.success)]), flush=True)
"""


@dataclass
class CompareVersionsCfg:
    """The keys of the benchmark."""

    before: str = "../before"
    """Folder of a checkout of the other version."""
    tasks: str = "open_microwave,close_microwave,open_drawer,close_drawer"
    """Shipped tasks, separated by commas."""
    library: bool = False
    """Whether to open every category of the object library in place of the tasks."""
    episodes: int = 8
    rounds: int = 3
    seed: int = 7


def _run(folder: Path, words: str, cfg: CompareVersionsCfg) -> list[tuple[float, bool]]:
    """Makes the episodes with the version in a folder; returns CPU time [s] and success of each."""
    path = f"{folder / 'src'}{os.pathsep}{folder}"  # version 0.2.0 has no `src`
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", _CHILD, words, str(cfg.seed), str(cfg.episodes)]
    found = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if found.returncode:
        raise UnlatchError(f"'{words}' fails in '{folder}': {found.stderr.strip().splitlines()[-1:]}")
    return [(seconds, success) for seconds, success in map(json.loads, found.stdout.splitlines())]


def _rows(cfg: CompareVersionsCfg) -> Iterator[tuple[str, str]]:
    for name in option_names("object") if cfg.library else cfg.tasks.split(","):
        yield name, f"object={name} skill=open" if cfg.library else name


def main() -> int:
    """Prints the CPU time of an episode with both versions, and the ratio, by task."""
    cfg = read_pairs(CompareVersionsCfg, sys.argv[1:])
    before, ratios = Path(cfg.before).resolve(), []
    if not (before / "unlatch").exists():
        raise UnlatchError(f"before='{cfg.before}' is no checkout of Unlatch. Make one with `git worktree add`.")
    print(f"{'CPU ms an episode':<22} {'before':>7} {'now':>7} {'ratio of sums':>14} {'successes':>16}")
    for label, words in _rows(cfg):
        rounds = [(_run(before, words, cfg), _run(_ROOT, words, cfg)) for _ in range(cfg.rounds)]
        both = [
            [min(times) for times in zip(*([s for s, _ in each[k]] for each in rounds), strict=True)] for k in (0, 1)
        ]
        ratios.append(sum(both[1]) / sum(both[0]))
        medians = [1e3 * statistics.median(times) for times in both]
        successes = " then ".join(f"{sum(ok for _, ok in rounds[0][k])}/{cfg.episodes}" for k in (0, 1))
        print(f"{label:<22} {medians[0]:>7.0f} {medians[1]:>7.0f} {ratios[-1]:>14.2f} {successes:>16}", flush=True)
    print(f"median ratio of {len(ratios)}: {statistics.median(ratios):.2f}")
    return OK


if __name__ == "__main__":
    sys.exit(run_guarded(main))
