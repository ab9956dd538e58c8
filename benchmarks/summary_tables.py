"""Tables of the README and of docs/limits.md, from the counts of several benchmarks.

`other_results.json` has what `second_engine.py`, `throughput.py` and `image_cost.py` measured, with version, commit and
fingerprint. `results_page.py` writes the tables into the pages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import fingerprint
from learning_tables import Evaluation, read_evaluations

from unlatch.workflows.runs.statistics import wilson_interval

RESULTS = Path(__file__).with_name("other_results.json")
BELOW_AIM = 3
"""Exit code of a benchmark whose result is worse than aimed at; 1 is that of a crash."""


class Pooled(NamedTuple):
    """The episodes of one kind of runs together."""

    successes: int
    n: int
    entries: int
    """Number of tasks or objects."""
    age: str
    """`present` or `older`: the physics that made them."""


def read_others() -> dict[str, Any]:
    """Returns the content of `other_results.json`."""
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def keep_other(name: str, value: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
    """Writes what a benchmark measured into `other_results.json`, in place of its earlier result."""
    RESULTS.write_text(json.dumps({**read_others(), name: value}, indent=1) + "\n", encoding="utf-8")


def second_engine_table() -> list[str]:
    """Returns how many recorded successes reach the same goal in MuJoCo, one line for each run."""
    names = "| | recorded successes | reach the goal in MuJoCo | 95 % interval | physics | command |"
    lines = [names, "|---|---|---|---|---|---|"]
    for run in read_others()["second_engine"]:
        recorded = f"{run['n']} of {run['attempts']} attempts"
        cells = [run["name"], recorded, *_describe(run["reached"], run["n"]), fingerprint.age_of([run])]
        lines.append(f"| {' | '.join(cells)} | `{run['command']}` |")
    return lines


def summary_table(*, tasks: Pooled, n_tasks: int, library: Pooled, real: Pooled) -> list[str]:
    """Returns the table of the README: counts of the Panda on the fresh seed, of policies and of the second engine.

    Args:
        tasks: Episodes of the shipped tasks.
        n_tasks: Number of shipped tasks, also those that a Panda alone cannot do.
        library: Episodes with the object library.
        real: Episodes with PartNet-Mobility objects.
    """
    from_states = _pool(read_evaluations("one_policy"))
    seeing = [row for row in read_evaluations("images_one_policy") if "/six_tasks" in row["training"]]
    from_cameras = _pool(seeing)  # in the room of the demonstrations, of all trainings
    others = read_others()
    runs, pace, images = others["second_engine"], others["pace"], others["images"]
    replayed = Pooled(sum(run["reached"] for run in runs), sum(run["n"] for run in runs), 0, fingerprint.age_of(runs))
    page, learning = "docs/results.md", "docs/learning.md"
    rows = [
        _row(
            f"{tasks.entries} of {n_tasks} tasks (the others need two arms, or are not measured)",
            tasks,
            "[by task](docs/gallery.md#success-of-all-robots)",
        ),
        _row("open, close or turn generated objects", library, f"[details]({page}#object-library)"),
        _row(f"open or close {real.entries} objects of PartNet-Mobility", real, f"[details]({page}#real-objects)"),
        _row(
            f"one policy for {from_states.entries} tasks sees exact states",
            from_states,
            f"[from states]({learning}#one-policy-for-six-tasks)",
        ),
        _row(
            f"one policy for the same {from_cameras.entries} tasks sees two cameras",
            from_cameras,
            f"[from cameras]({learning}#from-cameras-and-points)",
        ),
        _row(
            "same actions in MuJoCo: the joint reaches the goal",
            replayed,
            "[second engine](docs/limits.md#a-second-engine)",
        ),
        (
            f"speed without images: `open_microwave`, {pace['workers']} workers on 2 cores that add ten million "
            f"numbers in Python in {pace['loop_s']} s",
            f"{pace['episodes_per_hour']:,} episodes an hour",
            "",
            fingerprint.age_of([pace]),
            "[speed](docs/sweeps.md#how-large)",
        ),
        (
            f"1,000 such demonstrations with images: two cameras of 128x128, {images['rate_hz']} a second, 2 cores, "
            f"renderer `{images['renderer']}` (from {images['successes']})",
            f"{60.0 * images['hours']:.0f} minutes, {images['gigabytes']:.1f} GB",
            "",
            fingerprint.age_of([images]),
            "[renderers](docs/images.md#renderers)",
        ),
    ]
    lines = [
        *_describe_physics(rows),
        "",
        "| test | result | 95 % interval | physics | more |",
        "|---|---|---|---|---|",
    ]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def _describe_physics(rows: Sequence[Sequence[str]]) -> list[str]:
    """Returns the sentences above the table: which version and physics made its rows."""
    codes = ", ".join(f"`{name}`" for name in sorted(fingerprint.present_fingerprints()))
    lines = [
        f"*present*: made by code that behaves as version {fingerprint.present_version()} does now "
        f"([fingerprint](docs/results.md#physics) {codes})."
    ]
    older = [row for row in rows if row[3] == fingerprint.OLDER]
    return lines + ["*older*: made before the last change of behaviour, not measured again yet."] * bool(older)


def _row(name: str, found: Pooled, more: str) -> tuple[str, ...]:
    return name, *_describe(found.successes, found.n), found.age, more


def _pool(evaluations: list[Evaluation]) -> Pooled:
    counts = (sum(row[key] for row in evaluations) for key in ("clean", "n"))
    return Pooled(*counts, len({row["task"] for row in evaluations}), fingerprint.age_of(evaluations))


def _describe(successes: int, n: int) -> tuple[str, str]:
    """Returns `461/462 = 99.8 %` and the Wilson interval, `98.8 to 100.0 %`."""
    low, high = wilson_interval(successes, n)
    return f"{successes:,}/{n:,} = {100 * successes / n:.1f} %", f"{100 * low:.1f} to {100 * high:.1f} %"
