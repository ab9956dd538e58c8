"""Checks a data set against its own configuration: derives what its records must state, never from a record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.library import choose_instance, load_instance
from unlatch.simcore.cache import LRUCache
from unlatch.simcore.errors import UnlatchError
from unlatch.simcore.recording.check import Problem, check_dataset, unexpected_arrays
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.episode_fields import APPLIED_FIELDS, TIMING_FIELDS
from unlatch.simcore.recording.verdict import ABSENT, POSSIBLE, RECORDED, TOLERANCE, Criteria, undetermined
from unlatch.simcore.rng import EpisodeStreams, episode_seed
from unlatch.tasks.language import phrasing_draws, task_language
from unlatch.workflows.checks.array_identities import frame_problems, identity_problems
from unlatch.workflows.checks.expected_statements import ExpectedGoal, ExpectedLayout, ExpectedSkills, array_names
from unlatch.workflows.episode.assets import describe_instances, language_steps, pin_side, with_derived_task
from unlatch.workflows.episode.criteria import PolicyRules, find_actor
from unlatch.workflows.runs.earlier_code import describe_machine
from unlatch.workflows.runs.recorded_config import config_of, format_ranges

_MOST_ARRAYS = 6
"""Most arrays of one record that are named where they do not fit the configuration."""
_MOST_ASSETS = 32
"""Objects that are kept: data sets use the same object in many episodes."""


UNDERIVED = "its criteria cannot be derived"
"""Beginning of the problem of an episode whose objects or skills are not what the configuration needs."""


class CriteriaSource:
    """Derives the criteria of the episodes of one configuration."""

    def __init__(self, cfg: EpisodeCfg, *, policy: PolicyRules | None = None, tolerance: float = 0.0) -> None:
        """Derives nothing yet.

        Args:
            cfg: The configuration of the episodes.
            policy: How a policy is judged; None: the episodes are demonstrations.
            tolerance: Largest difference of a derived float, absolute or relative.
        """
        self._cfg = cfg
        self._tolerance = tolerance
        self._policy = policy
        self._assets: LRUCache[ObjectAsset] = LRUCache(_MOST_ASSETS)

    @classmethod
    def of(cls, data_set: DataSet) -> CriteriaSource:
        """Reads the configuration of a data set.

        Raises:
            RecordingError: It has none, or one that this version cannot read, such as with a skill that is not
                installed.
        """
        evaluation = data_set.header.get("evaluate")
        return cls(
            config_of(data_set),
            policy=PolicyRules.of(evaluation) if isinstance(evaluation, Mapping) else None,
            tolerance=TOLERANCE if describe_machine(data_set) else 0.0,
        )

    def derive(self, record: EpisodeRecord) -> Criteria:
        """Returns what the record of an episode must state; what cannot be derived is one of its `problems`.

        Args:
            record: The record, whose arrays have the right shapes. Only its number decides about the episode; from the
                rest, what was executed is read: when each skill began, in which strategy, and the side on which an
                object lies if a search chose it.
        """
        seed = episode_seed(self._cfg.seed, record.number)
        statements: dict[str, Any] = {"seed": seed}
        if not record.arrays:
            statements |= _unbegun_statements(record)
        if not (record.assets or record.arrays):
            return Criteria(statements)  # the worker was lost, or the object could not be loaded
        rng = EpisodeStreams(seed)["layout"]
        try:
            assets = self._load_assets(record, rng)
            statements["assets"] = {name: asset.content_hash for name, asset in assets.items()}
            instances = describe_instances(self._cfg, assets)
            if record.arrays:
                return self._derive(with_derived_task(self._cfg, assets), assets, record, statements, instances, rng)
            # the task did not fit the object, or its scene could not be built
            statements["layout"] = {"instances": instances, "objects": POSSIBLE, "q_home": POSSIBLE}
            return Criteria(statements, tolerance=self._tolerance)
        except UnlatchError as exc:
            return Criteria(statements, problems=(f"{UNDERIVED}: {exc.message}",))

    def _load_assets(self, record: EpisodeRecord, rng: np.random.Generator) -> dict[str, ObjectAsset]:
        """Returns the objects by name. The side that a search for a layout chose is read from the record."""
        found, instances = {}, record.layout.get("instances")
        for item in (self._cfg.object, *self._cfg.objects):
            chosen = choose_instance(item, rng=rng, number=record.number)
            chosen = pin_side(chosen, instances if isinstance(instances, Mapping) else {})
            key = (item.name, chosen.instance, chosen.rests_on)
            found[item.name] = self._assets.get(key, partial(load_instance, chosen))
        return found

    def _derive(
        self,
        cfg: EpisodeCfg,
        assets: Mapping[str, ObjectAsset],
        record: EpisodeRecord,
        statements: dict[str, Any],
        instances: Mapping[str, Any],
        rng: np.random.Generator,
    ) -> Criteria:
        actor = find_actor(record, is_evaluation=self._policy is not None)
        arrays = list(unexpected_arrays(record, array_names(cfg, assets, record, actor)))
        if len(arrays) > _MOST_ARRAYS:  # those of another robot, or of another object
            arrays = [f"{arrays[0]} {len(arrays) - 1} more arrays do not fit the configuration either."]
        if arrays:
            return Criteria(statements, problems=tuple(arrays))
        layout = ExpectedLayout(cfg, assets, record, rng)
        skills = ExpectedSkills(cfg, assets, record, seed=statements["seed"], actor=actor)
        problems = [*layout.problems(), *skills.order_problems()]
        placed = layout.statement()
        statements["layout"] = {"instances": instances, **placed}
        (draw,) = phrasing_draws(statements["seed"], 1)
        statements["language"] = task_language(cfg.task.language, language_steps(cfg, assets), draw)
        statements["applied"] = _applied(cfg)
        of_search = {"preplan": RECORDED if "preplan" in placed else ABSENT}
        # a record that is checked before it is written has no time of writing
        statements["timings_ms"] = {**dict.fromkeys(TIMING_FIELDS, RECORDED), **of_search, "write": POSSIBLE}
        entries = [] if problems else skills.entries()
        goal = ExpectedGoal(cfg, assets, record, entries)
        rules = self._policy or PolicyRules(arms_may_move=False)
        statements |= {"skills": RECORDED if problems else entries}
        statements |= {"goal": goal.statement(goes_on=not rules.end_at_violation)}
        settle = goal.settle()
        if record.success:
            statements["settle"] = settle
        elif record.settle is not None:  # a scene that did not settle may have ended before the time was over
            statements["settle"] = {**settle, "frame_start": RECORDED}
        return Criteria(
            success_settle=settle,
            statements=statements,
            problems=(
                *problems,
                *skills.problems,
                *identity_problems(cfg, assets, placed, record, actor),
                *([] if problems else frame_problems(cfg, record, actor)),
            ),
            tolerance=self._tolerance,
            chain_length=len(cfg.skills),
            max_duration_s=cfg.task.max_duration_s,
            targets_rest=not rules.arms_may_move,
            own_conditions=tuple(skills.own_conditions()),
        )


def _unbegun_statements(record: EpisodeRecord) -> dict[str, Any]:
    """Returns what a record without arrays must state, also where its worker was lost before it had a layout."""
    has_layout = bool(record.layout)
    return {
        "assets": dict.fromkeys(record.assets, RECORDED) if has_layout else {},
        "layout": {"instances": {} if has_layout else ABSENT},
        "skills": [],
        "goal": {"conditions": [] if has_layout else ABSENT},
        "settle": None,
        "events": [],
        **({} if record.assets else {"language": [], "applied": {}}),
    }


def _applied(cfg: EpisodeCfg) -> dict[str, Any]:
    """Returns what `applied` must state; a simulation determines the rest."""
    if not cfg.randomization.active:
        return {}
    recorded = cfg.randomization.recorded
    source = recorded if isinstance(recorded, Mapping) else cfg.randomization.to_dict()
    return {**undetermined(APPLIED_FIELDS), "views": source.get("views", []), "rules": RECORDED, "firings": RECORDED}


def check_data_set(data_set: DataSet, *, on_episode: Callable[[int, int], None] | None = None) -> list[Problem]:
    """Returns all problems of a data set: those of `check_dataset`, judged by criteria of its configuration.

    If the configuration cannot be read, that is a problem, and the records are judged by what they state themselves.
    """
    try:
        derive = CriteriaSource.of(data_set).derive
    except UnlatchError as exc:
        text = f"dataset.json: the criteria of its episodes cannot be derived: {exc.message}"
        return [Problem(None, text), *check_dataset(data_set.path, on_episode=on_episode)]
    return list(_join_underived(check_dataset(data_set.path, derive=derive, on_episode=on_episode)))


def _join_underived(problems: Sequence[Problem]) -> Iterator[Problem]:
    """Yields the problems; one reason for which the criteria of several episodes cannot be derived is one problem."""
    numbers: dict[str, list[int]] = {}
    for problem in problems:
        if problem.number is not None and problem.message.startswith(UNDERIVED):
            numbers.setdefault(problem.message, []).append(problem.number)
    for problem in problems:
        same = numbers.get(problem.message, [])
        if len(same) < 2:
            yield problem
        elif problem.number == same[0]:
            yield Problem(None, f"{format_ranges(same).capitalize()}: {problem.message}")
