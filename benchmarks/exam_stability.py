"""Do two evaluations of one policy agree, and is the order of eight policies the same in both?

Usage: python benchmarks/exam_stability.py [episodes=20] [demos=300] [out=data/exam_rows] [cores=2] [minutes=600]
       [torch=PYTHON] [results=FILE.json]

Trains eight networks from states, on more and more demonstrations and steps, with those of `exam_rows.py` in the same
folder. Each takes the tasks of the exam's tier `seen` without a perturbation twice, with two seeds that are not that of
the exam; all but `put_in_microwave`, which takes three times as long, and which none of these policies solves. Prints
the tasks; the counts with their 95 % Wilson intervals; how many of the eight pairs have intervals that overlap, and how
many differences are within the 95 % interval of a difference; and the rank correlations (Spearman's, Kendall's) of the
two orders. The same command again continues.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exam_rows import OBSERVED, POLICY, UNLATCH, Runner, learned_cells, make_arrays, train, without
from rich.box import MARKDOWN
from rich.table import Table
from scipy.stats import kendalltau, spearmanr

import unlatch
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import print_line, result_console, run_guarded
from unlatch.workflows.policies.exam import Cell
from unlatch.workflows.runs.statistics import wilson_interval

SEEDS = (20270101, 20270202)
CHECKPOINTS = ((20, 500), (40, 500), (80, 1000), (160, 1000), (320, 2000), (640, 2000), (1280, 4000), (0, 8000))
"""Episodes that a network learns from (0: all), and training steps."""
_SKIPPED = "put_in_microwave"


@dataclass
class Cfg:
    """Options of this program."""

    episodes: int = 20
    demos: int = 300
    out: str = "data/exam_rows"
    cores: int = os.cpu_count() or 1
    minutes: float = 600.0
    torch: str = sys.executable
    results: str | None = None


def asked_cells() -> list[Cell]:
    """Returns the cells of the tasks that are evaluated."""
    return [cell for cell in learned_cells() if cell.task != _SKIPPED]


def evaluate(runner: Runner, networks: Sequence[Path], cfg: Cfg) -> list[dict[str, Any]]:
    """Returns what each network reaches with each seed: counts of goal and clean."""
    cells = asked_cells()
    jobs = [(network, seed, cell) for network in networks for seed in SEEDS for cell in cells]

    def run(job: tuple[Path, int, Any]) -> tuple[int, int, int]:
        network, seed, cell = job
        name = f"{network.stem}-{seed}-{cell.task}"
        out = runner.folder / "stability" / name
        keys = [*without(cell, "seed", "episodes"), f"seed={seed}", f"episodes={cfg.episodes}", *OBSERVED]
        own = [f"policy={POLICY}", "pictures=0", "executor=serial", f"out={out}"]
        variables = {"UNLATCH_POLICY": str(network), "CUDA_VISIBLE_DEVICES": ""}
        runner.run(f"stability-{name}", [*UNLATCH, "evaluate", *keys, *own], variables)
        found = unlatch.open_dataset(out).summaries()
        reached = sum(item.policy is not None and bool(item.policy.goal_reached) for item in found)
        return len(found), reached, sum(item.success for item in found)

    with ThreadPoolExecutor(cfg.cores) as pool:
        found = dict(zip(jobs, pool.map(run, jobs), strict=True))
    results = []
    for network in networks:
        for seed in SEEDS:
            n, goal, clean = (
                sum(counts) for counts in zip(*(found[network, seed, cell] for cell in cells), strict=True)
            )
            results.append({"network": network.stem, "seed": seed, "n": n, "goal": goal, "clean": clean})
    return results


def compare(rows: Sequence[dict[str, Any]], key: str) -> dict[str, Any]:
    """Returns how well the two seeds agree in a count."""
    shares = [[row[key] / row["n"] for row in rows if row["seed"] == seed] for seed in SEEDS]
    counts = [[(row[key], row["n"]) for row in rows if row["seed"] == seed] for seed in SEEDS]
    overlap, within = 0, 0
    for (a, n), (b, m) in zip(*counts, strict=True):
        (low_a, high_a), (low_b, high_b) = wilson_interval(a, n), wilson_interval(b, m)
        overlap += low_a <= high_b and low_b <= high_a
        # Newcombe's interval of a difference, from the two Wilson intervals
        p, q = a / n, b / m
        below = (p - q) - math.hypot(p - low_a, high_b - q)
        above = (p - q) + math.hypot(high_a - p, q - low_b)
        within += below <= 0.0 <= above
    return {
        "pairs": len(shares[0]),
        "intervals overlap": overlap,
        "difference within its interval": within,
        "spearman": float(spearmanr(*shares).statistic),
        "kendall": float(kendalltau(*shares).statistic),
    }


def main(words: Sequence[str]) -> int:
    """Trains, evaluates and prints."""
    cfg = read_pairs(Cfg, words)
    runner = Runner(Path(cfg.out).absolute(), cfg.minutes)
    try:
        arrays = make_arrays(runner, cfg.demos, cfg.cores)
        options = ("width=256", "batch=512")

        def learn(n: int, steps: int) -> Path:
            own = (*options, f"episodes={n}", f"steps={steps}")
            return train(runner, arrays, f"network-{n or 'all'}-of-{cfg.demos}-{steps}", cfg.torch, own)

        with ThreadPoolExecutor(4) as pool:
            networks = [*pool.map(learn, *zip(*CHECKPOINTS, strict=True))]
        rows = evaluate(runner, networks, cfg)
    except TimeoutError:
        print_line(f"not finished in {cfg.minutes:g} minutes. Run the same command again to continue.")
        return 1
    agreement = {key: compare(rows, key) for key in ("goal", "clean")}
    table = Table("network", "seed", "n", "goal", "clean", box=MARKDOWN)
    for row in rows:
        table.add_row(*(str(row[key]) for key in ("network", "seed", "n", "goal", "clean")))
    print_line(f"tasks: {', '.join(cell.task for cell in asked_cells())}, without {_SKIPPED}")
    result_console().print(table)
    for key, found in agreement.items():
        print_line(f"{key}: {', '.join(f'{name} {value:.3g}' for name, value in found.items())}")
    if cfg.results is not None:
        Path(cfg.results).write_text(
            json.dumps({"without": _SKIPPED, "rows": rows, **agreement}, indent=1) + "\n", encoding="utf-8"
        )
    return 0


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
