"""Writes the leaderboard from the results of exams, and the hashes of the exam's scenes.

Usage: python benchmarks/exam.py [scenes=false]

A result is the `exam.json` of `unlatch exam`, in `benchmarks/exam/`. `docs/leaderboard.md` is written from them.
`scenes=true` first writes the hashes of the first scenes again, in half an hour; a frozen exam never needs it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import print_line, run_guarded
from unlatch.workflows.policies.exam import SCENES, ExamCfg, hash_scene, list_cells, load_cell, read_suite
from unlatch.workflows.runs.evaluate import make_env_of

ROOT = Path(__file__).parents[1]
RESULTS, PAGE_FILE = ROOT / "benchmarks" / "exam", ROOT / "docs" / "leaderboard.md"
TEXT = """# Leaderboard of articulated-v1

How often does a policy open, close, turn, press and put things in, by [the exam](exam.md)? `python benchmarks/exam.py`
writes this page from the results in `benchmarks/exam/`. Intervals are 95 % Wilson intervals [%]. The planner knows each
scene and is the ceiling; `never_looks` plays the planner's actions of another episode.
`random` breaks a rule in every episode: compare policies by `clean`, not by `goal`, which random motions also reach.
`python benchmarks/exam_rows.py` makes our rows again; those that learn are one policy for all tasks, trained on
demonstrations of the tier `seen` (cloning: `demos=100`).

{table}

To submit a result, run `unlatch exam`, then `unlatch check` on its folder, and open a pull request that adds its
`exam.json` as `benchmarks/exam/NAME.json`, with the address of the data sets.
"""


@dataclass
class Options:
    """Options of this program."""

    scenes: bool = False
    """Whether the hashes of scenes are written again."""


def leaderboard(results: Iterable[Mapping[str, Any]]) -> str:
    """Returns the table of results in Markdown, the best by `clean` first."""
    lines = [
        "| policy | size | clean | goal | goal: seen | unseen | new kinds | clean, perturbed | time to goal |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for item in sorted(results, key=lambda item: -item["plain"]["clean"] / max(1, item["plain"]["n"])):
        tiers = [_share(item["tier"].get(tier), "goal") for tier in read_suite()["tiers"]]
        time = item["plain"]["median_s"]
        row = [
            *(item["name"], item["size"], _share(item["plain"], "clean"), _share(item["plain"], "goal"), *tiers),
            *(_share(item["perturbed"], "clean"), "" if time is None else f"{time:.1f} s"),
        ]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def _share(counts: Mapping[str, Any] | None, key: str) -> str:
    if not counts or not counts["n"]:
        return ""
    low, high = counts[f"{key}_interval"]
    return f"{counts[key]}/{counts['n']}, {100 * counts[key] / counts['n']:.0f} % ({100 * low:.0f} to {100 * high:.0f})"


def page() -> str:
    """Returns the text of the page."""
    results = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))]
    return TEXT.format(table=leaderboard(results))


def scenes() -> dict[str, str]:
    """Returns the hash of the first scene of every task, and of every cell in which it is another one."""
    tasks, cells = {}, {}
    for cell in list_cells(ExamCfg()):
        with closing(make_env_of(load_cell(cell, "random", [], ROOT))) as env:
            env.reset()
            env.finish()
            found = hash_scene(env.record())
        if tasks.setdefault(cell.task, found) != found:  # the plain cell of a task is its first
            cells[cell.name] = found
    return tasks | cells


def main() -> None:
    """Writes the page, and on request the hashes."""
    if read_pairs(Options, sys.argv[1:]).scenes:
        SCENES.write_text(json.dumps(scenes(), indent=1) + "\n", encoding="utf-8")
    PAGE_FILE.write_text(page(), encoding="utf-8")
    print_line(f"written: {PAGE_FILE}")


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
