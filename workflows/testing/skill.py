"""The contract of a skill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from unlatch.simcore.errors import SkillError
from unlatch.simcore.recording.check import check_record
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.skills.catalog import SKILLS
from unlatch.workflows.checks.criteria_source import CriteriaSource
from unlatch.workflows.episode.attempt import Attempt
from unlatch.workflows.runs.loading import load_config
from unlatch.workflows.runs.replay import ReplayMode, replay_deviation
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg
from unlatch.workflows.testing.contract_checks import begin_valid_episode, require, require_success


class SkillReport(NamedTuple):
    """The result of `check_skill`."""

    records: list[EpisodeRecord]
    """The episodes, in order."""

    @property
    def successes(self) -> int:
        """Number of episodes that succeeded."""
        return sum(record.success for record in self.records)


def check_skill(
    name: str, task: str, *, episodes: int = 2, overrides: Sequence[str] = (), config_dirs: Sequence[str] = ()
) -> SkillReport:
    """Makes episodes of a task and checks the contract of a skill.

    The skill is listed; it refuses to start without a plan; planning changes nothing in the scene; an episode that is
    made twice is the same; its record is complete and states what the configuration and the skill say, its verdict is
    recomputed, and a replay of its actions gives its states. At least one episode succeeds.

    Args:
        name: Name of the skill.
        task: Name of a task whose chain contains it.
        episodes: How many are made, from number 0.
        overrides: Further values, as on the command line: `robot=xarm6`.
        config_dirs: Folders of further YAML files.

    Raises:
        AssertionError: A condition is broken; the message names it.
        ConfigError: There is no such task, or its configuration is wrong.
    """
    cfg = load_config("collect", CollectCfg, [f"task={task}", *overrides], config_dirs=config_dirs).cfg
    require(name in SKILLS.names(), f"Skill '{name}' is not listed. Is its package installed?")
    entries = [entry for entry in cfg.skills if entry.name == name]
    require(bool(entries), f"Task '{task}' has no entry of skill '{name}'.")
    kind = SKILLS.load(name)
    require(type(entries[0]) is kind.cfg_type, f"An entry of '{name}' is read as {type(entries[0]).__name__}.")
    records = []
    with EpisodeRunner(cfg) as runner:
        if kind.executes:
            _check_plan(runner, name)
        for number in range(episodes):
            records.append(_make_checked_episode(runner, number, CriteriaSource(cfg)))
    require_success(records, task)
    return SkillReport(records)


def _check_plan(runner: EpisodeRunner, name: str) -> None:
    """Checks that a skill without a plan does not start, and that planning moves nothing."""
    episode = begin_valid_episode(runner, 0)
    index = next(i for i, entry in enumerate(episode.cfg.skills) if SKILLS.load(entry.name).executes)
    if episode.cfg.skills[index].name == name:
        skill = episode.planner.make_skill(episode.planner.strategies(index)[0])
        try:
            skill.start()
        except SkillError:
            pass
        else:
            raise AssertionError(f"Skill '{name}' starts without a plan.")
        before = episode.scene.world.signature()
        Attempt(episode).plan(index)
        require(episode.scene.world.signature() == before, f"Planning '{name}' moves something in the scene.")


def _make_checked_episode(runner: EpisodeRunner, number: int, source: CriteriaSource) -> EpisodeRecord:
    record, again = runner.run(number), runner.run(number)
    trace = record.evidence.get("traceback", "")
    require(record.code != "error", f"Episode {number} ended with an error: {record.evidence.get('message')}\n{trace}")
    for key, array in record.arrays.items():
        require(np.array_equal(array, again.arrays[key]), f"Episode {number} made twice differs in '{key}'.")
    problems = check_record(record, source.derive)
    require(not problems, f"The record of episode {number}: {'; '.join(problems)}")
    deviation = replay_deviation(runner, record, ReplayMode.action)
    require(deviation.value == 0.0, f"The actions of episode {number} do not reproduce its states: {deviation}")
    return record
