"""An exam: one frozen set of evaluations for every policy, with a result that others can check."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import yaml
from loky import ProcessPoolExecutor, cpu_count

from unlatch.configs.overrides import quote_text, write_value
from unlatch.configs.schema import Scenery
from unlatch.robots.catalog import ROBOTS
from unlatch.simcore.errors import ConfigError, RecordingError, UnlatchError, unknown_name
from unlatch.simcore.files import user_path, write_whole_file
from unlatch.simcore.ranges import Range, Ranged
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EPISODE_FILE, EpisodeRecord
from unlatch.simcore.recording.index import EpisodeSummary
from unlatch.simcore.recording.json_values import differences, plain
from unlatch.workflows.checks.criteria_source import check_data_set
from unlatch.workflows.episode.asset_checks import check_assets
from unlatch.workflows.policies.catalog import check_one_worker, parse_spec
from unlatch.workflows.runs.code_versions import CodeVersions, header_of
from unlatch.workflows.runs.evaluate import PREFIX, EvaluateJob, identity_of
from unlatch.workflows.runs.loading import load_config
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.runs.run import RunRequest, run_episodes
from unlatch.workflows.runs.schema import MAX_WORKERS, EvaluateCfg, take_shard
from unlatch.workflows.runs.statistics import RunStatistics, wilson_interval
from unlatch.workflows.viewing.clip import ClipCfg, write_clip
from unlatch.workflows.viewing.picture import fill_template

logger = logging.getLogger(__name__)

SUITE = Path(__file__).with_name("articulated_v1.yaml")
SCENES = Path(__file__).with_name("articulated_v1_scenes.yaml")
"""Hashes of the first scene by task, and by cell where it is another one.

