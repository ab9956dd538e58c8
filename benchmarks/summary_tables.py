"""Tables of the README and of docs/second_engine.md, from the counts of several benchmarks.

`other_results.json` has what `second_engine.py` and `throughput.py` printed, with command and commit.
`results_page.py` writes the tables into the pages.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from learning_tables import Evaluation, read_evaluations

from unlatch.workflows.runs.statistics import wilson_interval

RESULTS = Path(__file__).with_name("other_results.json")
Counts = tuple[int, int]
"""Successes and episodes."""


def second_engine_table() -> list[str]:
    """Returns how many recorded successes reach the same goal in MuJoCo, one line for each run."""
    lines = ["| | recorded successes | reach the goal in MuJoCo | 95 % interval | command |", "|---|---|---|---|---|"]
    for run in _read_others()["second_engine"]:
        recorded = f"{run['n']} of {run['attempts']} attempts"
        cells = [run["name"], recorded, *_describe((run["reached"], run["n"])), f"`{run['command']}`"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def summary_table(*, tasks: Counts, n_tasks: int, library: Counts, real: Counts, n_real: int) -> list[str]:
    """Returns the table of the README: counts of the Panda on the fresh seed, of policies and of the second engine.

    Args:
        tasks: Successes and episodes of the shipped tasks.
        n_tasks: Number of these tasks.
        library: Successes and episodes with the object library.
        real: The same with PartNet-Mobility objects.
        n_real: Number of these objects.
    """
    trained = [row for row in read_evaluations("one_policy") if row["training"] == "one_policy/six_tasks"]
    seeing, seeing_all = read_evaluations("images"), read_evaluations("images_one_policy")
    others = _read_others()
    runs, pace = others["second_engine"], others["pace"]
    replayed = sum(run["reached"] for run in runs), sum(run["n"] for run in runs)
    page, cameras = "docs/results.md", "[from cameras](docs/learning.md#from-cameras-and-points)"
    rows = [
        (f"{n_tasks} tasks", *_describe(tasks), "[by task](docs/gallery.md#success-of-all-robots)"),
        ("open, close or turn generated objects", *_describe(library), f"[details]({page}#object-library)"),
        (f"open or close {n_real} objects of PartNet-Mobility", *_describe(real), f"[details]({page}#real-objects)"),
        (
            f"one policy, {len(trained)} tasks, sees exact states",
            *_describe(_pool(trained)),
            "[from states](docs/learning.md#one-policy-for-six-tasks)",
        ),
        (f"{len(seeing)} policies, one task each, from two cameras", *_describe(_pool(seeing)), cameras),
        (f"one policy, {len(seeing_all)} tasks, from two cameras", *_describe(_pool(seeing_all)), cameras),
        (
            "same actions in MuJoCo: the joint reaches the goal",
            *_describe(replayed),
            "[second engine](docs/second_engine.md)",
        ),
        (
            f"speed: `open_microwave` without images, {pace['workers']} workers on 2 cores",
            f"{pace['episodes_per_hour']:,} episodes an hour",
            "",
            "[speed](docs/sweeps.md#how-large)",
        ),
    ]
    lines = ["| test | result | 95 % interval | more |", "|---|---|---|---|"]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def _pool(evaluations: list[Evaluation]) -> Counts:
    return sum(row["clean"] for row in evaluations), sum(row["n"] for row in evaluations)


def _read_others() -> dict[str, Any]:
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def _describe(counts: Counts) -> tuple[str, str]:
    """Returns `461/462 = 99.8 %` and the Wilson interval, `98.8 to 100.0 %`."""
    successes, n = counts
    low, high = wilson_interval(successes, n)
    return f"{successes:,}/{n:,} = {100 * successes / n:.1f} %", f"{100 * low:.1f} to {100 * high:.1f} %"
