"""Writes docs/results.md, benchmarks/notes/failed_entries.md and the tables of results in other pages.

The counts are those of benchmarks/results.json, benchmarks/learning_results.jsonl and benchmarks/other_results.json.

Usage: python benchmarks/results_page.py [check=true]

The benchmarks add the counts: `skill_matrix.py`, `task_matrix.py`, `any_urdf.py`, `peer_settings.py` and `learning.py`
with `results=`. A table of another page stands between `<!-- results: NAME -->` and `<!-- end of results -->`.
`check=true` writes nothing and ends with exit code 1 if a page differs from the counts.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import mean
from typing import Any

import fingerprint
import learning_tables
import summary_tables
from peer_settings import KIND as PEERS
from peer_settings import peer_table
from success_runs import DOES_NOT_FIT, RESULTS, ROBOT, STRICT_SHARE, TASK, WIDE, Job, Result, Seed, read_results

from unlatch.configs.group_files import own_option_names
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, print_line, run_guarded
from unlatch.workflows.runs.statistics import wilson_interval

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "results.md"
NOTES = ROOT / "benchmarks" / "notes"
FAILED_ENTRIES = NOTES / "failed_entries.md"
PAGES_WITH_TABLES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(NOTES.glob("*.md")))
ROBOTS = {
    "franka_panda": "Panda",
    "dual_panda": "two Pandas",
    "xarm6": "xArm 6",
    "ur5": "UR5",
    "ur5e": "UR5e",
    "fr3": "Research 3",
    "franka_robotiq": "Panda with Robotiq 2F-85",
    "baxter": "Baxter",
}
KINDS = {
    "library": ("Object library", "skill_matrix.py", "one skill on one category of generated objects"),
    "real": ("Real objects", "any_urdf.py", "one skill on one PartNet-Mobility object, from its URDF alone"),
    "library_wide": ("Object library, opened to 0.9", "skill_matrix.py", "one category, opened with `openness=0.9`"),
    "real_wide": ("Real objects, opened to 0.9", "any_urdf.py", "one PartNet-Mobility object, with `openness=0.9`"),
    "tasks": ("Shipped tasks", "task_matrix.py", "one task"),
    PEERS: ("Settings of other systems", "peer_settings.py", "one file of `benchmarks/peer_settings`, run unchanged"),
}
"""Title of each kind of runs, its benchmark, and what an entry is."""
CLOSE = "close"
SKILLS = ("open", CLOSE, "rotate", TASK)
_FAILED = 1
NOT_MEASURED = "not measured"
_MARKED = re.compile(r"(<!-- results: (\w+) -->\n).*?(<!-- end of results -->)", re.DOTALL)
_HEAD = """\
# Success rates

