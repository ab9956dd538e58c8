"""The arms and ways in which a skill may be carried out, and which of them can be planned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from unlatch.configs.derivation.entry import with_setting
from unlatch.objects.annotation import Part
from unlatch.simcore.rng import stream
from unlatch.skills.artpreplan_cfg import ArtPreplanCfg
from unlatch.skills.contract.config import SkillCfg
from unlatch.skills.contract.failure import Failure
from unlatch.skills.contract.skill import Skill
from unlatch.solver.planning.plan import PlanBudget
from unlatch.tasks.task import GoalKind

if TYPE_CHECKING:
    from unlatch.workflows.episode.episode import Episode


MOST_FIRST_WAYS = 3
"""So many ways of an arm are planned for which the arms after it find no room: where they cannot act at all, or only
where this arm must, no further one helps, and each costs all their ways."""


class Planned(NamedTuple):
    """A skill, planned in one of its ways or in none."""

    skill: Skill
    """With its plan or, where no way plans, that of the first way with its failure."""
    refused: list[dict[str, Any]]
    """Of each way that was refused its name, arm, code and message."""


class Ways:
    """The ways of the entries of an episode's chain, derived once for how things are."""

    def __init__(self, episode: Episode) -> None:
        """Takes the episode, whose scene is not built yet."""
        self._episode = episode
        self._derived: dict[tuple[int, str, float], list[SkillCfg]] = {}

    def of(self, index: int) -> list[SkillCfg]:
        """The entry at an index once for each way to do it, settings derived from how things are now.

        Arms follow one another as `arms_for` says; the way in which it planned in a search for a layout comes first.
        """
        episode = self._episode
        entry, preplan = episode.cfg.skills[index], episode.preplan
        if isinstance(entry, ArtPreplanCfg):
            return [replace(entry, arm=entry.arm or episode.cfg.robot.arms[0].name)]
        ways = [way for name in arms_for(episode, index) for way in self._with(name, index)]
        if preplan is None or index not in preplan.strategies:
            return ways
        arm, strategy = preplan.arms.get(index, ways[0].arm), preplan.strategies[index]
        return sorted(ways, key=lambda way: (way.arm != arm, way.strategy != strategy))

    def _with(self, arm_name: str, index: int) -> list[SkillCfg]:
        """The ways of one arm."""
        episode = self._episode
        entry = replace(episode.cfg.skills[index], arm=arm_name)
        item, arm = episode.scene.objects[entry.objects[0]], episode.scene.robot.arm(arm_name)
        part = item.asset.articulation.part(episode.part_of(index))
        s = item.joint_position(part.joint)
        if (index, arm_name, s) not in self._derived:
            wanted = _moved_by_goal(episode, index, part)
            derived = with_setting(entry, item.asset, part, robot=episode.cfg.robot, arm=arm.cfg, s=s, wanted=wanted)
            self._derived[index, arm_name, s] = derived.ways()
        return self._derived[index, arm_name, s]


def _moved_by_goal(episode: Episode, index: int, part: Part) -> float:
    """How far the goal wants a part moved in all, where the skill is the last one that acts on it [rad or m]."""
    cfg = episode.cfg
    name = cfg.skills[index].objects[0]
    later = range(index + 1, len(cfg.skills))
    if any(cfg.skills[i].objects[0] == name and episode.part_of(i) == part.name for i in later):
        return 0.0
    span = abs(part.openness.open - part.openness.closed)
    units = {GoalKind.moved: 1.0, GoalKind.moved_fraction: span}
    goals = [goal for goal in cfg.task.goal if (goal.object, goal.part) == (name, part.name) and goal.kind in units]
    return max((goal.value * units[goal.kind] for goal in goals), default=0.0)


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
    *,
    budget: PlanBudget | None = None,
    made: Skill | None = None,
    beside: Sequence[Skill] = (),
) -> Planned:
    """The skill at an index of an episode's chain, planned in the first of its ways that can be planned.

    Args:
        episode: The episode, as it is now.
        index: Which entry of the chain.
        budget: How much each way is tried; None = the full budget of the configuration.
        made: A skill made for the first of the ways; None = it is made here.
        beside: Skills that other arms carry out at the same time.
    """
    refused: list[dict[str, Any]] = []
    first: Skill | None = None
    for skill in _tried(episode, index, budget=budget, made=made, beside=beside):
        first = first or skill
        if skill.plan(_stream(episode, index, skill)):
            return Planned(skill, refused)
        refused.append(_refusal(episode, skill, skill.failure))
    return Planned(first if first is not None else episode.make_skill(episode.ways(index)[0]), refused)


def planned_together(
    episode: Episode,
    indices: Sequence[int],
    *,
    budget: PlanBudget | None = None,
    made: Skill | None = None,
    beside: Sequence[Skill] = (),
) -> list[Planned]:
    """Skills of several arms that begin at the same time: each is planned against all that those before it will do.

    Where one finds no plan, those before it are tried in their next ways, up to `MOST_FIRST_WAYS`.

    Args:
        episode: The episode, as it is now.
        indices: Which entries of the chain, one an arm.
        budget: How much each way is tried; None = the full budget of the configuration.
        made: A skill made for the first way of the first of them; None = it is made here.
        beside: Skills that further arms carry out at the same time.

    Returns:
        One for each index; where one does not plan, the list ends with it.
    """
    index, *others = indices
    if not others:
        return [first_planned(episode, index, budget=budget, made=made, beside=beside)]
    refused: list[dict[str, Any]] = []
    stuck: list[Planned] = []
    planned = 0
    first: Skill | None = None
    for skill in _tried(episode, index, budget=budget, made=made, beside=beside):
        first = first or skill
        if not skill.plan(_stream(episode, index, skill)):
            refused.append(_refusal(episode, skill, skill.failure))
            continue
        rest = planned_together(episode, others, budget=budget, beside=[*beside, skill])
        found = [Planned(skill, list(refused)), *rest]
        if rest[-1].skill.commands:
            return found
        stuck = stuck or found
        refused.append(_refusal(episode, skill, rest[-1].skill.failure))
        planned += 1
        if planned == MOST_FIRST_WAYS:
            break
    if stuck or first is None:
        return stuck
    return [Planned(first, refused)]


def _tried(
    episode: Episode, index: int, *, budget: PlanBudget | None, made: Skill | None, beside: Sequence[Skill]
) -> Iterator[Skill]:
    """A skill for each way of an entry; `made` is that of the first."""
    for number, entry in enumerate(episode.ways(index)):
        if number == 0 and made is not None:
            yield made
        else:
            yield episode.make_skill(entry, budget=budget, beside=beside)


def _stream(episode: Episode, index: int, skill: Skill) -> np.random.Generator:
    """The planner stream of one way of one entry.

    It does not depend on what was tried before: a way that planned in the search for a layout, where others were tried
    before it, plans the same way when its turn comes.
    """
    return stream(episode.seed, f"planner.{index}.{skill.context.arm.name}.{skill.cfg.strategy}")


def _refusal(episode: Episode, skill: Skill, failure: Failure | None) -> dict[str, Any]:
    return {
        "strategy": skill.cfg.strategy,
        **({"arm": skill.context.arm.name} if len(episode.cfg.robot.arms) > 1 else {}),
        "code": "plan_infeasible" if failure is None else failure.code,
        "message": "" if failure is None else failure.message,
    }