Perturbations are drawn apart from it, but a search for a layout takes the first one that plans, and where an object is
moved, that may be another one."""
RESULT, PAGE = "exam.json", "index.html"
CLIPS = "clips"
"""Folder with a clip of the first episode of every task."""
_CLIP = ClipCfg(width=320, height=240, fps=8, speed=4.0, scenery=Scenery.none, renderer="software")
PLAIN = "plain"
"""In place of an axis: no perturbation."""
_FREE = re.compile(r"(camera|sensors)(?![a-z_])|world\.record_hz\Z|evaluate\.(observation|action)(?![a-z_])")
"""Keys that a policy may need, beside the choice of a robot; all others are those of the exam."""
_OBSERVED = "observation.keys=[robots.*]"
"""What a policy observes by default: the same for every object."""
_STATED = {"exam": str, "size": str, "only_tier": str | None, "name": str, "policy": str, "keys": list}
"""What a result says about how it was made."""
_OF_ROBOT = ("q_home", "preplan")
"""Entries of a layout that another robot changes."""
_PART = 5
"""Episodes of a cell that one process makes at most; those of 90 s take 20 s of CPU time each."""
_DIGITS = 6
"""Digits of the numbers of a layout that a hash counts: other processors round the last ones differently."""


@dataclass
class ExamCfg(Ranged):
    """Options of `unlatch exam` beside those that say what a policy observes and does."""

    exam: str = "full"
    """Size: `full`, or `smoke`: 60 episodes."""
    tier: str | None = None
    """The only tier; null: all."""
    out: str = "exam"
    """Folder for the data sets, `exam.json` and the page."""
    name: str | None = None
    """Name of the policy in the result; null: `policy`."""
    workers: Annotated[int, Range(1, MAX_WORKERS)] | None = None
    """Processes, each of which makes at most five episodes of a cell at a time; null: one for each CPU core."""
    shard: str | None = None
    """Share of the cells that this call makes, such as `3/16`; other hosts make the others in the same folder."""


@dataclass(frozen=True)
class Cell:
    """One evaluation: a task with at most one perturbation."""

    task: str
    tier: str
    axis: str
    level: int
    """1 to 3; 0 without a perturbation."""
    episodes: int
    keys: tuple[str, ...] = field(repr=False)
    """What the command line of `unlatch evaluate` would have, without policy and folder."""

    @property
    def name(self) -> str:
        """Its folder: `open_drawer/plain` or `open_drawer/latency-2`."""
        return f"{self.task}/{self.axis}-{self.level}" if self.level else f"{self.task}/{self.axis}"


@cache
def read_suite() -> dict[str, Any]:
    """Returns the table of the exam."""
    found: dict[str, Any] = yaml.safe_load(SUITE.read_text(encoding="utf-8"))
    return found


def list_cells(cfg: ExamCfg) -> list[Cell]:
    """Returns the evaluations of an exam, in a fixed order.

    Raises:
        ConfigError: Size or tier is unknown, or the shard cannot be read or is empty.
    """
    suite = read_suite()
    for key, known in (("exam", suite["sizes"]), ("tier", suite["tiers"])):
        value = getattr(cfg, key)
        if value is not None and value not in known:
            raise unknown_name(value, f"a known {key}", where=key, known=list(known))
    size = suite["sizes"][cfg.exam]
    tasks = [task for task in suite["tasks"] if task["name"] in size.get("tasks", [task["name"]])]
    found = []
    for task in tasks:
        if cfg.tier not in (None, task["tier"]):
            continue
        make = partial(_make_cell, suite, task)
        found.append(make(PLAIN, 0, size["plain"]))
        if task["name"] in size.get("tasks_of_axes", [task["name"]]):
            found += [make(axis, level, size["perturbed"]) for axis in suite["axes"] for level in size["levels"]]
    return list(take_shard(found, cfg.shard, noun="evaluation"))


def _make_cell(suite: Mapping[str, Any], task: Mapping[str, Any], axis: str, level: int, episodes: int) -> Cell:
    keys = [*task["keys"], *suite["tiers"][task["tier"]], f"seed={suite['seed']}", f"episodes={episodes}"]
    names = {"object": "${object.name}", "robot": "${robot.name}", "verb": task["verb"]}
    places = {"rules": "randomization.rules", "distractors": "randomization.distractors", "language": "task.language"}
    for key, value in suite["axes"].get(axis, {}).items():
        keys.append(f"{places[key]}={write_value(_fill_in(value, level, names))}")
    return Cell(task["name"], task["tier"], axis, level, episodes, tuple(keys))


def _fill_in(value: Any, level: int, names: Mapping[str, str]) -> Any:
    """Returns a value with each `{levels: [...]}` in it replaced by that of a level, and with names in its texts."""
    if isinstance(value, Mapping):
        if set(value) == {"levels"}:
            return _fill_in(value["levels"][level - 1], level, names)
        return {key: _fill_in(item, level, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill_in(item, level, names) for item in value]
    return value.format(**names) if isinstance(value, str) else value


def load_cell(
    cell: Cell, policy: str, own: Sequence[str], out: Path, *, config_dirs: Sequence[str] = ()
) -> EvaluateCfg:
    """Returns the configuration of one evaluation.

    Raises:
        ConfigError: A key of the user's does not fit the exam.
    """
    run = [f"policy={policy}", "pictures=0", "executor=serial", f"out={quote_text(str(out / cell.name))}"]
    observed = [] if any(text.startswith(("observation.", "experiment=")) for text in own) else [_OBSERVED]
    cfg = load_config("evaluate", EvaluateCfg, [*cell.keys, *observed, *own, *run], config_dirs=config_dirs).cfg
    if own:
        name, scale = cfg.robot.name, cfg.robot.scale
        if name not in ROBOTS.names():
            raise unknown_name(name, "a robot of the catalog", where="robot", known=ROBOTS.names())
        robot = [f"robot={name}", *([f"robot.scale={scale}"] if scale != 1.0 else [])]
        frozen = load_config("evaluate", EvaluateCfg, [*cell.keys, *robot, *run]).cfg
        for key, expected, got in differences(_what_decides(frozen), _what_decides(cfg)):
            if not _FREE.match(key):
                raise ConfigError(
                    f"{' '.join(own)} would change what the exam asks: {key} is {got}, expected {expected}. Expected "
                    "keys of observation, action, camera and sensors, robot=NAME, robot.scale and world.record_hz. "
                    "Remove the others.",
                    key=key,
                )
    if cfg.episodes != cell.episodes or cfg.only is not None or cfg.shard is not None:
        raise ConfigError(
            f"{' '.join(own)} would change how many episodes the exam has, {cell.episodes} here. Remove episodes, only "
            "and shard, or take exam=smoke.",
            key="episodes",
        )
    return cfg


def _what_decides(cfg: EvaluateCfg) -> dict[str, Any]:
    """Returns the values that decide about episodes and their verdicts, as headers of data sets have them."""
    found: dict[str, Any] = plain({**header_of(cfg)["config"], **identity_of(cfg)})
    return found


def run_exam(
    cfg: ExamCfg,
    policy: str,
    own: Sequence[str],
    *,
    config_dirs: Sequence[str] = (),
    on_cell: Callable[[Cell, str], None],
) -> int:
    """Makes the missing episodes of an exam; where all evaluations are complete, writes its result and its page.

    Args:
        cfg: Its options.
        policy: The spec of the policy.
        own: Keys of `unlatch evaluate` that say what the policy observes and does.
        config_dirs: Folders of YAML files of the user's own.
        on_cell: Called with each cell when it is complete, and its outcome in one line.

    Returns:
        How many evaluations other shards still have to complete; 0: the result is written.

    Raises:
        UnlatchError: The policy cannot be made, or a key does not fit.
    """
    parse_spec(policy)
    check_one_worker(policy, cfg.workers)
    cells, out = list_cells(cfg), user_path(cfg.out).absolute()
    load = partial(load_cell, policy=policy, own=tuple(own), out=out, config_dirs=tuple(config_dirs))
    longest_s = {}
    for task in {cell.task: cell for cell in cells}.values():  # before anything is made
        check_assets(found := load(task))
        longest_s[task.task] = found.task.max_duration_s
    longest_first = sorted(cells, key=lambda cell: -longest_s[cell.task])
    pool = ProcessPoolExecutor(max_workers=min(cfg.workers or cpu_count(), sum(len(_split(cell)) for cell in cells)))
    try:
        made = {
            cell.name: [pool.submit(_run_part, load, cell, part) for part in _split(cell)] for cell in longest_first
        }
        for cell in cells:
            for part in made[cell.name]:
                part.result()
            statistics = RunStatistics.of(_summaries(cell, DataSet.open(out / cell.name)).values())
            on_cell(cell, f"goal {statistics.goal}; clean {statistics.clean}")
        cells = list_cells(_without_shard(cfg))
        missing = 0 if cfg.shard is None else sum(not _is_complete(cell, out) for cell in cells)
        if not missing:
            result = make_result(cfg, policy, own, out)
            write_whole_file(out / RESULT, f"{json.dumps(result, indent=1)}\n".encode())
            taken = [pool.submit(_take_clip, cell, out) for cell in cells if not cell.level]
            clips = [path for path in (clip.result() for clip in taken) if path is not None]
            write_whole_file(out / PAGE, write_page(result, clips).encode())
        return missing
    finally:
        pool.shutdown(kill_workers=True)  # after Ctrl-C, cells are left; the same command makes them


def _without_shard(cfg: ExamCfg) -> ExamCfg:
    return ExamCfg(cfg.exam, cfg.tier)


def _is_complete(cell: Cell, out: Path) -> bool:
    """Returns whether all episodes of a cell are there."""
    try:
        return len(_summaries(cell, DataSet.open(out / cell.name))) == cell.episodes
    except RecordingError:  # another shard has not begun it, or begins it now
        return False


def _summaries(cell: Cell, data_set: DataSet) -> dict[int, EpisodeSummary]:
    """Returns the episodes of a cell that can be read, by number; a larger exam in the same folder has more."""
    return {item.number: item for item in data_set.each_summary(lambda *_: None) if item.number < cell.episodes}


def _split(cell: Cell) -> list[str | None]:
    """Returns the shares of a cell that different processes make."""
    n = math.ceil(cell.episodes / _PART)
    return [f"{k}/{n}" for k in range(1, n + 1)] if n > 1 else [None]


def _run_part(load: Callable[[Cell], EvaluateCfg], cell: Cell, part: str | None) -> None:
    """Makes the missing episodes of a share of one cell in this process."""
    cfg = replace(load(cell), shard=part)
    run_episodes(RunRequest(cfg, lambda data: EvaluateJob(cfg, data), prefix=PREFIX, identity=identity_of(cfg)))


def _take_clip(cell: Cell, out: Path) -> str | None:
    """Writes a clip of the first episode of a cell; returns its path in the folder, None if there is nothing to see."""
    path, data_set = Path(CLIPS, f"{cell.task}.webp"), DataSet.open(out / cell.name)
    clip, episode = out / path, data_set.folder_of(0) / EPISODE_FILE
    if not clip.exists() or clip.stat().st_mtime < episode.stat().st_mtime:
        try:
            write_clip(config_of(data_set), data_set.read(0), _CLIP, str(clip))
        except RecordingError:  # the episode has no states
            return None
        except UnlatchError as exc:
            logger.warning("%s has no clip: %s", cell.name, exc.message)
            return None
    return path.as_posix()


def make_result(cfg: ExamCfg, policy: str, own: Sequence[str], out: Path) -> dict[str, Any]:
    """Returns the result of a finished exam, as `exam.json` has it.

    Raises:
        RecordingError: A data set is missing.
    """
    suite, cells = read_suite(), list_cells(_without_shard(cfg))
    rows = [_measure(cell, DataSet.open(out / cell.name)) for cell in cells]
    header = DataSet.open(out / cells[0].name).header["config"]
    groups = {
        "tier": {tier: [row for row in rows if row["tier"] == tier and not row["level"]] for tier in suite["tiers"]},
        "task": {cell.task: [row for row in rows if row["task"] == cell.task and not row["level"]] for cell in cells},
        "axis": {
            f"{axis} {level}": [row for row in rows if (row["axis"], row["level"]) == (axis, level)]
            for axis in suite["axes"]
            for level in suite["sizes"][cfg.exam]["levels"]
        },
    }
    return {
        "exam": suite["name"],
        "size": cfg.exam,
        "only_tier": cfg.tier,
        "name": cfg.name or policy,
        "policy": policy,
        "keys": list(own),
        "robot": header["robot"]["name"],
        "fingerprint": suite["fingerprint"],
        "suite_sha256": hashlib.sha256(SUITE.read_bytes()).hexdigest(),
        "code": dict(CodeVersions.of(header).packages),
        "other_scenes": list_other_scenes(rows),
        "plain": _join(row for row in rows if not row["level"]),
        "perturbed": _join(row for row in rows if row["level"]),
        **{key: {name: _join(found) for name, found in group.items() if found} for key, group in groups.items()},
        "cells": rows,
    }


def list_other_scenes(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns the names of the cells, of rows of a result, whose first scene is not that of the exam."""
    known = yaml.safe_load(SCENES.read_text(encoding="utf-8"))
    return [row["cell"] for row in rows if row["scene"] != known.get(row["cell"], known.get(row["task"]))]


