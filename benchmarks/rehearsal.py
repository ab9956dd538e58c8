"""Measures what a rehearsal costs, what it chooses, and how often objects then open and close.

Usage: UNLATCH_PARTNET_DIR=FOLDER python benchmarks/rehearsal.py [n=5] [seed=4711] [only=TEXT] [skills=open,close]
       [out=FILE.jsonl]

Rehearses every object of a folder of PartNet-Mobility from its URDF alone. Then it runs episodes of another seed with
the derived strategies alone and with what was proven. Episodes, placements and frictions are others than those of the
rehearsal. Each result is one line of `out`; objects and skills that are there already are not run again.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.box import MARKDOWN
from rich.table import Table

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.annotate.source import PARTNET_URDF
from unlatch.simcore.errors import ConfigError, UnlatchError
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, print_line, result_console, run_guarded
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.rehearsal import rehearse
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.statistics import share_text


@dataclass
class RehearsalBenchCfg:
    """The keys of this benchmark."""

    n: int = 5
    """Episodes before and after a rehearsal."""
    seed: int = 4711
    """Seed of these episodes."""
    only: str = ""
    """Only objects whose path has this text."""
    skills: str = "open,close"
    out: str = "data/bench-rehearsal.jsonl"


def run_episodes(cfg: EpisodeCfg, n: int) -> tuple[list[bool], list[bool]]:
    """Returns which of n episodes succeeded, and which succeeded without a replan."""
    with EpisodeRunner(cfg) as runner:
        records = [runner.run(number) for number in range(n)]
    successes = [record.success for record in records]
    first = [record.success and not any(item.get("attempt") for item in record.skills) for record in records]
    return successes, first


def measure(path: Path, skill: str, cfg: RehearsalBenchCfg) -> dict[str, Any]:
    """Returns the result of one object and skill."""
    try:
        episode = load(f"object={path}", f"skill={skill}", seed=cfg.seed)
    except UnlatchError as exc:
        return {"refused": exc.message}
    before, _ = run_episodes(episode, cfg.n)
    began = time.process_time()
    found, _ = rehearse(episode, fresh=True)
    cpu_s = time.process_time() - began
    after, first = run_episodes(found.apply(episode), cfg.n) if found.proven else ([False] * cfg.n, [False] * cfg.n)
    return {
        "part": found.part,
        "before": sum(before),
        "after": sum(after),
        "after_without_replans": sum(first),
        "n": cfg.n,
        "cpu_s": round(cpu_s, 1),
        "candidates": found.tried,
        "trials": found.trials,
        "chosen": [f"{item['name']} {item['successes']}/{item['trials']}" for item in found.proven],
        "where": found.where,
        "causes": {item["name"]: item["causes"] for item in found.failed},
    }


def jobs(cfg: RehearsalBenchCfg) -> Iterator[tuple[str, Path, str]]:
    """Yields name, folder and skill of each run."""
    root = os.environ.get("UNLATCH_PARTNET_DIR")
    if not root:
        raise ConfigError("UNLATCH_PARTNET_DIR is not set. Set it to a folder of PartNet-Mobility objects.")
    for folder in sorted(path.parent for path in Path(root).rglob(PARTNET_URDF)):
        name = folder.relative_to(root).as_posix()
        if cfg.only in name:
            yield from ((name, folder, skill) for skill in cfg.skills.split(","))


def result_table(results: list[dict[str, Any]]) -> Table:
    """Returns one row for each object and skill."""
    table = Table(box=MARKDOWN)
    for column in ("object", "skill", "before", "after", "without replans", "candidates", "trials", "CPU [s]", "by"):
        table.add_column(column)
    for item in results:
        if "refused" in item:
            table.add_row(item["object"], item["skill"], *["refused"] * 2, "", "", "", "", item["refused"][:60])
            continue
        numbers = (item["candidates"], item["trials"], f"{item['cpu_s']:.0f}")
        rates = (f"{item[key]}/{item['n']}" for key in ("before", "after", "after_without_replans"))
        chosen = ", ".join(item["chosen"]) or "none"
        where = f" ({item['where']})" if item["where"] else ""
        table.add_row(item["object"], item["skill"], *rates, *map(str, numbers), chosen + where)
    return table


def main(arguments: list[str]) -> int:
    """Runs what is missing and prints all results."""
    cfg = read_pairs(RehearsalBenchCfg, arguments)
    out = Path(cfg.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    results = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    done = {(item["object"], item["skill"]) for item in results}
    for name, folder, skill in jobs(cfg):
        if (name, skill) in done:
            continue
        results.append({"object": name, "skill": skill, **measure(folder, skill, cfg)})
        with out.open("a") as file:
            file.write(json.dumps(results[-1]) + "\n")
        print_line(f"{name} {skill}: {results[-1].get('before')} -> {results[-1].get('after')} of {cfg.n}")
    result_console().print(result_table(results))
    run = [item for item in results if "refused" not in item]
    for key in ("before", "after", "after_without_replans"):
        print_line(f"{key}: {share_text(sum(item[key] for item in run), sum(item['n'] for item in run))}")
    return OK


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
