"""Runs `unlatch collect` for many objects, skills and robots, and counts what succeeds; keeps the counts in a file."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from fingerprint import fingerprint_here, is_present, made_with, same_behaviour

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.episode_folders import DATASET_FILE
from unlatch.simcore.recording.policy_outcome import STRICT_SHARE, end_share
from unlatch.workflows.cli.terminal import print_line
from unlatch.workflows.runs.statistics import wilson_interval

RESULTS = Path(__file__).with_name("results.json")
"""The counts from which `results_page.py` writes the page of results."""
TASK = "task"
"""Replaces the skill if the job is a shipped task."""
DOES_NOT_FIT = "does not fit"
ROBOT = "franka_panda"
_LIMIT_S = 4 * 3600.0
_NOT_PLANNED = ("invalid_layout", "plan_infeasible", "path_infeasible", "error")
_MOVED = (None, "collision", "overspeed", "unsettled")
"""Codes of episodes in which the part reached its goal."""
_KEYS = ("kind", "robot", "name", "skill", "keypoints", "seed")
"""Keys that tell the entries of a file of results apart."""
WIDE = "0.9"
"""Share of the range in the tables of wide openings."""
_NO_CONTACT_FAULT = (None, "overspeed", "unsettled")


class Seed(Enum):
    """What a seed was used for before."""

    fresh = "fresh"
    """Nobody had used it."""
    development = "development"
    """Its failures were studied while the code was written."""


@dataclass
class RunCfg:
    """The keys of a benchmark that runs `unlatch collect` for many objects."""

    n: int = 20
    """Episodes of each object and skill."""
    seed: int = 0
    """Seed of the runs."""
    seed_is: Seed = Seed.fresh
    """What the seed was used for before; kept with the results."""
    workers: int = 2
    """Number of objects that run in parallel."""
    only: str = ""
    """Only objects whose name or path contains one of these texts, separated by commas."""
    skills: str = "open,close"
    """Skills, separated by commas."""
    openness: str = ""
    """How far `open` opens the part: a share of its range, or `full`; empty: its default."""
    rests_on: str = ""
    """Side of the object that is down: `back`, `any` and so on; empty: it stands."""
    search_off: bool = False
    """Whether episodes whose first layout has no plan run a second time without the search for a layout."""
    out: str = "data/bench-any-urdf"
    """Folder of the data sets."""
    results: str | None = None
    """File of counts. Entries with as many episodes of this seed and the present physics are read from it; others run
    and are added."""

    def __post_init__(self) -> None:
        if self.openness not in ("", WIDE) and self.results is not None:
            raise ConfigError(
                f"openness={self.openness} does not fit results={self.results}: a file of results has only openings "
                f"by default and by {WIDE}. Remove one of them.",
                key="openness",
            )
        if self.rests_on and self.results is not None:
            raise ConfigError(
                f"rests_on={self.rests_on} does not fit results={self.results}: a file of results has only objects "
                "that stand. Remove one of them.",
                key="rests_on",
            )

    @property
    def folder(self) -> Path:
        """Folder of the data sets; with a file of results, another one for each physics."""
        return Path(self.out) if self.results is None else Path(self.out) / fingerprint_here()

    def kind(self, name: str, skill: str) -> str:
        """Returns the name of the table for runs of a kind, which is another one for wide openings."""
        return f"{name}_wide" if self.openness and skill == "open" else name

    def wants(self, text: str) -> bool:
        """Returns whether `only` selects a name or path."""
        parts = [part for part in self.only.split(",") if part]
        return not parts or any(part in text for part in parts)


@dataclass(frozen=True)
class Job:
    """A run with one object, one skill, one robot and one source of keypoints."""

    kind: str
    """Name of the table to which it belongs: `library`, `library_wide`, `real`, `real_wide`, `tasks` or `peers`."""
    name: str
    skill: str
    source: str
    """Value of `object=`, or of `task=`."""
    robot: str = ROBOT
    keypoints: str = "derived"

    @property
    def words(self) -> list[str]:
        """Returns the arguments of `unlatch collect`."""
        what = [f"task={self.source}"] if self.skill == TASK else [f"object={self.source}", f"skill={self.skill}"]
        return [*what, f"robot={self.robot}"]

    @property
    def key(self) -> tuple[str, ...]:
        """Returns what makes it another entry of a file of results, beside the seed."""
        return self.kind, self.robot, self.name, self.skill, self.keypoints


@dataclass
class Result:
    """The counts of a job, as sets of episode numbers."""

    job: Job
    n: int = 0
    succeeded: set[int] = field(default_factory=set)
    ajar: set[int] = field(default_factory=set)
    """Episodes in which a part stood open at the start, however little."""
    first: set[int] = field(default_factory=set)
    """Episodes with a plan for the first layout."""
    without_search: set[int] | None = None
    """Successes without a search for a layout; None: not measured."""
    planned: set[int] = field(default_factory=set)
    """Episodes with a plan for every skill."""
    codes: Counter[str] = field(default_factory=Counter)
    refusals: dict[int, str] = field(default_factory=dict)
    """Reason for refusing the layout, by episode."""
    shares: dict[int, float] = field(default_factory=dict)
    """Where the part of a success ends, as a share of its range on the way to open, or to closed for `close`."""
    executed: int = 0
    """Number of planned episodes in which the part reached its goal."""
    contact_valid: int = 0
    """Number of executed episodes with valid contacts."""
    search_ms: list[float] = field(default_factory=list)
    """Time of the search for a layout, by episode [ms]; not kept in the file."""
    problem: str = ""
    """Reason if there is no episode."""
    made_with: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Version, commit and fingerprint of the code that made it; older entries have a commit only."""

    @property
    def is_present(self) -> bool:
        """Returns whether the present physics made it."""
        return is_present(self.made_with)

    def successes(self, *, ajar: bool | None = None) -> list[bool]:
        """Returns the success of every episode; `ajar`: only of those that started ajar, or only of the others."""
        return [i in self.succeeded for i in range(self.n) if ajar is None or (i in self.ajar) == ajar]

    @property
    def strict(self) -> list[bool]:
        """Returns for every episode whether it is a success with the part in the last tenth of its way at the end."""
        return [self.shares.get(i, 0.0) >= STRICT_SHARE for i in range(self.n)]

    def to_entry(self, cfg: RunCfg) -> dict[str, Any]:
        """Returns the counts as an entry of a file of results."""
        everything, without = set(range(self.n)), self.without_search
        return {
            **dict(zip(_KEYS, (*self.job.key, cfg.seed), strict=True)),
            "seed_is": cfg.seed_is.value,
            "n": self.n,
            **self.made_with,
            "failed": sorted(everything - self.succeeded),
            "ajar": sorted(self.ajar),
            "not_first": sorted(everything - self.first),
            "not_planned": sorted(everything - self.planned),
            "failed_without_search": None if without is None else sorted(everything - without),
            "codes": dict(self.codes),
            "refusals": {str(number): reason for number, reason in self.refusals.items()},
            "shares": [round(self.shares[i], 3) for i in sorted(self.shares)],
            "executed": self.executed,
            "contact_valid": self.contact_valid,
            "problem": self.problem,
        }

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any], job: Job) -> Result:
        """Returns the counts of an entry."""
        everything, without = set(range(entry["n"])), entry["failed_without_search"]
        succeeded = everything - set(entry["failed"])
        return cls(
            job,
            n=entry["n"],
            succeeded=succeeded,
            ajar=set(entry["ajar"]),
            first=everything - set(entry["not_first"]),
            without_search=None if without is None else everything - set(without),
            planned=everything - set(entry["not_planned"]),
            codes=Counter(entry["codes"]),
            refusals={int(number): reason for number, reason in entry["refusals"].items()},
            shares=dict(zip(sorted(succeeded), entry["shares"], strict=True)),
            executed=entry["executed"],
            contact_valid=entry["contact_valid"],
            problem=entry["problem"],
            made_with={key: entry[key] for key in ("version", "commit", "fingerprint") if key in entry},
        )


