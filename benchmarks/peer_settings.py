"""Measures how often planner settings in the form of InternDataEngine and GenSim2 succeed on our own objects.

Usage: python benchmarks/peer_settings.py [n=10] [seed=0] [workers=2] [only=TEXT] [origins=interndata,gensim2]
       [out=data/bench-peer-settings] [results=FILE.json]

Runs every file of `benchmarks/peer_settings` unchanged, as the `planner_setting` of a derived task: only object, part,
start and hand are added, as `runs.yaml` says. We wrote these files from the documented conventions of the two systems.
Each episode has another object of the category, with its hinge on either side. An episode counts as refused if no
layout has a plan. Data sets stay in the folder. The same command again continues an interrupted benchmark.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rich.box import MARKDOWN
from rich.table import Table
from success_runs import TASK, Job, Result, RunCfg, rate, run_or_read, with_interval

from unlatch.configs.setting_file import read_setting_file
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.solver.settings.peer_form import find_settings
from unlatch.solver.settings.setting import PlannerSettingCfg, SuccessMode
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command import run_guarded
from unlatch.workflows.cli.console import OK, print_line, result_console

FOLDER = Path(__file__).with_name("peer_settings")
"""The settings, and `runs.yaml`, which says with which object each is run."""
_TIME_LIMIT_S = 10.0
"""A refusal must not take longer."""


@dataclass
class PeerSettingsCfg(RunCfg):
    """The keys of this benchmark."""

    n: int = 10
    """Number of episodes of each setting."""
    origins: str = "interndata,gensim2"
    """Origins, separated by commas."""
    out: str = "data/bench-peer-settings"
    """Folder of the data sets and of the tasks that are made of the settings."""


@dataclass(frozen=True)
class PeerJob(Job):
    """A run of one setting."""

    config_dir: str = ""
    """Folder of the task that is made of the setting."""

    @property
    def words(self) -> list[str]:
        """See `Job.words`."""
        return [*super().words, "--config-dir", self.config_dir]


def read_runs() -> list[dict[str, Any]]:
    """Returns the entries of `runs.yaml`."""
    return list(yaml.safe_load((FOLDER / "runs.yaml").read_text(encoding="utf-8")))


def make_task(run: dict[str, Any]) -> dict[str, Any]:
    """Returns the content of the YAML file of a task that runs a setting unchanged."""
    path = FOLDER / run["file"]
    (read,) = read_setting_file(path)
    ((_, raw),) = find_settings(yaml.safe_load(path.read_text(encoding="utf-8")))
    if read.setting is None:
        raise read.error or RuntimeError(f"{path} has no setting")
    where = {"object": "${object.name}", "part": run["part"]}
    hand = {"hand": run["hand"]} if "hand" in run else {}
    named = {"objects": ["${object.name}"]}
    return {
        "defaults": [{"override /object": run["object"]}, "_self_"],
        **({"object": {"where": run["where"]}} if "where" in run else {}),
        "task": {
            "name": _name(run),
            "derived": {"skill": run["skill"], "part": run["part"]},
            "openness": [{**where, "range": run["start"]}],
            "goal": [{**where, **_goal(run["skill"], read.setting)}],
        },
        "skills": [
            {"name": "artpreplan", **named},
            {"name": run["skill"], **named, "part": run["part"], "planner_setting": {**raw, **hand}},
        ],
    }


def _name(run: dict[str, Any]) -> str:
    return str(run["file"]).removesuffix(".yaml").replace("/", "_")


def _goal(skill: str, setting: PlannerSettingCfg) -> dict[str, Any]:
    if setting.success_mode is SuccessMode.fraction:
        return {"kind": "moved_fraction", "value": setting.success_threshold}
    kind = "within_closed" if skill == "close" else "moved"
    return {"kind": kind, "value": setting.success_threshold}


def make_jobs(cfg: PeerSettingsCfg) -> Iterator[PeerJob]:
    """Writes the tasks into the folder of the benchmark, and yields their jobs."""
    config_dir = Path(cfg.out) / "configs"
    (config_dir / "task").mkdir(parents=True, exist_ok=True)
    for run in read_runs():
        origin = str(run["file"]).split("/")[0]
        if origin not in cfg.origins.split(",") or not cfg.wants(run["file"]):
            continue
        text = "# @package _global_\n" + yaml.safe_dump(make_task(run), sort_keys=False)
        (config_dir / "task" / f"{_name(run)}.yaml").write_text(text, encoding="utf-8")
        yield PeerJob(origin, Path(run["file"]).stem, TASK, _name(run), config_dir=str(config_dir))


def refusal_times(job: Job, cfg: PeerSettingsCfg) -> list[float]:
    """Returns how long each refused episode of a data set took to be refused [s]; none without the data set."""
    folder = Path(cfg.out) / f"{job.name}-{job.skill}-{job.keypoints}-s{cfg.seed}"
    if not folder.is_dir():
        return []
    data_set = DataSet.open(str(folder))
    records = (data_set.read(number) for number in data_set.numbers() if number < cfg.n)
    return [
        sum(record.timings_ms.values()) / 1e3
        for record in records
        if record.code in ("invalid_layout", "plan_infeasible")
    ]


def table(results: Sequence[Result], cfg: PeerSettingsCfg) -> Table:
    """Returns a line for each origin and skill, and for each origin."""
    found = Table(box=MARKDOWN)
    for column in ("origin", "skill", "files", "success", "of those with a plan", "refused", "slowest refusal [s]"):
        found.add_column(column)
    for origin in cfg.origins.split(","):
        for skill in ("open", "close", "rotate", "all"):
            chosen = [
                r for r in results if r.job.kind == origin and (skill == "all" or r.job.name.startswith(_WORDS[skill]))
            ]
            if not chosen:
                continue
            every = [ok for r in chosen for ok in r.successes()]
            planned = [i in r.succeeded for r in chosen for i in sorted(r.planned)]
            times = [t for r in chosen for t in refusal_times(r.job, cfg)]
            slowest = f"{max(times):.1f}" if times else "-"
            refused = len(every) - len(planned)
            found.add_row(
                origin, skill, str(len(chosen)), with_interval(every), with_interval(planned), str(refused), slowest
            )
    return found


_WORDS = {"open": ("open", "pull"), "close": ("close", "push"), "rotate": ("rotate",)}
"""First words of the names of the settings for each skill."""


def main(arguments: list[str]) -> int:
    """Runs every setting and prints the results."""
    cfg = read_pairs(PeerSettingsCfg, arguments)
    results = run_or_read(list(make_jobs(cfg)), cfg)
    for result in results:
        refused = result.n - len(result.planned)
        reasons = sorted(set(result.refusals.values()))
        slow = [t for t in refusal_times(result.job, cfg) if t > _TIME_LIMIT_S]
        late = f", {len(slow)} of them after more than {_TIME_LIMIT_S:g} s" if slow else ""
        why = f"; {reasons[0]}" if reasons else ""
        print_line(
            f"{result.job.kind}/{result.job.name}: {rate(result.successes())} {dict(result.codes) or ''} "
            f"{refused} refused{late}{why}"
        )
    result_console().print(table(results, cfg))
    return OK


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:])))
