"""Planned skills in the scene of an episode."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from unlatch.skills.articulation import ArticulationSkill
from unlatch.workflows.episode.attempt import Attempt
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg

S = TypeVar("S", bound=ArticulationSkill)


@contextmanager
def planned_skill(cfg: CollectCfg) -> Iterator[ArticulationSkill]:
    """Yields the planned skill at the start of episode 0; its scene lives as long as the block."""
    with EpisodeRunner(cfg) as runner:
        episode = runner.episode(0)
        episode.begin()
        yield Attempt(episode).plan()


def again(skill: S, **setting: object) -> S:
    """Returns the same skill before it has planned, with other values in its planner setting."""
    cfg = skill.cfg
    if setting:
        cfg = replace(cfg, planner_setting=replace(cfg.planner_setting, **setting))
    return type(skill)(cfg, skill.context)
