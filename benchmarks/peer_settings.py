"""Measures how often planner settings in the form of InternDataEngine and GenSim2 succeed on our own objects.

Usage: python benchmarks/peer_settings.py [n=10] [seed=0] [workers=2] [only=TEXT] [origins=interndata,gensim2]
       [out=data/bench-peer-settings] [results=FILE.json] [refusals=true]

Runs every file of `benchmarks/peer_settings` unchanged, as the `planner_setting` of a derived task: only object, part,
start and hand are added, as `runs.yaml` says. We wrote these files from the documented conventions of the two systems.
Each episode has another object of the category, with its hinge on either side. An episode counts as refused if no
layout has a plan. Data sets stay in the folder. The same command again continues an interrupted benchmark.
`results=` saves the counts. `refusals=true` runs each refused episode again, alone in a process, and prints how much
processor time it takes, the start of the program included.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from success_runs import TASK, Job, Result, RunCfg, collect_command, rate, run_or_read, with_interval

from unlatch.configs.user_files import find_settings, read_setting_file
from unlatch.solver.setting import PlannerSettingCfg, SuccessMode
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, print_line, run_guarded

FOLDER = Path(__file__).with_name("peer_settings")
"""The settings, and `runs.yaml`, which says with which object each is run."""
KIND = "peers"
"""Kind of these runs in the file of results."""
_TIME_LIMIT_S = 10.0
"""A refusal must not take longer."""
_SKILLS = {"open": ("open", "pull"), "close": ("close", "push"), "rotate": ("rotate",)}
"""First words of the names of the settings for each skill."""


@dataclass
class PeerSettingsCfg(RunCfg):
    """The keys of this benchmark."""

    n: int = 10
    """Number of episodes of each setting."""
    origins: str = "interndata,gensim2"
    """Origins, separated by commas."""
    out: str = "data/bench-peer-settings"
    """Folder of the data sets and of the tasks that are made of the settings."""
    refusals: bool = False
    """Whether each refused episode runs again to measure the processor time that it takes."""


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
        name = str(run["file"]).removesuffix(".yaml")
        yield PeerJob(KIND, name, TASK, _name(run), config_dir=str(config_dir))


def refusal_seconds(result: Result, cfg: PeerSettingsCfg) -> dict[int, float]:
    """Runs the refused episodes of a setting again, each alone; returns the processor time by episode [s]."""
    found = {}
    for number in sorted(set(range(result.n)) - result.planned):
        with tempfile.TemporaryDirectory() as folder:
            command = collect_command(result.job, cfg, Path(folder), [f"only=[{number}]"])
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        found[number] = used.ru_utime + used.ru_stime
    return found


def peer_table(results: Sequence[Result]) -> list[str]:
    """Returns a table with a line for each origin and skill, and for each origin."""
    lines = ["| origin | skill | files | success | of those with a plan | refused |", "|---|---|---|---|---|---|"]
    for origin in dict.fromkeys(_origin(result) for result in results):
        for skill in (*_SKILLS, "all"):
            chosen = [r for r in results if _origin(r) == origin and skill in ("all", _skill(r))]
            if not chosen:
                continue
            every = [ok for r in chosen for ok in r.successes()]
            planned = [i in r.succeeded for r in chosen for i in sorted(r.planned)]
            counts = f"{with_interval(every)} | {with_interval(planned)} | {len(every) - len(planned)}"
            shown = skill if skill == "all" else f"`{skill}`"
            lines.append(f"| `{origin}` | {shown} | {len(chosen)} | {counts} |")
    return lines


def _origin(result: Result) -> str:
    return result.job.name.split("/")[0]


def _skill(result: Result) -> str:
    name = result.job.name.split("/")[1]
    return next(skill for skill, words in _SKILLS.items() if name.startswith(words))


def main(arguments: list[str]) -> int:
    """Runs every setting and prints the results."""
    cfg = read_pairs(PeerSettingsCfg, arguments)
    results = run_or_read(list(make_jobs(cfg)), cfg)
    for result in results:
        reasons = sorted(set(result.refusals.values()))
        why = f"; {reasons[0]}" if reasons else ""
        refused = result.n - len(result.planned)
        print_line(
            f"{result.job.name}: {rate(result.successes())} {dict(result.codes) or ''} {refused} refused"
            f"{why}{result.problem}"
        )
    for line in peer_table(results):
        print_line(line)
    if cfg.refusals:
        print_refusal_times(results, cfg)
    return OK


def print_refusal_times(results: Sequence[Result], cfg: PeerSettingsCfg) -> None:
    """Measures all refusals and prints a line for each, the longest first."""
    times = [(s, r.job.name, number) for r in results for number, s in refusal_seconds(r, cfg).items()]
    for seconds, name, number in sorted(times, reverse=True):
        print_line(f"{name} episode {number}: refused after {seconds:.1f} s of processor time")
    late = sum(seconds > _TIME_LIMIT_S for seconds, _, _ in times)
    print_line(f"{len(times)} refusals, {late} of them take more than {_TIME_LIMIT_S:g} s")


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