def run(job: Job, cfg: RunCfg) -> Result:
    """Runs the command of a job and counts the episodes of its data set."""
    prefix = "" if job.robot == ROBOT else f"{job.robot}-"
    name = f"{prefix}{job.name.replace('/', '-')}-{job.skill}-{job.keypoints}-s{cfg.seed}"
    name += f"-to-{cfg.openness}" if cfg.openness else ""
    folder = cfg.folder / (f"{name}-on-{cfg.rests_on}" if cfg.rests_on else name)
    problem = _collect(job, cfg, folder, [f"episodes={cfg.n}"])
    result = Result(job, problem=problem)
    if problem:
        return result
    for record in _read(folder, cfg.n):
        _count(result, record)
    if cfg.search_off:
        result.without_search = result.first & result.succeeded
        again = sorted(set(range(result.n)) - result.first)
        if again:
            numbers = f"only=[{','.join(map(str, again))}]"
            alone = folder.with_name(f"{folder.name}-first-layout")
            problem = _collect(job, cfg, alone, [numbers, "skills.0.candidates=1"])
            if problem:
                raise RuntimeError(f"{job}: {problem}")
            result.without_search |= {record.number for record in _read(alone, cfg.n) if record.success}
    return result


def _collect(job: Job, cfg: RunCfg, folder: Path, options: Sequence[str]) -> str:
    """Runs `unlatch collect`; returns why there are no episodes, or an empty text."""
    command = collect_command(job, cfg, folder, options)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LIMIT_S)
    if done.returncode in (0, 1) and (folder / DATASET_FILE).is_file():
        return ""
    return (done.stderr.strip().splitlines() or ["no output"])[-1]


