"""Measures how often objects open and close when Unlatch has only their URDF.

Usage: UNLATCH_PARTNET_DIR=FOLDER python benchmarks/any_urdf.py [n=20] [seed=0] [workers=2] [only=TEXT]
       [skills=open,close] [keypoints=derived,hand] [out=data/bench-any-urdf]

Opens and closes every object of the categories below with `unlatch collect object=PATH skill=...`, without any other
file. `keypoints=derived,hand` runs each object a second time. It then uses the head that a person set in `info.json`
instead of the derived one, and compares the two runs episode by episode. Starts from closed and from ajar are counted
separately. Data sets stay in the folder. The same command again continues an interrupted benchmark.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from rich.box import MARKDOWN
from rich.table import Table

from unlatch.objects.annotate import AnnotateCfg, annotate_source, read_source
from unlatch.objects.annotate.source import PARTNET_URDF
from unlatch.objects.annotate.storage import with_mark, write_annotation_file
from unlatch.objects.annotation import ANNOTATION_FILE
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command import run_guarded
from unlatch.workflows.cli.console import OK, print_line, result_console
from unlatch.workflows.runs.statistics import wilson_interval

CATEGORIES = ("microwave", "drawer", "refrigerator", "safe", "oven", "door", "laptop")
"""The categories; names of object folders begin with them."""
SOURCES = ("derived", "hand")
TASK = "task"
"""Replaces the skill if the job is a shipped task."""
_LIMIT_S = 3600.0
_STRICT_SHARE = 0.9
_ROBOT = "franka_panda"
_NOT_PLANNED = ("invalid_layout", "plan_infeasible", "path_infeasible", "error")
_MOVED = (None, "collision", "overspeed", "unsettled")
"""Codes of episodes in which the part reached its goal."""
_NO_CONTACT_FAULT = (None, "overspeed", "unsettled")


@dataclass
class RunCfg:
    """The keys of a benchmark that runs `unlatch collect` for many objects."""

    n: int = 20
    """Episodes of each object and skill."""
    seed: int = 0
    """Seed of the runs."""
    workers: int = 2
    """Number of objects that run in parallel."""
    only: str = ""
    """Only objects whose name or path contains one of these texts, separated by commas."""
    skills: str = "open,close"
    """Skills, separated by commas."""
    out: str = "data/bench-any-urdf"
    """Folder of the data sets."""

    def wants(self, text: str) -> bool:
        """Returns whether `only` selects a name or path."""
        parts = [part for part in self.only.split(",") if part]
        return not parts or any(part in text for part in parts)


@dataclass
class AnyUrdfCfg(RunCfg):
    """The keys of this benchmark."""

    keypoints: str = "derived"
    """`derived` or `derived,hand`."""


@dataclass(frozen=True)
class Job:
    """A run with one object, one skill and one source of keypoints."""

    name: str
    skill: str
    keypoints: str
    source: str
    """Value of `object=`."""
    robot: str = _ROBOT
    """Value of `robot=`."""

    @property
    def words(self) -> list[str]:
        """Returns the arguments of `unlatch collect`."""
        if self.skill == TASK:
            return [f"task={self.source}", f"robot={self.robot}"]
        return [f"object={self.source}", f"skill={self.skill}", f"robot={self.robot}"]


@dataclass
class Result:
    """The result of a job."""

    job: Job
    closed: dict[int, bool] = field(default_factory=dict)
    """Success by episode, for episodes that started closed."""
    ajar: dict[int, bool] = field(default_factory=dict)
    """Success by episode, for episodes that started open, however little."""
    strict: list[bool] = field(default_factory=list)
    """For every episode: success, with the joint beyond 90 % of its range or within 10 % of closed at the end."""
    first_layouts: int = 0
    """Number of episodes with a plan for the first layout."""
    search_ms: list[float] = field(default_factory=list)
    """Time of the search for a layout, by episode [ms]."""
    codes: Counter[str] = field(default_factory=Counter)
    refusals: dict[int, str] = field(default_factory=dict)
    """Reason for refusing the layout, by episode."""
    planned: int = 0
    """Number of episodes with a plan for every skill."""
    executed: int = 0
    """Number of planned episodes in which the part reached its goal."""
    contact_valid: int = 0
    """Number of executed episodes with valid contacts."""
    problem: str = ""
    """Reason if there is no episode."""

    @property
    def refused(self) -> int:
        """Returns the number of episodes without a layout for which the skill has a plan."""
        return len(self.refusals)

    @property
    def all(self) -> dict[int, bool]:
        """Returns the success by episode."""
        return {**self.closed, **self.ajar}


def objects_of(root: Path, cfg: RunCfg) -> list[Path]:
    """Returns the folders of the selected objects."""
    found = sorted(path.parent for path in root.rglob(PARTNET_URDF))
    tried = [path for path in found if path.relative_to(root).parts[0].startswith(CATEGORIES)]
    return [path for path in tried if cfg.wants(str(path))]


def copy_with_hand_keypoints(folder: Path, out: Path) -> Path:
    """Returns a copy of an object whose `articulation.yaml` has the head of `info.json`."""
    shutil.copytree(folder, out, dirs_exist_ok=True)
    articulation = annotate_source(read_source(out), AnnotateCfg(use_info=True)).articulation
    write_annotation_file(out / ANNOTATION_FILE, with_mark(articulation).to_yaml().encode())
    return out


def run(job: Job, cfg: RunCfg) -> Result:
    """Runs the command of a job and reads its data set."""
    prefix = "" if job.robot == _ROBOT else f"{job.robot}-"
    folder = Path(cfg.out) / f"{prefix}{job.name.replace('/', '-')}-{job.skill}-{job.keypoints}-s{cfg.seed}"
    command = [sys.executable, "-m", "unlatch", "collect", *job.words]
    command += [f"episodes={cfg.n}", f"seed={cfg.seed}", "executor=serial", "pictures=0", f"out={folder}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LIMIT_S)
    if done.returncode not in (0, 1):
        return Result(job, problem=(done.stderr.strip().splitlines() or ["no output"])[-1])
    result = Result(job)
    data_set = DataSet.open(str(folder))
    for item in data_set.summaries():
        if item.number >= cfg.n:
            continue
        record = data_set.read(item.number)
        placed, search = record.layout.get("objects", {}), record.layout.get("preplan", {})
        result.first_layouts += search.get("chosen") == 0
        result.search_ms += [record.timings_ms["preplan"]] if "preplan" in record.timings_ms else []
        drawn = [entry for place in placed.values() for entry in place.get("drawn", {}).items()]
        is_ajar = any(value > 0.0 for key, value in drawn if key.startswith("opening."))
        (result.ajar if is_ajar else result.closed)[item.number] = item.success
        result.strict.append(item.success and is_at_end(record.skills[-1]))
        plans_found = [skill["plan"]["found"] for skill in record.skills if skill.get("plan")]
        planned = item.code not in _NOT_PLANNED and bool(plans_found) and all(plans_found)
        result.planned += planned
        result.executed += planned and item.code in _MOVED
        result.contact_valid += planned and item.code in _NO_CONTACT_FAULT
        if item.code == "invalid_layout":
            failed = search.get("failures") or [{"message": record.evidence.get("message", item.code)}]
            result.refusals[item.number] = str(failed[0]["message"])
        if item.code is not None:
            result.codes[item.code] += 1
    return result


def is_at_end(skill: Mapping[str, Any]) -> bool:
    """Returns whether the part is at the end of its range: open, or closed for `close`."""
    share = (skill["s_end"] - skill["s_closed"]) / (skill["s_open"] - skill["s_closed"])
    return bool(share <= 1.0 - _STRICT_SHARE if skill["name"] == "close" else share >= _STRICT_SHARE)


def run_all(jobs: Sequence[Job], cfg: RunCfg, *, on_result: Callable[[Result], None] = lambda _: None) -> list[Result]:
    """Runs jobs in parallel and prints a line for each; calls `on_result` with each result, in order of completion."""
    print_line(f"{len(jobs)} jobs of {cfg.n} episodes")
    results = []
    with ThreadPoolExecutor(cfg.workers) as pool:
        for result in pool.map(lambda job: run(job, cfg), jobs):
            results.append(result)
            on_result(result)
            line = result.problem or f"{rate(result.all.values())} {dict(result.codes) or ''}"
            about = f"{result.job.robot} {result.job.name} {result.job.skill} {result.job.keypoints}"
            print_line(f"{len(results)}/{len(jobs)} {about}: {line}")
    return results


def rate(successes: Iterable[bool]) -> str:
    """Returns `18/20`, or a dash without attempts."""
    found = list(successes)
    return f"{sum(found)}/{len(found)}" if found else "-"


def with_interval(successes: Sequence[bool]) -> str:
    """Returns `18/20 (69.9 to 97.2 %)`, or a dash without attempts."""
    low, high = wilson_interval(sum(successes), len(successes))
    return f"{rate(successes)} ({100 * low:.1f} to {100 * high:.1f} %)" if successes else "-"


def instance_table(results: Sequence[Result]) -> Table:
    """Returns the table of successes, with one row per job."""
    table = Table(box=MARKDOWN)
    for column in ("object", "skill", "keypoints", "closed", "ajar", "95 % interval", "strict", "failures"):
        table.add_column(column, no_wrap=column != "failures")
    for result in results:
        low, high = wilson_interval(sum(result.all.values()), len(result.all))
        failures = result.problem or ", ".join(f"{code} {n}" for code, n in result.codes.most_common())
        table.add_row(
            result.job.name,
            result.job.skill,
            result.job.keypoints,
            rate(result.closed.values()),
            rate(result.ajar.values()),
            f"{100 * low:.0f} to {100 * high:.0f} %",
            rate(result.strict),
            failures,
        )
    return table


def summary_lines(results: Sequence[Result]) -> list[str]:
    """Returns lines with means over objects, pooled rates by start, and the comparison of keypoints."""
    lines = []
    for keypoints in dict.fromkeys(result.job.keypoints for result in results):
        for skill in (*dict.fromkeys(result.job.skill for result in results), "all"):
            found = [r for r in results if r.job.keypoints == keypoints and skill in (r.job.skill, "all") and r.all]
            if not found:
                continue
            ratio = mean(sum(r.all.values()) / len(r.all) for r in found)
            values = [value for r in found for value in r.all.values()]
            low, high = wilson_interval(sum(values), len(values))
            closed = [value for r in found for value in r.closed.values()]
            ajar = [value for r in found for value in r.ajar.values()]
            lines.append(
                f"{skill}, {keypoints} keypoints: mean over {len(found)} objects {100 * ratio:.1f} %; pooled "
                f"{rate(values)} ({100 * low:.1f} to {100 * high:.1f} %), from closed {with_interval(closed)}, "
                f"from ajar {with_interval(ajar)}; strict {with_interval([v for r in found for v in r.strict])}"
            )
    searched = [ms for result in results for ms in result.search_ms]
    if searched:
        first = sum(result.first_layouts for result in results)
        lines.append(f"plan for the first layout: {first}/{len(searched)}; search {median(searched):.0f} ms (median)")
    return lines + compared_lines(results)


def compared_lines(results: Sequence[Result]) -> list[str]:
    """Returns the comparison of derived keypoints and those set by hand, over their common episodes."""
    by_source = {
        source: {(r.job.name, r.job.skill): r for r in results if r.job.keypoints == source} for source in SOURCES
    }
    pairs = [
        (by_source["derived"][key].all[number], success)
        for key, hand in by_source["hand"].items()
        if key in by_source["derived"]
        for number, success in hand.all.items()
        if number in by_source["derived"][key].all
    ]
    if not pairs:
        return []
    difference = [float(a) - float(b) for a, b in pairs]
    half = 1.96 * float(np.std(difference)) / len(pairs) ** 0.5
    return [
        f"paired episodes: {len(pairs)}; derived {rate(a for a, _ in pairs)}, set by hand {rate(b for _, b in pairs)}; "
        f"difference {100 * mean(difference):+.1f} points (95 % interval +- {100 * half:.1f})"
    ]


def main(arguments: list[str]) -> int:
    """Runs every job and prints the results."""
    cfg = read_pairs(AnyUrdfCfg, arguments)
    root = os.environ.get("UNLATCH_PARTNET_DIR")
    if not root:
        raise ConfigError("UNLATCH_PARTNET_DIR is not set. Set it to a folder of PartNet-Mobility objects.")
    jobs = []
    for folder in objects_of(Path(root), cfg):
        name = folder.relative_to(root).as_posix()
        for keypoints in cfg.keypoints.split(","):
            copy = Path(cfg.out) / "objects" / name
            source = folder if keypoints == "derived" else copy_with_hand_keypoints(folder, copy)
            jobs += [Job(name, skill, keypoints, str(source)) for skill in cfg.skills.split(",")]
    results = run_all(jobs, cfg)
    result_console().print(instance_table(results))
    for line in summary_lines(results):
        print_line(line)
    return OK


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:])))
