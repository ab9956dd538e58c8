"""The contract of a task."""

from __future__ import annotations

from collections.abc import Sequence

from unlatch.workflows.episode.asset_checks import check_assets
from unlatch.workflows.episode.goal import goal_failure
from unlatch.workflows.runs.loading import load_config
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg, PlanCfg, PreviewCfg
from unlatch.workflows.testing.contract_checks import begin_valid_episode, require, require_success

_LEAST_PHRASINGS = 3


def check_task(
    name: str, *, layouts: int = 2, episodes: int = 0, overrides: Sequence[str] = (), config_dirs: Sequence[str] = ()
) -> None:
    """Checks the contract of a task from a YAML file or a function.

    The task composes for every command, has the name by which it is chosen, a summary and at least three phrasings; its
    objects have the parts that it names; its layouts are valid; the goal does not hold at the start. If `episodes` is
    given, at least one episode succeeds.

    Args:
        name: Name of the task.
        layouts: How many are drawn.
        episodes: How many are made.
        overrides: Further values, as on the command line: `robot=xarm6`.
        config_dirs: Folders of further YAML files.

    Raises:
        AssertionError: A condition is broken; the message names it.
        ConfigError: There is no such task, or its configuration is wrong.
    """
    line = [f"task={name}", *overrides]
    load_config("plan", PlanCfg, line, config_dirs=config_dirs)
    load_config("preview", PreviewCfg, line, config_dirs=config_dirs)
    cfg = load_config("collect", CollectCfg, line, config_dirs=config_dirs).cfg
    require(cfg.task.name == name, f"Task '{name}' has task.name='{cfg.task.name}'. Expected '{name}'.")
    require(bool(cfg.task.summary), f"Task '{name}' has no task.summary, which `unlatch list tasks` shows.")
    n_phrasings = len(set(cfg.task.language))
    require(
        n_phrasings >= _LEAST_PHRASINGS,
        f"Task '{name}' has {n_phrasings} phrasings in task.language. Expected at least {_LEAST_PHRASINGS}.",
    )
    check_assets(cfg, number=0)
    with EpisodeRunner(cfg) as runner:
        for number in range(layouts):
            _check_layout(runner, name, number)
        records = [runner.run(number) for number in range(episodes)]
    if records:
        require_success(records, name)


def _check_layout(runner: EpisodeRunner, name: str, number: int) -> None:
    episode = begin_valid_episode(runner, number)
    goal = episode.judge.goal
    missing = goal_failure("not_reached", goal.conditions, goal.positions, goal.positions, 0.0)
    require(
        missing is not None, f"The goal of '{name}' holds at the start of episode {number}, before anything is done."
    )