def collect_command(job: Job, cfg: RunCfg, folder: Path, options: Sequence[str]) -> list[str]:
    """Returns the command line that runs a job in one process."""
    how_far = [f"openness={cfg.openness}"] if cfg.openness and job.skill == "open" else []
    side = [f"object.rests_on={cfg.rests_on}"] if cfg.rests_on else []
    command = [sys.executable, "-m", "unlatch", "collect", *job.words, *how_far, *side, *options, f"seed={cfg.seed}"]
    return [*command, "executor=serial", "pictures=0", f"out={folder}"]


def _read(folder: Path, n: int) -> Iterable[EpisodeRecord]:
    data_set = DataSet.open(str(folder))
    return (data_set.read(number) for number in data_set.numbers() if number < n)


def _count(result: Result, record: EpisodeRecord) -> None:
    number, code = record.number, record.code
    placed, search = record.layout.get("objects", {}), record.layout.get("preplan", {})
    drawn = [entry for place in placed.values() for entry in place.get("drawn", {}).items()]
    found = [skill["plan"]["found"] for skill in record.skills if skill.get("plan")]
    planned = code not in _NOT_PLANNED and bool(found) and all(found)
    result.n += 1
    result.search_ms += [record.timings_ms["preplan"]] if "preplan" in record.timings_ms else []
    for chosen, numbers in (
        (record.success, result.succeeded),
        (any(value > 0.0 for key, value in drawn if key.startswith("opening.")), result.ajar),
        (search.get("chosen") == 0 if search else planned, result.first),
        (planned, result.planned),
    ):
        if chosen:
            numbers.add(number)
    result.executed += planned and code in _MOVED
    result.contact_valid += planned and code in _NO_CONTACT_FAULT
    if record.success:
        result.shares[number] = end_share(record.skills[-1])
    if code == "invalid_layout":
        failed = search.get("failures") or [{"message": record.evidence.get("message", code)}]
        result.refusals[number] = str(failed[0]["message"])
    if code is not None:
        result.codes[code] += 1


