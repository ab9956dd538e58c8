"""Measures the memory of one worker over thousands of episodes.

    python benchmarks/memory.py episodes=10000 task=open_microwave seed=0

One process makes the episodes one after another, as a worker does, and writes each to a data set. Prints its resident
memory after every `every` episodes, and the change since the first reading. Exit code 1 if the memory has grown by
more than 5 % at the end. OMPL is imported before the first reading: otherwise the first episode whose straight path
is blocked imports it, and its 8 MB look like growth.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import psutil

from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.run_report import load_configs
from unlatch.workflows.cli.terminal import CommandLine, run_guarded
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg

MOST_GROWTH = 0.05


@dataclass
class MemoryCfg:
    """The keys of the benchmark."""

    episodes: int = 10_000
    every: int = 500
    """Number of episodes between two readings."""
    task: str = "open_microwave"
    seed: int = 0


def main() -> int:
    """Prints the readings; exit code 1 if the memory has grown."""
    cfg = read_pairs(MemoryCfg, sys.argv[1:])
    overrides = [f"task={cfg.task}", f"seed={cfg.seed}", f"episodes={cfg.episodes}"]
    (job,) = load_configs("collect", CollectCfg, CommandLine(overrides=overrides))
    process = psutil.Process()
    import ompl  # noqa: F401 - so that it does not count as growth

    successes, first, growth = 0, None, 0.0
    with (
        tempfile.TemporaryDirectory() as name,
        EpisodeRunner(job.cfg) as runner,
        DataSet.create_or_resume(Path(name) / "set", header={}) as data_set,
    ):
        for number in range(cfg.episodes):
            record = runner.run(number)
            successes += record.success
            data_set.write(record)
            if (number + 1) % cfg.every == 0 or number + 1 == cfg.episodes:
                resident = process.memory_info().rss
                first = first or resident
                growth = resident / first - 1.0
                readings = f"{resident / 1e6:.1f} MB, {100 * growth:+.1f} %"
                print(f"after {number + 1:,} episodes, {successes:,} successes: {readings}", flush=True)
    return int(growth > MOST_GROWTH)


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
