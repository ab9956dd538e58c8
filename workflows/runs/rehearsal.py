"""Tries an object before data are made of it: many ways to hold or push its part are executed; what works is kept.

The derived strategies are tried first. Where they fail, candidates are drawn from the shape of the part alone, then
other places of the object and other openings at the start. Successive halving gives more trials to what succeeds.
Trials have a seed, placements and frictions of their own: the rates of a later run are measured on other episodes.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import yaml

from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.derived_task import derive_layout
from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.annotation import PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectSource
from unlatch.robots.hand_shape import HandShape, hand_shapes
from unlatch.simcore.cache import cache_root, json_hash, read_kept, write_kept
from unlatch.simcore.errors import ConfigError, UnlatchError, count_noun
from unlatch.simcore.files import read_text, user_path
from unlatch.simcore.randomization.config import RandomizationCfg, RuleCfg
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.json_values import plain
from unlatch.simcore.recording.success_rules import MAX_SETTLE_CHANGE_M, MAX_SETTLE_CHANGE_RAD
from unlatch.skills.catalog import derivable_skill
from unlatch.skills.config import SkillCfg, StrategyCfg, part_acted_on
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.skills.mechanism_steps import is_held_closed
from unlatch.skills.strategies.candidates import draw_candidates
from unlatch.skills.strategies.ranking import derive_strategies
from unlatch.solver.setting import FollowJointCfg, PlannerSettingCfg
from unlatch.tasks.task import TaskCfg
from unlatch.workflows.episode.assets import load_assets
from unlatch.workflows.episode.layout_search import LAYOUT
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.statistics import wilson_interval

FILE = "rehearsed.yaml"
"""Name of the file beside an object with what was proven for it, for people to read and edit."""
VERSION = 7
"""Raised where a rehearsal finds something else than before: older results in the cache are then made again."""
SEED = 7_310_417
"""Seed of all trials; a run that draws the same number draws other episodes, for its configuration differs."""
PLAIN_TRIALS, _PLAIN_FAILURES = 5, 2
"""The derived strategies are taken as they are if this number of trials all succeed; after so many failures, others
are tried. One failure may be bad luck."""
CANDIDATES = 36
"""Largest number of drawn candidates of one start."""
_WORK = 5000
"""Work of planning each hold of a candidate in a trial, see `planner.work`: many have no plan, and another takes their
place. The derived strategies are planned as in an episode."""
_LAYOUTS = 4
"""Layouts in which a trial of a candidate is planned."""
_ENOUGH = 4
"""No further candidate is tried once this number has succeeded in its first trial."""
_ROUNDS = ((3, 4), (8, 2))
"""Trials of a candidate in all, and how many candidates get them."""
MOST_TRIALS = 90
"""No further candidate is tried after so many trials of one hold: they take a minute or two of CPU time."""
_PROVEN = 0.4
"""Least lower confidence bound of a strategy that is kept: 3 of 3, 5 of 6, or 6 of 8."""
_GOOD = 0.5
"""Lower confidence bound from which nothing else is tried: 5 of 5, or 7 of 8."""
_MOST_KEPT = 4
_TWO_HOLDS = 8
"""Number of drawn candidates that are tried for the first of two holds."""
_FIRST_HOLDS = ((0.6, 0.5), (0.4, 0.33))
"""Shares of the way on which the first of two holds leads the part, and shares that it must reach."""
_ERRORS_FIRST = 3
"""A rehearsal whose first trials all end with an error of the program stops there."""
_MOVES = {
    "lower": (0.0, -0.15),
    "higher": (0.0, 0.15),
    "nearer": (-0.08, 0.0),
    "farther": (0.08, 0.0),
}
"""Other places of the object: shifts of its region away from the robot and up [m]."""
_STARTS = {"close": ((0.2, 0.3), (0.75, 0.9)), "open": ((0.2, 0.3), (0.35, 0.5))}
"""Other openings at the start, as shares of the range."""
_KEPT_FILES = 1000

CfgT = TypeVar("CfgT", bound=EpisodeCfg)
OnTrial = Callable[[str], None]
"""Called after each trial with one line on it."""


@dataclass(eq=False)
class Option:
    """Strategies that are tried together, in one place and with one start, and what came of it."""

    name: str
    """Name of the strategy, or `derived` for all derived ones."""
    strategies: list[tuple[str, PlannerSettingCfg]]
    """Names and planner settings, in the order in which they are tried."""
    task: TaskCfg
    """Region, opening at the start and goal."""
    where: str = ""
    """How the task differs from the derived one, such as `lower`; empty: it does not."""
    more_holds: int = 0
    """How often the skill acts on the part again, with another grasp, beyond what the task has."""
    trials: int = 0
    successes: int = 0
    causes: Counter[str] = field(default_factory=Counter)
    """Failure codes."""
    unplaced: bool = False
    """Whether all layouts of a trial were refused before anything was planned: no other strategy helps there."""

    @property
    def is_derived(self) -> bool:
        """Whether it is what an episode without a rehearsal does."""
        return self.name == "derived" and not self.where and not self.more_holds

    @property
    def lower_bound(self) -> float:
        """Lower end of the 95 % interval of the rate of success."""
        return wilson_interval(self.successes, self.trials)[0] if self.trials else 0.0

    @property
    def counts(self) -> str:
        """Successes of trials, and why the others failed."""
        causes = ", ".join(f"{code} {count}" for code, count in self.causes.most_common())
        return f"{self.successes} of {self.trials}" + (f" ({causes})" if causes else "")


@dataclass(frozen=True)
class Rehearsal:
    """What a rehearsal found for one skill on one part with one robot."""

    key: str
    """Hash of what it depends on: the object, the task, the robot and the planner."""
    skill: str
    part: str
    robot: str
    where: str
    """How the task differs from the derived one; empty: it does not."""
    task: dict[str, Any]
    """Regions, openings, goal of the task; empty: the derived ones."""
    proven: list[dict[str, Any]]
    """Name, planner setting, trials and successes of each proven strategy, the best first; empty: none works."""
    failed: list[dict[str, Any]]
    """Name, trials and causes of what did not work."""
    tried: int
    """Number of candidates that were tried."""
    trials: int
    """Number of episodes."""
    cpu_s: float
    """CPU time of the rehearsal [s]."""
    more_holds: int = 0
    """How often the skill acts on the part again, with another grasp."""

    @property
    def line(self) -> str:
        """One line on what was found."""
        tried = f"{count_noun(self.tried, 'candidate')} in {count_noun(self.trials, 'trial')}, {self.cpu_s:.0f} s"
        if not self.proven:
            causes = Counter(code for item in self.failed for code in item["causes"])
            return f"rehearsal: {self.skill} '{self.part}' never succeeded ({tried}): {_join(causes.most_common(3))}"
        best = ", ".join(f"{item['name']} {item['successes']} of {item['trials']}" for item in self.proven)
        return f"rehearsal: {self.skill} '{self.part}' by {best}{f', {self.where}' if self.where else ''} ({tried})"

    def apply(self, cfg: CfgT) -> CfgT:
        """Returns a configuration that plans with the proven strategies only, in their order."""
        index = acting_entry(cfg)
        if index is None or not self.proven:
            return cfg
        (first, *others), skills = self.proven, list(cfg.skills)
        settings = {item["name"]: read_setting(item["planner_setting"]) for item in self.proven}
        strategies = [(item["name"], settings[item["name"]]) for item in (first, *others)]
        skills[index : index + 1] = with_strategies(skills[index], strategies, more_holds=self.more_holds)
        task = cfg.task if not self.task else read_dataclass(TaskCfg, {**plain(cfg.task), **self.task}, where="task")
        return replace(cfg, skills=skills, task=task)

    @classmethod
    def from_dict(cls, values: Any, where: str) -> Rehearsal:
        """Reads the fields of a rehearsal.

        Raises:
            ConfigError: They are others.
        """
        try:
            return cls(**values)
        except TypeError as exc:
            raise ConfigError(f"{where} is not a rehearsal: {exc}. Remove it, and rehearse the object again.") from exc


def read_setting(values: dict[str, Any]) -> PlannerSettingCfg:
    """Reads a planner setting of a rehearsal."""
    return PlannerSettingCfg(**values)


def acting_entry(cfg: EpisodeCfg) -> int | None:
    """Returns the place in the chain of the skill that a rehearsal of a configuration varies; None: there is none.

    The task is derived from one object, which is a file, and has one skill, which states its strategies. The same skill
    may follow on the same part, where one hold does not lead it far enough.
    """
    acting = [index for index, entry in enumerate(cfg.skills) if not isinstance(entry, LayoutSearchCfg)]
    if cfg.object.source is not ObjectSource.urdf or len(cfg.robot.arms) != 1 or not acting:
        return None
    entry = cfg.skills[acting[0]]
    if any((cfg.skills[i].name, cfg.skills[i].part) != (entry.name, entry.part) for i in acting):
        return None
    try:
        derivable_skill(entry.name)
    except ConfigError:
        return None
    return None if entry.planner_setting.derived or entry.strategy == "given" else acting[0]


def with_strategies(
    entry: SkillCfg, strategies: Sequence[tuple[str, PlannerSettingCfg]], *, more_holds: int
) -> list[SkillCfg]:
    """Returns an entry with other strategies, and then entries that lead the part on with grasps derived on the way."""
    (first, setting), *others = strategies
    stated = [StrategyCfg(name=name, planner_setting=other) for name, other in others]
    again = replace(entry, strategy="given", planner_setting=PlannerSettingCfg(derived=True), strategies=[], order=[])
    return [
        replace(entry, strategy=first, planner_setting=setting, strategies=stated, order=[]),
        *[again] * more_holds,
    ]


class BestTry(NamedTuple):
    """The trial that came furthest."""

    share: float
    """Displacement of the part, as a share of what was wanted."""
    cfg: EpisodeCfg
    record: EpisodeRecord


def rehearse(
    cfg: EpisodeCfg, *, on_trial: OnTrial = lambda _: None, fresh: bool = False
) -> tuple[Rehearsal, BestTry | None]:
    """Returns the rehearsal of a configuration, from the cache if there is one, and the best try if it was just made.

    One in which nothing is proven is not kept.

    Args:
        cfg: A configuration for which `acting_entry` is not None.
        on_trial: Called after each trial.
        fresh: Whether it is made even if it is in the cache.
    """
    key = rehearsal_key(cfg)
    file = cache_root(cfg.object.cache_dir) / "rehearsed" / f"{key}.yaml"
    kept = None if fresh else read_kept(file)
    if kept is not None:
        return Rehearsal.from_dict(yaml.safe_load(kept), str(file)), None
    making = _Rehearsing(cfg, on_trial, key)
    made = making.run()
    if made.proven:
        write_kept(file, yaml.safe_dump(vars(made), sort_keys=False).encode(), most=_KEPT_FILES)
    return made, making.best_try


def read_beside(cfg: EpisodeCfg) -> Rehearsal | None:
    """Returns the rehearsal of a configuration that stands beside its object; None: there is none.

    Raises:
        ConfigError: The file is damaged.
    """
    path = file_beside(user_path(str(cfg.object.root)))
    if not path.is_file():
        return None
    entries = [Rehearsal.from_dict(item, str(path)) for item in _read_entries(path)]
    key = rehearsal_key(cfg)
    return next((item for item in entries if item.key == key), None)


def write_beside(found: Sequence[Rehearsal], source: Path) -> Path:
    """Writes rehearsals beside an object, in place of older ones with the same keys; returns the file."""
    path = file_beside(source)
    keys = {item.key for item in found}
    others = [item for item in (_read_entries(path) if path.is_file() else []) if item.get("key") not in keys]
    entries = {"rehearsed": [*others, *(dict(vars(item)) for item in found)]}
    path.write_text(yaml.safe_dump(entries, sort_keys=False, width=120), encoding="utf-8")
    return path


def file_beside(source: Path) -> Path:
    """Returns the file with the rehearsals of an object that is a file or a folder."""
    return (source if source.is_dir() else source.parent) / FILE


def _read_entries(path: Path) -> list[dict[str, Any]]:
    try:
        content = yaml.safe_load(read_text(path))
    except yaml.YAMLError as exc:
        raise ConfigError(f"{path} is no YAML: {exc}. Repair or remove it.") from exc
    entries = content.get("rehearsed") if isinstance(content, dict) else None
    if not isinstance(entries, list):
        raise ConfigError(f"{path} has no list `rehearsed`, as `unlatch rehearse` writes it. Repair or remove it.")
    return entries


def rehearsal_key(cfg: EpisodeCfg) -> str:
    """Returns the hash of everything that a rehearsal depends on."""
    assets = load_assets(cfg, 0, None, np.random.default_rng(0))
    values = {item.name: plain(getattr(cfg, item.name)) for item in fields(EpisodeCfg) if item.name in _KEYS}
    return json_hash([VERSION, values, {name: asset.content_hash for name, asset in assets.items()}])[:32]


_KEYS = ("task", "skills", "robot", "world", "planner")


class _Rehearsing:
    """One rehearsal while it is made."""

    def __init__(self, cfg: EpisodeCfg, on_trial: OnTrial, key: str) -> None:
        index = acting_entry(cfg)
        if index is None:
            raise UnlatchError("Only a task of one skill that is derived from one object is rehearsed.")
        self._cfg, self._index, self._on_trial, self._key = cfg, index, on_trial, key
        self._entry = cfg.skills[index]
        self._holds = sum(not isinstance(entry, LayoutSearchCfg) for entry in cfg.skills)
        """How often the skill acts on the part."""
        asset = load_assets(cfg, 0, None, np.random.default_rng(0))[self._entry.objects[0]]
        self._asset: ObjectAsset = asset
        self._part = part_acted_on(self._entry.name, self._entry.part, asset.articulation)
        self._hand: HandShape = hand_shapes(cfg.robot)[0]
        self._options: list[Option] = []
        self._trials = 0
        self._spent = 0
        """Number of trials, each counted once for every hold: it takes as many times as long."""
        self.best_try: BestTry | None = None

    def run(self) -> Rehearsal:
        """Tries the derived strategies, then candidates, then other places and starts, until something is proven."""
        began = time.process_time()
        with EpisodeRunner(self._cfg) as runner:
            for found in self._stages(runner):
                if found or self._spent >= MOST_TRIALS:
                    break
        proven = self._choose()
        others = [option for option in self._options if option not in proven]
        task = proven[0].task if proven else self._cfg.task
        return Rehearsal(
            key=self._key,
            skill=self._entry.name,
            part=self._part.name,
            robot=self._cfg.robot.name,
            where=proven[0].where if proven else "",
            more_holds=proven[0].more_holds if proven else 0,
            task={} if task is self._cfg.task else {key: plain(getattr(task, key)) for key in _VARIED},
            proven=_describe_proven(proven),
            failed=[
                {"name": option.name, "where": option.where, "trials": option.trials, "causes": dict(option.causes)}
                for option in others
            ],
            tried=len(self._options),
            trials=self._trials,
            cpu_s=round(time.process_time() - began, 1),
        )

    def _stages(self, runner: EpisodeRunner) -> Iterator[bool]:
        """Yields after each stage whether something is proven."""
        strategies = [(each.strategy, each.planner_setting) for each in self._entry.entries_by_strategy()]
        plain_option = Option("derived", strategies, self._cfg.task)
        yield self._prove(runner, plain_option)
        singles = [Option(name, [(name, setting)], self._cfg.task) for name, setting in strategies]
        drawn = self._draw(self._cfg.task, strategies)
        whole = [plain_option, *(singles if len(singles) > 1 else []), *drawn]
        opens = derivable_skill(self._entry.name) == "open"
        shorter = list(self._with_shorter_first_hold(plain_option, drawn)) if opens else []
        # where several holds follow each other anyway, the first one need not lead the part far
        for options in (shorter, whole) if self._holds > 1 else (whole, shorter):
            yield self._halve(runner, options)
        for where, task in self._other_places():
            best = self._most_promising(3)
            options = [Option(each.name, each.strategies, task, where) for each in (plain_option, *best)]
            yield self._halve(runner, options)
        for where, task, derived in self._other_starts():
            options = [Option("derived", derived, task, where), *self._draw(task, derived, where=where)]
            yield self._halve(runner, options)

    def _prove(self, runner: EpisodeRunner, option: Option) -> bool:
        """Tries an option until two trials fail or all succeed; returns whether all did."""
        self._options.append(option)
        while option.trials < PLAIN_TRIALS and option.trials - option.successes < _PLAIN_FAILURES:
            self._try(runner, option)
        return option.successes == PLAIN_TRIALS

    def _halve(self, runner: EpisodeRunner, options: Sequence[Option]) -> bool:
        """Gives each option a trial, and those that succeed more of them; returns whether one is proven."""
        good: list[Option] = []
        for option in options:
            if len(good) >= _ENOUGH or self._spent >= MOST_TRIALS:
                break
            if option not in self._options:
                self._options.append(option)
                self._try(runner, option)
            if option.unplaced:
                break
            good += [option] if option.successes else []
        for trials, count in _ROUNDS:
            good = sorted(good, key=lambda option: -option.lower_bound)[:count]
            for option in good:
                while option.trials < trials and option.trials - option.successes <= trials // 3:
                    self._try(runner, option)
        return any(option.lower_bound >= _GOOD for option in good)

    def _try(self, runner: EpisodeRunner, option: Option) -> None:
        """Executes an option once, with another layout and another friction in each trial."""
        runner.cfg = self._trial_config(option)
        record = runner.run(option.trials)
        self._trials += 1
        self._spent += self._holds + option.more_holds
        option.trials += 1
        fell = record.success and self._falls(record)
        option.successes += record.success and not fell
        refused = record.layout.get("preplan", {}).get("failures", ())
        option.unplaced = not record.success and bool(refused) and all(item["skill"] == LAYOUT for item in refused)
        if not record.success or fell:
            option.causes[str(record.code or "not_reached")] += 1
        if self._trials == _ERRORS_FIRST == sum(each.causes["error"] for each in self._options):
            raise UnlatchError(
                f"The first {_ERRORS_FIRST} trials of the rehearsal ended with an error of the program: "
                f"{record.evidence.get('message', 'no message')}. With rehearse=false, the error stands whole in the "
                "records."
            )
        self._keep_best(runner.cfg, record)
        outcome = "succeeded" if record.success else f"{record.code}: {record.evidence.get('message', '')}"
        outcome = (
            f"'{self._part.name}' moved before the hand was there; its joint needs more friction" if fell else outcome
        )
        way = "derived strategies" if option.name == "derived" else option.name
        self._on_trial(f"unlatch: trial {self._trials}, {way}{f' {option.where}' if option.where else ''}: {outcome}")

    def _falls(self, record: EpisodeRecord) -> bool:
        """Returns whether the part moved by itself before anything of the robot touched its object."""
        item = next((each for each in record.skills if each["joint"] is not None), None)
        if item is None:
            return False
        q = record.arrays[f"objects.{item['object']}.joint_positions"][:, item["joint_index"]]
        forces = [
            values
            for key, values in record.arrays.items()
            if key.startswith(f"contacts.{self._cfg.robot.name}.")
            and key.endswith(".force_max_n")
            and f".{item['object']}." in key
        ]
        touched = np.flatnonzero(np.max(forces, axis=0) > 0.0)
        first = int(touched[0]) if len(touched) else len(q) - 1
        is_slider = self._part.kind is PartKind.slider
        return bool(abs(q[first] - q[0]) > (MAX_SETTLE_CHANGE_M if is_slider else MAX_SETTLE_CHANGE_RAD))

    def _keep_best(self, cfg: EpisodeCfg, record: EpisodeRecord) -> None:
        moved = [item for item in record.skills if item["joint"] is not None and item["success_threshold"]]
        share = max((abs(item["s_end"] - item["s0"]) / item["success_threshold"] for item in moved), default=0.0)
        if record.arrays and (self.best_try is None or share > self.best_try.share):
            self.best_try = BestTry(share, cfg, record)

    def _trial_config(self, option: Option) -> EpisodeCfg:
        skills = list(self._cfg.skills)
        planner = self._cfg.planner
        if not option.is_derived:
            planner = replace(planner, work=min(planner.work, _WORK * (self._holds + option.more_holds)))
            skills = [replace(s, candidates=_LAYOUTS) if isinstance(s, LayoutSearchCfg) else s for s in skills]
        acting = with_strategies(self._entry, option.strategies, more_holds=option.more_holds)
        skills[self._index : self._index + 1] = acting
        friction = {"type": "uniform", "lower": 0.8, "upper": 1.25}
        names = (self._cfg.object.name,)
        rules = [RuleCfg(name, "joint_friction", friction, "scaling") for name in names]
        randomization = self._cfg.randomization if self._cfg.randomization.active else RandomizationCfg(rules=rules)
        return replace(
            self._cfg,
            skills=skills,
            task=option.task,
            planner=planner,
            seed=SEED,
            replan=0,
            randomization=randomization,
        )

    def _draw(
        self, task: TaskCfg, strategies: Sequence[tuple[str, PlannerSettingCfg]], *, where: str = ""
    ) -> list[Option]:
        """Returns options for drawn candidates."""
        (low, high), skill = self._start_of(task), derivable_skill(self._entry.name)
        rng = np.random.default_rng(SEED)
        base = strategies[0][1]
        drawn = draw_candidates(
            skill, self._asset, self._part, self._hand, (low, high), base, count=CANDIDATES, rng=rng
        )
        return [Option(name, [(name, setting)], task, where) for name, setting in drawn]

    def _start_of(self, task: TaskCfg) -> tuple[float, float]:
        ranges = [entry.range for entry in task.openness if entry.part == self._part.name]
        return (float(ranges[0][0]), float(ranges[0][1])) if ranges else (0.0, 0.0)

    def _other_places(self) -> Iterator[tuple[str, TaskCfg]]:
        """Yields names of other places of the object, and tasks with them."""
        for name, (away_m, up_m) in _MOVES.items():
            regions = [
                replace(
                    region,
                    center_m=[region.center_m[0] + away_m, region.center_m[1]],
                    height_m=[max(0.0, height + up_m) for height in region.height_m],
                )
                for region in self._cfg.task.regions
            ]
            if regions != list(self._cfg.task.regions):
                yield name, replace(self._cfg.task, regions=regions)

    def _other_starts(self) -> Iterator[tuple[str, TaskCfg, list[tuple[str, PlannerSettingCfg]]]]:
        """Yields names of other openings at the start, tasks with them, and derived strategies for them.

        There are none for a part that moves little, and none for one to be opened that a mechanism holds while it is
        closed: it starts there, and the robot frees it.
        """
        skill = derivable_skill(self._entry.name)
        asked = any(goal.kind.value == "open_fraction" for goal in self._cfg.task.goal)
        if self._part.moves_little or (skill == "open" and is_held_closed(self._asset, self._part)):
            return
        for low, high in _STARTS.get(skill, ()):
            start = (round(low * self._part.openness.span, 4), round(high * self._part.openness.span, 4))
            try:
                made, _ = derive_layout(skill, self._asset, self._part, self._hand, start=start)
                derived = derive_strategies(skill, self._asset, self._part, self._hand, start)
            except UnlatchError:
                continue
            goal = {"goal": plain(self._cfg.task.goal)} if asked else {}
            task = read_dataclass(TaskCfg, {**plain(self._cfg.task), **made, **goal}, where="task")
            yield f"from {100 * low:.0f} to {100 * high:.0f} % open", task, derived

    def _with_shorter_first_hold(self, plain_option: Option, drawn: Sequence[Option]) -> Iterator[Option]:
        """Yields options whose first grasp leads the part less far, and that have a second one if there was none."""
        where, more_holds = ("in two holds", 1) if self._holds == 1 else ("with a shorter first hold", 0)
        openness, (low, _) = self._part.openness, self._start_of(self._cfg.task)
        start = openness.position(low)
        for option, (led, wanted) in product((plain_option, *drawn[:_TWO_HOLDS]), _FIRST_HOLDS):
            halved = []
            for name, setting in option.strategies:
                follow = setting.follow_joint
                end = None if follow is None else follow.target(s_closed=openness.closed, s_open=openness.open)
                if end is not None:
                    to = float(start + led * (end - start))
                    threshold = wanted * setting.success_threshold
                    motion = FollowJointCfg(to=to)
                    halved.append((name, replace(setting, success_threshold=threshold, post_actuation_motions=motion)))
            if halved:
                yield Option(option.name, halved, option.task, where, more_holds=more_holds)

    def _most_promising(self, count: int) -> list[Option]:
        """Returns drawn candidates that had a plan, those that succeeded most first."""
        had_plan = [
            option for option in self._options if len(option.strategies) == 1 and "invalid_layout" not in option.causes
        ]
        return sorted(had_plan, key=lambda option: -option.successes)[:count]

    def _choose(self) -> list[Option]:
        """Returns the proven options of the task with the best one, the best first."""
        good = sorted((o for o in self._options if o.successes), key=lambda option: -option.lower_bound)
        good = [option for option in good if option.lower_bound >= min(_PROVEN, good[0].lower_bound)]
        first = good[0] if good else None
        return [o for o in good if first and (o.task is first.task and o.more_holds == first.more_holds)][:_MOST_KEPT]


_VARIED = ("regions", "openness", "goal")
"""Fields of a task that a rehearsal varies."""


def _describe_proven(options: Sequence[Option]) -> list[dict[str, Any]]:
    """Returns name, setting and counts of each strategy once; one may be proven by itself and among all derived."""
    found: dict[str, dict[str, Any]] = {}
    for option in options:
        counts = {"trials": option.trials, "successes": option.successes}
        for name, setting in option.strategies:
            found.setdefault(name, {"name": name, "planner_setting": setting.to_yaml(), **counts})
    return list(found.values())


def _join(counts: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{code} {count}" for code, count in counts)