def run_all(jobs: Sequence[Job], cfg: RunCfg, *, on_result: Callable[[Result], None] = lambda _: None) -> list[Result]:
    """Runs jobs in parallel and prints a line for each; calls `on_result` with each result, in order of completion."""
    print_line(f"{len(jobs)} jobs of {cfg.n} episodes")
    with ThreadPoolExecutor(cfg.workers) as pool:
        running = [pool.submit(run, job, cfg) for job in jobs]
        for count, done in enumerate(as_completed(running), start=1):
            result = done.result()
            on_result(result)
            line = result.problem or f"{rate(result.successes())} {dict(result.codes) or ''}"
            about = f"{result.job.robot} {result.job.name} {result.job.skill} {result.job.keypoints}"
            print_line(f"{count}/{len(jobs)} {about}: {line}")
    return [done.result() for done in running]


def run_or_read(jobs: Sequence[Job], cfg: RunCfg) -> list[Result]:
    """Returns the results of the jobs. Reads those in the file of results; runs the others and adds them."""
    if cfg.results is None:
        return run_all(jobs, cfg)
    path = Path(cfg.results)
    entries = {_key_of(entry): entry for entry in read_results(path)}
    keys = {job: (*job.key, cfg.seed) for job in jobs}

    def is_there(job: Job) -> bool:
        entry = entries.get(keys[job])
        if entry is None or not same_behaviour(entry, code):
            return False
        measured = not cfg.search_off or entry["failed_without_search"] is not None
        return DOES_NOT_FIT in entry["problem"] or (entry["n"] >= cfg.n and measured)

    code = made_with()

    def add(result: Result) -> None:
        result.made_with = code
        for key in [key for key, entry in entries.items() if _is_replaced(entry, result, cfg)]:
            del entries[key]
        entries[keys[result.job]] = result.to_entry(cfg)
        write_results(path, list(entries.values()))

    run_all([job for job in jobs if not is_there(job)], cfg, on_result=add)
    return [Result.from_entry(entries[keys[job]], job) for job in jobs]


def _is_replaced(entry: Mapping[str, Any], result: Result, cfg: RunCfg) -> bool:
    """Returns whether an entry is the same as a new one, from an older physics."""
    job = entry["kind"], entry["robot"], entry["name"], entry["skill"], entry["keypoints"]
    same = job == result.job.key and entry["seed_is"] == cfg.seed_is.value
    return same and not same_behaviour(entry, result.made_with)


def read_results(path: Path) -> list[dict[str, Any]]:
    """Returns the entries of a file of results; none if the file does not exist.

    Raises:
        ConfigError: The file does not contain results.
    """
    if not path.exists():
        return []
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["entries"]
        for entry in entries:
            _key_of(entry)
    except (ValueError, KeyError, TypeError, OSError) as exc:
        raise ConfigError(
            f"{path} contains no results: {exc}. Name another file, or one that does not exist yet."
        ) from exc
    return list(entries)


def write_results(path: Path, entries: list[dict[str, Any]]) -> None:
    """Writes entries in a fixed order, one per line; replaces the whole file."""
    lines = [json.dumps(entry) for entry in sorted(entries, key=_key_of)]
    temporary = path.with_name(path.name + ".part")
    temporary.write_text('{"entries": [\n' + ",\n".join(lines) + "\n]}\n", encoding="utf-8")
    temporary.replace(path)


def _key_of(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(entry[key] for key in _KEYS)


def rate(successes: Iterable[bool]) -> str:
    """Returns `18/20`, or a dash without attempts."""
    found = list(successes)
    return f"{sum(found)}/{len(found)}" if found else "-"


def with_interval(successes: Sequence[bool]) -> str:
    """Returns `18/20 (69.9 to 97.2 %)`, or a dash without attempts."""
    low, high = wilson_interval(sum(successes), len(successes))
    return f"{rate(successes)} ({100 * low:.1f} to {100 * high:.1f} %)" if successes else "-"