def _measure(cell: Cell, data_set: DataSet) -> dict[str, Any]:
    """Returns what came of a cell, by episode."""
    summaries = _summaries(cell, data_set)
    if len(summaries) != cell.episodes:
        raise ConfigError(
            f"{data_set.path} has {len(summaries)} of {cell.episodes} episodes. Run the same command of `unlatch exam` "
            "again to make the others.",
            key="out",
        )
    found = [_describe(summaries[number]) for number in range(cell.episodes)]
    row = {"cell": cell.name, "task": cell.task, "tier": cell.tier, "axis": cell.axis, "level": cell.level}
    return {**row, "scene": hash_scene(data_set.read(0)), "episodes": found}


def _describe(item: EpisodeSummary) -> dict[str, Any]:
    reached = item.policy is not None and item.policy.goal_reached
    return {
        "goal": bool(reached),
        "clean": item.success,
        "time_s": item.policy.goal_s if reached and item.policy is not None else None,
        "code": item.code,
    }


def _join(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the counts of several cells, with Wilson's 95 % intervals."""
    episodes = [episode for row in rows for episode in row["episodes"]]
    n, times = len(episodes), [episode["time_s"] for episode in episodes if episode["time_s"] is not None]
    counts = {key: sum(episode[key] for episode in episodes) for key in ("goal", "clean")}
    intervals = {f"{key}_interval": list(wilson_interval(count, n)) for key, count in counts.items()}
    return {"n": n, **counts, **intervals, "median_s": median(times) if times else None}


def hash_scene(record: EpisodeRecord) -> str:
    """Returns a hash of what an episode begins with, whatever robot acts in it: its objects and their poses."""
    layout = {key: value for key, value in record.layout.items() if key not in _OF_ROBOT}
    told = [record.seed, record.assets, _rounded(layout)]
    return hashlib.sha256(json.dumps(plain(told), sort_keys=True).encode()).hexdigest()[:16]


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return round(value, _DIGITS) + 0.0 if isinstance(value, float) else value  # + 0.0: -0.0 becomes 0.0


def _read_result(path: Path) -> dict[str, Any]:
    """Returns the result of a finished exam.

    Raises:
        RecordingError: The file cannot be read, or is no result of this exam.
    """
    try:
        result = json.loads(path.read_bytes())
    except (OSError, ValueError) as exc:
        raise RecordingError(f"{path} cannot be read ({exc}). Make the exam again: unlatch exam.") from exc
    stated = result if isinstance(result, dict) else {}
    wrong = [key for key, kind in _STATED.items() if key not in stated or not isinstance(stated[key], kind)]
    if not wrong and not all(isinstance(key, str) for key in stated["keys"]):
        wrong = ["keys"]
    name = read_suite()["name"]
    if wrong or stated["exam"] != name:
        what = f"{', '.join(wrong)} missing or of another kind" if wrong else f"it is of {stated['exam']}"
        raise RecordingError(
            f"{path} is no result of the exam {name}: {what}. Expected the file that `unlatch exam` writes. Make the "
            "exam again."
        )
    return stated


def check_exam(
    out: Path, *, config_dirs: Sequence[str] = (), on_cell: Callable[[int, int], None] | None = None
) -> Iterator[str]:
    """Yields what is wrong with a finished exam: every verdict is computed again, and every number of its result.

    Args:
        out: Its folder.
        config_dirs: Folders of YAML files of the user's own, as for `run_exam`.
        on_cell: Called with the number of cells that are checked, and that of all.

    Raises:
        UnlatchError: There is no result of this exam, or a data set is missing.
    """
    result = _read_result(out / RESULT)
    cfg = ExamCfg(result["size"], result["only_tier"], name=result["name"])
    policy, own = result["policy"], result["keys"]
    cells = list_cells(cfg)
    for done, cell in enumerate(cells):
        if on_cell is not None:
            on_cell(done, len(cells))
        data_set = DataSet.open(out / cell.name)
        yield from (f"{cell.name}: {problem}" for problem in check_data_set(data_set))
        expected = _what_decides(load_cell(cell, policy, own, out, config_dirs=config_dirs))
        stated = {**data_set.header["config"], "evaluate": data_set.header.get("evaluate")}
        for key, ours, theirs in differences(expected, stated):
            yield f"{cell.name}: {key} is {theirs} in the data set, expected {ours} by the exam."
    again = json.loads(json.dumps(make_result(cfg, policy, own, out)))
    for key in again.keys() - {"code"}:
        if again[key] != result.get(key):
            yield f"{RESULT}: {key} is not what the data sets give."
    for name in again["other_scenes"]:
        yield f"{name}: its first scene is not that of the exam: other objects, or another version of Unlatch."


def write_page(result: Mapping[str, Any], clips: Sequence[str]) -> str:
    """Returns the page of a result: goal and clean by task, tier and axis, as bars with their intervals, and clips."""
    first = {row["task"]: row["episodes"][0] for row in result["cells"] if not row["level"]}
    shown = [(Path(path).stem, path, first[Path(path).stem]) for path in clips]
    groups, speed = ("tier", "task", "axis"), f"{_CLIP.speed:g}"
    return fill_template("exam.html", result=result, groups=groups, clips=shown, speed=speed)