How often do attempts succeed, with which objects, tasks and robots? [Entries with
failures](../benchmarks/notes/failed_entries.md) lists every one that failed, with its codes; [the
gallery](gallery.md#success-of-all-robots) has each task.

Nobody had used the *fresh* seed before its run; failures of a *development* seed were studied before. An entry that was
mended after its fresh run, and run again, counts as *development*: its failures are no longer among the fresh ones.
Intervals are 95 % Wilson intervals. An episode in which no layout has a plan is a failure. The columns:

- fresh seed: successful episodes of all episodes with this seed;
- first layout: episodes in which `artpreplan` took the first drawn layout; else it tries up to 15 more;
- without search: successes if only the first layout is tried, with all the effort of the planner;
- refused: episodes in which no layout has a plan;
- strict: for `close`, successes whose part is in the last tenth of its range;
- range: where the part of a success ends on the way from closed to open (`close`: from open to closed), mean;
- physics: `present`, or `older` if a change of behaviour came after the run.

`make results` runs everything again and writes this page from `benchmarks/results.json`. A test compares them.

## Physics

Every row names the behaviour that made it by a fingerprint: a SHA-256 over the states of 24 episodes of tasks, robots,
carried objects, knobs, randomization and disturbances. `python benchmarks/fingerprint.py` computes it in a minute and
names the episodes that a change of code has changed. `benchmarks/fingerprint.json` has the present one of each machine
that made rows: compilers and processors round differently, and contacts amplify that; the 24 verdicts are the same on
each. The seed of the present rows is derived from the fingerprint, so that nobody chooses it.

## Objects that nobody had seen

We looked at the PartNet-Mobility objects below while we wrote grasps and trials, so their rate does not say how well
unknown objects work. An outside audit ran version 0.2.0, which did not yet
[try objects](any_urdf.md#tried-before-data-are-made), on 137 others, five episodes of each skill with one fixed seed:
1,078 of 1,217 episodes succeeded (88.6 %, 86.7 to 90.2 %).

The 16 articulated objects of three packages of MuJoCo models (Franka Kitchen, Meta-World, robosuite) open and close in
640 of 640 episodes with the Panda (99.4 to 100 %, a seed that had not been used before). Five of them were read wrongly
at first: angles without a unit, sliding panels behind heavy handles, names of parts. With the first seed, 636 of 640
succeeded; the four others showed that a light lever was thrown by its damping.

```sh
pip install --no-deps --target data/packages metaworld==3.1.1 gymnasium-robotics==1.4.2 robosuite==1.5.2
python benchmarks/published_models.py
UNLATCH_PARTNET_DIR=data/published python benchmarks/any_urdf.py categories=all n=20 seed=777001
```

[Stretched copies](../benchmarks/notes/rehearsal.md#again-and-on-stretched-copies) of the 73 objects were tried, too.
"""
_FAILED_HEAD = """\
# Entries with failures

The entries of [success rates](../../docs/results.md) with failures on the fresh seed, the lowest first.
`python benchmarks/results_page.py` writes this file from `benchmarks/results.json`.
"""


@dataclass(frozen=True)
class Row:
    """The episodes of one line of a table, pooled over entries."""

    label: str
    results: tuple[Result, ...]
    ajar: bool | None = None
    """Only episodes that start ajar, or only those that start closed; None: all."""

    def numbers(self, result: Result) -> set[int]:
        """Returns the episodes of an entry that count."""
        return {i for i in range(result.n) if self.ajar is None or (i in result.ajar) == self.ajar}

    def count(self, numbers: Callable[[Result], Iterable[int]]) -> int:
        """Returns how many of the episodes are among some numbers of each entry."""
        return sum(len(self.numbers(result) & set(numbers(result))) for result in self.results)

    @property
    def n(self) -> int:
        """Returns the number of episodes."""
        return self.count(lambda result: range(result.n))

    @property
    def successes(self) -> int:
        """Returns the number of successes."""
        return self.count(lambda result: result.succeeded)

    def share(self) -> str:
        """Returns where the parts of successes end, in percent of the range."""
        shares = [r.shares[i] for r in self.results for i in self.numbers(r) & set(r.shares) if r.job.skill != TASK]
        return f"{100 * mean(shares):.0f} %" if shares else ""


def read_entries() -> list[dict[str, Any]]:
    """Returns the entries of the file; of a kind and robot with entries of the present physics, only those."""
    entries = read_results(RESULTS)
    renewed = {(entry["kind"], entry["robot"]) for entry in entries if fingerprint.is_present(entry)}
    return [
        entry for entry in entries if fingerprint.is_present(entry) or (entry["kind"], entry["robot"]) not in renewed
    ]


def read_rows(seed_is: Seed) -> dict[tuple[str, str], list[Row]]:
    """Returns the lines of the tables by kind and robot, from the entries of one kind of seed."""
    entries = [entry for entry in read_entries() if entry["seed_is"] == seed_is.value]
    found = [
        Result.from_entry(entry, Job(*(entry[key] for key in ("kind", "name", "skill")), "", entry["robot"]))
        for entry in entries
        if DOES_NOT_FIT not in entry["problem"] and entry["n"]
    ]
    tables: dict[tuple[str, str], list[Row]] = {}
    place = {(kind, robot): (i, j) for i, kind in enumerate(KINDS) for j, robot in enumerate(ROBOTS)}
    found.sort(key=lambda result: (*place[result.job.kind, result.job.robot], SKILLS.index(result.job.skill)))
    for (kind, robot, skill), group in groupby(found, lambda r: (r.job.kind, r.job.robot, r.job.skill)):
        results = tuple(group)
        rows = [Row(skill, results)]
        if skill == "open":
            rows = [Row("open, from closed", results, ajar=False), Row("open, from ajar", results, ajar=True)]
        if skill == TASK:
            rows = [Row("all", results)]
        tables.setdefault((kind, robot), []).extend(row for row in rows if row.n)
    return tables


def table_of_peers() -> list[str]:
    """Returns the table of the settings of other systems by origin and skill, on the fresh seed."""
    (row,) = read_rows(Seed.fresh)[PEERS, ROBOT]
    return peer_table(row.results)


def describe(row: Row | None) -> str:
    """Returns `461/462 = 99.8 % (98.8 to 100.0 %)`; an empty text without episodes."""
    if row is None or not row.n:
        return ""
    low, high = wilson_interval(row.successes, row.n)
    return f"{row.successes:,}/{row.n:,} = {100 * row.successes / row.n:.1f} % ({100 * low:.1f} to {100 * high:.1f} %)"


def table_of(kind: str, *, robots: Sequence[str] = tuple(ROBOTS), brief: bool = False) -> list[str]:
    """Returns the table of a kind of runs, one line for each robot, skill and start."""
    fresh, development = read_rows(Seed.fresh), read_rows(Seed.development)
    names = ["robot", "skill", "entries", "fresh seed"]
    names += [] if brief else ["first layout", "without search", "refused", "strict", "range"]
    names += ["physics"]
    has_development = any((kind, robot) in development for robot in robots)
    names += ["development seed"] * has_development
    table = [names]
    for robot in robots:
        others = {row.label: row for row in development.get((kind, robot), [])}
        rows = {row.label: row for row in fresh.get((kind, robot), [])}
        for label in dict.fromkeys((*rows, *others)):
            row = rows.get(label)
            shown = row or others[label]
            entries = sum(bool(shown.numbers(result)) for result in shown.results)
            cells = [ROBOTS[robot], label, str(entries), describe(row)]
            if not brief:
                cells += ["", "", "", "", ""] if row is None else _details(row)
            cells += [fingerprint.age_of(result.made_with for result in shown.results)]
            cells += [describe(others.get(label))] * has_development
            table.append(cells)
    shown_columns = [column for column in zip(*table, strict=True) if set(column[1:]) - {"", NOT_MEASURED}]
    lines = [f"| {' | '.join(cells)} |" for cells in zip(*shown_columns, strict=True)]
    return [lines[0], "|---" * len(shown_columns) + "|", *lines[1:]]


def _details(row: Row) -> list[str]:
    n, measured = row.n, all(result.without_search is not None for result in row.results)
    without = row.count(lambda result: result.without_search or ())
    strict = row.count(lambda result: (i for i, value in result.shares.items() if value >= STRICT_SHARE))
    refused = row.count(lambda result: result.refusals)
    counts = [f"{row.count(lambda result: result.first)}/{n}", f"{without}/{n}" if measured else NOT_MEASURED]
    leads_to_end = row.results[0].job.skill == CLOSE  # others end where their goal is met, so 0 of n says nothing
    return [*counts, str(refused), f"{strict}/{n}" if leads_to_end else "", row.share()]


def lowest_entries(kind: str) -> list[str]:
    """Returns a table of the entries with failures on the fresh seed, the lowest first."""
    lines = ["| robot | entry | successes | failures |", "|---|---|---|---|"]
    results = {
        id(r): r for (of, _), rows in read_rows(Seed.fresh).items() if of == kind for row in rows for r in row.results
    }
    failed = [result for result in results.values() if len(result.succeeded) < result.n]
    for result in sorted(failed, key=lambda result: len(result.succeeded) / result.n):
        entry = result.job.name if result.job.skill == TASK else f"{result.job.name} {result.job.skill}"
        codes = ", ".join(f"{code} {count}" for code, count in result.codes.most_common())
        lines.append(f"| {ROBOTS[result.job.robot]} | `{entry}` | {len(result.succeeded)}/{result.n} | {codes} |")
    return lines if failed else ["None."]


def commands_of(kind: str) -> list[str]:
    """Returns what was run: command, seed, episodes of an entry and commits."""
    runs: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for entry in read_entries():
        if entry["kind"] == kind and entry["n"]:
            searched = entry["failed_without_search"] is not None
            age = fingerprint.age_of([entry])
            key = (entry["seed_is"] != Seed.fresh.value, entry["seed"], entry["n"], age, searched, entry["seed_is"])
            runs.setdefault(key, []).append(entry)
    whole = " categories=all" if kind.startswith("real") else ""
    whole += f" skills=open openness={WIDE}" if kind.endswith("_wide") else ""
    lines = []
    for (_, seed, n, age, searched, seed_is), some in sorted(runs.items(), key=lambda item: item[0]):
        robots = ",".join(sorted({entry["robot"] for entry in some}, key=[*ROBOTS].index))
        command = f"python benchmarks/{KINDS[kind][1]}{whole} n={n} seed={seed} seed_is={seed_is}"
        command += "" if kind.startswith("real") or kind == PEERS else f" robots={robots}"
        command += " search_off=true" * searched
        commits = ", ".join(sorted({entry["commit"] for entry in some}))
        lines.append(f"- `{command} results=benchmarks/results.json` ({age} physics, commit {commits})")
    return lines


def refused_entries(kind: str) -> list[str]:
    """Returns a line that names the entries of which no data were made, since no trial before it succeeded."""
    found = [entry for entry in read_entries() if entry["kind"] == kind and "never succeeded" in entry["problem"]]
    names = ", ".join(sorted(f"`{entry['name']} {entry['skill']}`" for entry in found))
    return [f"Not in the table, since no trial before the data succeeded: {names}.", ""] if found else []


def make_page() -> str:
    """Returns the page of results."""
    lines = [_HEAD]
    present = {entry["kind"] for entry in read_entries()}
    for kind, (title, _, entry) in KINDS.items():
        if kind not in present:
            continue
        lines += [f"## {title}", "", f"An entry is {entry}. The runs:", "", *commands_of(kind), "", *table_of(kind), ""]
        lines += refused_entries(kind)
    return "\n".join(lines)


def make_failed_entries() -> str:
    """Returns the page of the entries with failures."""
    present = {entry["kind"] for entry in read_entries()}
    sections = [(KINDS[kind][0], lowest_entries(kind)) for kind in KINDS if kind in present]
    return "\n".join([_FAILED_HEAD, *(line for title, table in sections for line in (f"## {title}", "", *table, ""))])


def read_pooled(kind: str) -> summary_tables.Pooled:
    """Returns the counts of a kind of runs with a Panda, on the fresh seed."""
    rows = read_rows(Seed.fresh)[kind, ROBOT]
    results = [result for row in rows for result in row.results]
    names = {result.job.name for result in results}
    age = fingerprint.age_of(result.made_with for result in results)
    return summary_tables.Pooled(sum(row.successes for row in rows), sum(row.n for row in rows), len(names), age)


TABLES: dict[str, Callable[[], list[str]]] = {
    "summary": lambda: summary_tables.summary_table(
        tasks=read_pooled("tasks"),
        n_tasks=len(own_option_names(TASK)),
        library=read_pooled("library"),
        real=read_pooled("real"),
    ),
    "second_engine": summary_tables.second_engine_table,
    "real": lambda: table_of("real", brief=True),
    "tasks": lambda: table_of("tasks", brief=True),
    PEERS: table_of_peers,
    **learning_tables.TABLES,
}
"""Tables of other pages by name."""


def with_tables(text: str) -> str:
    """Returns the text of a page with its tables of results made again."""
    return _MARKED.sub(lambda found: "".join([found[1], "\n".join(["", *TABLES[found[2]](), "", ""]), found[3]]), text)


@dataclass
class Cfg:
    """The keys of this command."""

    check: bool = False


def main(arguments: list[str]) -> int:
    """Writes the pages, or says which differ from the counts."""
    cfg = read_pairs(Cfg, arguments)
    wanted = {page: with_tables(page.read_text(encoding="utf-8")) for page in PAGES_WITH_TABLES}
    wanted |= {PAGE: make_page(), FAILED_ENTRIES: make_failed_entries()}
    changed = [page for page, text in wanted.items() if not page.exists() or page.read_text(encoding="utf-8") != text]
    for page in changed:
        if not cfg.check:
            page.write_text(wanted[page], encoding="utf-8")
        print_line(f"{page.relative_to(ROOT)} {'differs from the counts' if cfg.check else 'written'}")
    return _FAILED if cfg.check and changed else OK


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
