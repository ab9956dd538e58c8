"""The arms and ways in which a skill may be carried out, and which of them can be planned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skills.artpreplan_cfg import ArtPreplanCfg
from skills.skill import Skill
from solver.planning.plan import PlanBudget

if TYPE_CHECKING:
    from workflows.episode import Episode


def arms_for(episode: Episode, index: int) -> list[str]:
    """Names of the arms that may carry out a skill, in the order in which they are tried.

    The one that its entry names; else that whose base is nearest to the part, by the middle of its keypoints, and after
    a search for a layout the others too.

    Args:
        episode: The episode, as it is now.
        index: Which entry of its chain.
    """
    entry, arms = episode.cfg.skills[index], episode.scene.robot.arms
    if entry.arm is not None:
        return [episode.scene.robot.arm(entry.arm).name]
    points = episode.scene.objects[entry.objects[0]].keypoints_world(episode.part_of(index))
    middle = np.mean(list(points.values()), axis=0)
    nearest = sorted(arms, key=lambda name: float(np.linalg.norm(arms[name].T_world_base.p - middle)))
    return nearest if isinstance(episode.cfg.skills[0], ArtPreplanCfg) else nearest[:1]


def first_planned(
    episode: Episode,
    index: int,
    rng: np.random.Generator,
    *,
    budget: PlanBudget | None = None,
    made: Skill | None = None,
) -> tuple[Skill, list[dict[str, Any]]]:
    """The skill at an index of an episode's chain, planned in the first of its ways that can be planned.

    Args:
        episode: The episode, as it is now.
        index: Which entry of the chain.
        rng: The planner stream.
        budget: How much each way's planner tries; None = as much as it should.
        made: A skill made for the first of the ways; None = it is made here.

    Returns:
        The skill with its plan or, where no way plans, that of the first way with its failure; and of each way that was
        refused its name, code and message.
    """
    refused: list[dict[str, Any]] = []
    tried: list[Skill] = []
    for entry in episode.ways(index):
        skill = made if made is not None and not tried else episode.make_skill(entry, budget=budget)
        if skill.plan(rng):
            return skill, refused
        failure = skill.failure
        refused.append(
            {
                "strategy": entry.strategy,
                **({"arm": entry.arm} if len(episode.cfg.robot.arms) > 1 else {}),
                "code": "plan_infeasible" if failure is None else failure.code,
                "message": "" if failure is None else failure.message,
            }
        )
        tried.append(skill)
    return tried[0], refused
