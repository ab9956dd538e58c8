"""Compares the CPU time of an episode with that of another version of Unlatch, in turns, in one run.

    git worktree add ../before aac7f4c3      # version 0.2.0
    python -m venv ../before/.venv && ../before/.venv/bin/pip install ../before
    python benchmarks/compare_versions.py before=../before
    python benchmarks/compare_versions.py before=../before tasks=open_drawer episodes=12 rounds=3
    python benchmarks/compare_versions.py before=../before library=true episodes=1

The other version runs in its own `.venv`, or in the Python environment of this one if it has none. There is a process
of each version. They make the same episodes in turns, after two that are not counted, and the least time of each
episode over the rounds counts. The table has medians over the episodes, and the ratio of the sums. Times are CPU times
of whole episodes, from the reset to the record in memory.
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
    runner.run(1001)
    for line in sys.stdin:
        start = time.process_time()
        record = runner.run(int(line))
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


class _Version:
    """A process that makes episodes with the version in a folder."""

    def __init__(self, folder: Path, words: str, seed: int) -> None:
        self._what = f"'{words}' fails in '{folder}'"
        own = folder / ".venv/bin/python"
        path = f"{folder / 'src'}{os.pathsep}{folder}"  # version 0.2.0 has no `src`
        environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [str(own) if own.exists() else sys.executable, "-c", _CHILD, words, str(seed)],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, number: int) -> tuple[float, bool]:
        """Makes an episode; returns its CPU time [s] and its success."""
        asked, answered = self._process.stdin, self._process.stdout
        if asked is None or answered is None or self._process.poll() is not None:
            raise UnlatchError(f"{self._what}, see above")
        asked.write(f"{number}\n")
        asked.flush()
        line = answered.readline()
        if not line:
            raise UnlatchError(f"{self._what}, see above")
        seconds, success = json.loads(line)
        return seconds, success

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()


def _compare(before: Path, words: str, cfg: CompareVersionsCfg) -> list[list[tuple[float, bool]]]:
    """Returns least CPU time [s] and success of each episode, of both versions."""
    versions = [_Version(folder, words, cfg.seed) for folder in (before, _ROOT)]
    try:
        runs = [[[v.run(number) for v in versions] for number in range(cfg.episodes)] for _ in range(cfg.rounds)]
    finally:
        for version in versions:
            version.close()
    return [[min(each[number][k] for each in runs) for number in range(cfg.episodes)] for k in (0, 1)]


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
        found = _compare(before, words, cfg)
        both = [[seconds for seconds, _ in episodes] for episodes in found]
        ratios.append(sum(both[1]) / sum(both[0]))
        medians = [1e3 * statistics.median(times) for times in both]
        successes = " then ".join(f"{sum(ok for _, ok in episodes)}/{cfg.episodes}" for episodes in found)
        print(f"{label:<22} {medians[0]:>7.0f} {medians[1]:>7.0f} {ratios[-1]:>14.2f} {successes:>16}", flush=True)
    print(f"median ratio of {len(ratios)}: {statistics.median(ratios):.2f}")
    return OK


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
