"""Tables of docs/learning.md and of its notes, from `learning_results.jsonl` that `learning.py` writes.

A line of the file is one evaluation, see `learning_runs`. `results_page.py` writes the tables into the page.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from fingerprint import PRESENT, age_of

from unlatch.workflows.runs.statistics import wilson_interval

RESULTS = Path(__file__).parent / "learning_results.jsonl"

Evaluation = dict[str, Any]
Column = Callable[[Evaluation], str]


def read_evaluations(study: str) -> list[Evaluation]:
    """Returns the evaluations of a study, in the order of the file."""
    rows = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["training"].split("/")[0] == study]


def describe(successes: int, n: int) -> str:
    """Returns `158, 79.0 % (72.8 to 84.1)`, with the 95 % Wilson interval."""
    low, high = wilson_interval(successes, n)
    return f"{successes}, {100 * successes / n:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def describe_counts(counts: dict[str, int]) -> str:
    """Returns `collision 17, timeout 12`, the most frequent first."""
    return ", ".join(f"{name} {n}" for name, n in sorted(counts.items(), key=lambda item: -item[1]))


def describe_stages(row: Evaluation) -> str:
    """Returns how far the episodes came, from those that never touched the part to those at the goal."""
    return ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in row["stages"].items())


def make_table(rows: Iterable[Evaluation], columns: dict[str, Column]) -> list[str]:
    """Returns a table with one line for each evaluation."""
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    return lines + [f"| {' | '.join(column(row) for column in columns.values())} |" for row in rows]


RATES: dict[str, Column] = {
    "goal": lambda row: describe(row["goal"], row["n"]),
    "clean": lambda row: describe(row["clean"], row["n"]),
}
FAILURES: dict[str, Column] = {"failures": lambda row: describe_counts(row["codes"])}
DEMONSTRATIONS: dict[str, Column] = {"demonstrations": lambda row: f"{row['trained_on']:,}"}


def task_of(row: Evaluation) -> str:
    """Returns the name of the task or object of an evaluation, as code."""
    words = dict(word.split("=", 1) for word in row["task"].split() if "=" in word)
    return f"`{words.get('task') or words.get('object', row['task']).split('/')[-1]}`"


def tasks_table(study: str, *, more: dict[str, Column]) -> list[str]:
    """Returns the table of a study whose lines are tasks, in the order of the file."""
    return make_table(read_evaluations(study), {"task": task_of, **RATES, **more})


def several_trainings_table(study: str, training: str) -> list[str]:
    """Returns the table of trainings that differ in their seed: mean and range of their rates by task, and of all.

    Args:
        study: Name of the study.
        training: What the names of the trainings begin with.
    """
    rows = [row for row in read_evaluations(study) if row["training"].startswith(f"{study}/{training}")]
    lines = ["| task | goal | clean | failures, by how far they came |", "|---" * 4 + "|"]
    for task in [*dict.fromkeys(map(task_of, rows)), "all"]:
        several = [row for row in rows if task in ("all", task_of(row))]
        trainings = [
            _sum([row for row in several if row["training"] == name])
            for name in dict.fromkeys(str(row["training"]) for row in several)
        ]
        stages = sum((Counter(row["stages"]) for row in several), Counter())
        failed = {name: stages[name] for name in _STAGES if stages[name] and name != "goal"}
        rates = [_describe_range(trainings, key) for key in ("goal", "clean")]
        lines.append(f"| {' | '.join([task, *rates, describe_stages({'stages': failed})])} |")
    return lines


def _describe_range(rows: list[Evaluation], key: str) -> str:
    """Returns `91.2 % (89.5 to 93.0)`: the mean of a rate over trainings, the lowest and the highest."""
    rates = [100 * row[key] / row["n"] for row in rows]
    return f"{sum(rates) / len(rates):.1f} % ({min(rates):.1f} to {max(rates):.1f})"


def _in_library(training: str) -> list[Evaluation]:
    return [row for row in read_evaluations("points") if row["training"] == f"points/{training}"]


def _on_real_objects(training: str) -> list[Evaluation]:
    return [row for row in read_evaluations("points") if row["training"].startswith(f"points/{training}/real_")]


def points_table(training: str) -> list[str]:
    """Returns the table of a policy from points, the highest share of the asked opening first."""
    rows = _in_library(training)
    rows.sort(key=lambda row: -row["share"])
    columns = {"object": task_of, "share": lambda row: f"{row['share']:.2f}"}
    return make_table(rows, {**columns, **_counts("goal"), **_counts("clean"), **FAILURES})


def real_objects_table(training: str) -> list[str]:
    """Returns the table of the same policy on real objects, with the mean over all episodes in the last line."""
    rows = _on_real_objects(training)
    rows.sort(key=lambda row: -row["share"])
    stages = {name: sum(row["stages"].get(name, 0) for row in rows) for name in _STAGES}
    total = {**_sum(rows), "task": "all", "stages": {name: n for name, n in stages.items() if n}}
    columns: dict[str, Column] = {
        "objects": lambda row: "all" if row is total else task_of(row),
        "episodes": lambda row: str(row["n"]),
        "goal": lambda row: str(row["goal"]),
        "clean": lambda row: str(row["clean"]),
        "share": lambda row: f"{row['share']:.2f}",
        "how far they came": describe_stages,
    }
    return make_table([*rows, total], columns)


_RECIPES = {
    "every_category": "1,024 points of even density",
    "every_category_dense": "2,048 points, three quarters on the part",
    "every_category_more": "the same, 250 demonstrations of each category",
    "every_category_more_wide": "the same, `width=768`",
    "every_category_hidden": "150 of each again, with `heads=32 hide=1.5`",
    "every_category_edges": "with 150 more of each of seven categories, without handles",
    "every_category_several": "two networks with `heads` and `hide`, together",
    "every_category_several_longer": "the same, 10 actions executed",
}
"""Trainings of the study of points, and what they learn from."""


def every_category_table() -> list[str]:
    """Returns goals and mean shares of all policies from points, in the library and on real objects."""
    lines = ["| policy | library: goal | share | real objects: goal | clean | share |", "|---" * 6 + "|"]
    for training, label in _RECIPES.items():
        cells = [*_cells(_in_library(training), "goal"), *_cells(_on_real_objects(training), "goal", "clean")]
        lines.append(f"| {' | '.join([label, *cells])} |")
    return lines


def _cells(rows: list[Evaluation], *rates: str) -> list[str]:
    """Returns counts and the mean share of some evaluations together; empty without any."""
    if not rows:
        return [""] * (len(rates) + 1)
    total = _sum(rows)
    return [*(f"{total[key]} of {total['n']}" for key in rates), f"{total['share']:.2f}"]


def _sum(rows: list[Evaluation]) -> Evaluation:
    total = {key: sum(row[key] for row in rows) for key in ("n", "goal", "clean")}
    return {**total, "share": sum(row["share"] * row["n"] for row in rows) / max(total["n"], 1)}


_STAGES = ("never_touched", "touched", "moved", "reached", "goal")


def _counts(key: str) -> dict[str, Column]:
    return {key: lambda row: f"{row[key]}/{row['n']}"}


def demonstrations_table() -> list[str]:
    """Returns the curve over the number of demonstrations, with those trained to compare with corrections."""
    found = {
        _attempted(row): row
        for study in ("corrections", "demonstrations")
        for row in read_evaluations(study)
        if study == "demonstrations" or row["training"].endswith("_without")
    }
    columns = {"attempted demonstrations": lambda row: f"{_attempted(row):,}", **RATES, **FAILURES, **DEMONSTRATIONS}
    return make_table([row for _, row in sorted(found.items())], columns)


def _attempted(row: Evaluation) -> int:
    return sum(int(demos.split()[0]) for demos in row["attempts"])


def chunks_table() -> list[str]:
    """Returns the curve over the length of a chunk."""
    rows = sorted(read_evaluations("chunks"), key=_chunk)
    columns = {"chunk": lambda row: str(_chunk(row)), "executed": lambda row: str(row["executed"])}
    return make_table(rows, {**columns, **RATES, **FAILURES})


def _chunk(row: Evaluation) -> int:
    return int(row["training"].split("/")[1])


def corrections_table() -> list[str]:
    """Returns rounds of corrections beside as many episodes of the planner alone."""
    rows = {row["training"].split("/")[1]: row for row in read_evaluations("corrections")}
    names = ["episodes", "corrections: goal", "clean", "planner alone: goal", "clean"]
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for number in range(4):
        corrected, alone = rows.get(f"{number}"), rows.get(f"{number}_without")
        first = _attempted(rows["0"])
        if number == 0:
            corrected, alone, label = None, rows["0"], f"{first}"
        else:
            label = f"{first} + {_attempted(alone) - first}" if alone else ""
        cells = [cell for row in (corrected, alone) for cell in ([RATES[k](row) for k in RATES] if row else ["", ""])]
        lines.append(f"| {' | '.join([label, *cells])} |")
    return lines


def lerobot_table() -> list[str]:
    """Returns the table of the policies of LeRobot, by kind of policy and task."""
    names = {"act": "ACT", "diffusion": "Diffusion Policy"}
    columns = {"policy": lambda row: names[row["training"].split("/")[1]], "task": task_of, **RATES, **DEMONSTRATIONS}
    more: dict[str, Column] = {**FAILURES, "training": lambda row: f"{row['train_s']} s"}
    return make_table(read_evaluations("lerobot"), {**columns, **more})


_STUDIES: dict[str, tuple[Callable[[], list[str]], str]] = {
    "learning_one_policy": (lambda: tasks_table("one_policy", more=FAILURES), "one_policy"),
    "learning_images_one_policy": (
        lambda: several_trainings_table("images_one_policy", "six_tasks"),
        "images_one_policy",
    ),
    "learning_images_unseen_room": (
        lambda: several_trainings_table("images_one_policy", "unseen_room"),
        "images_one_policy",
    ),
    "learning_images": (lambda: tasks_table("images", more={**DEMONSTRATIONS, **FAILURES}), "images"),
    "learning_images_plain": (lambda: tasks_table("images_plain", more={**DEMONSTRATIONS, **FAILURES}), "images_plain"),
    "learning_points": (lambda: points_table("every_category_dense"), "points"),
    "learning_every_category": (every_category_table, "points"),
    "learning_real_hidden": (lambda: real_objects_table("every_category_hidden"), "points"),
    "learning_real_edges": (lambda: real_objects_table("every_category_edges"), "points"),
    "learning_demonstrations": (demonstrations_table, "demonstrations"),
    "learning_chunks": (chunks_table, "chunks"),
    "learning_corrections": (corrections_table, "corrections"),
    "learning_lerobot": (lerobot_table, "lerobot"),
}
"""Tables of docs/learning.md and of benchmarks/notes/learning.md by name, with the study whose rows they show."""


def _with_age(make: Callable[[], list[str]], study: str) -> list[str]:
    """Returns a table and a line below it that says which physics, and which kind of seed, made it."""
    return [*make(), "", describe_origin(read_evaluations(study))]


def describe_origin(rows: Iterable[Evaluation]) -> str:
    """Returns in words which physics made some evaluations, and whether their seed was used before."""
    found = list(rows)
    commits = sorted({row["commit"] for row in found if "commit" in row})
    made = "with the present behaviour" if age_of(found) == PRESENT else "before the last change of behaviour"
    commit = f" (commit {', '.join(commits)})" if commits else ""
    fresh = all(row.get("seed_is") == "fresh" for row in found)
    seed = "Nobody had used the seed before." if fresh else "Earlier evaluations used the same seed."
    return f"Made {made}{commit}. {seed}"


TABLES: dict[str, Callable[[], list[str]]] = {
    name: partial(_with_age, make, study) for name, (make, study) in _STUDIES.items()
}
"""Tables of docs/learning.md and of benchmarks/notes/learning.md by name."""
