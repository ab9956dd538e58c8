"""Plans the skills of an episode's chain: with which arm and in which strategy each is carried out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.rng import stream
from unlatch.simcore.sim.collision import BulletCollisionChecker
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.catalog import SKILLS
from unlatch.skills.config import SkillCfg
from unlatch.skills.context import Failure, SkillContext
from unlatch.skills.layout_search import LayoutSearchCfg, layout_search_of
from unlatch.skills.skill import HoldingSkill, Skill, check_commands
from unlatch.solver.plan import PlanBudget
from unlatch.solver.setting import FollowJointCfg
from unlatch.tasks.layout import Layout
from unlatch.workflows.episode.assets import naming_drawn_object, part_acted_on_by
from unlatch.workflows.episode.scene import EpisodeScene, arm_model, robot_model

if TYPE_CHECKING:
    from unlatch.workflows.episode.layout_search_report import LayoutSearchReport

MAX_FIRST_STRATEGIES = 3
"""Largest number of the first arm's planned strategies with which the other arms are planned. Further strategies do not
help if the other arms cannot act at all, and for each of them all strategies of the other arms are planned."""


class PlannedSkill(NamedTuple):
    """A skill after its strategies were tried: with the first plan, or without one."""

    skill: Skill
    """With its plan; where no strategy plans, the skill of the first strategy with its failure."""
    refused: list[dict[str, Any]]
    """Name, arm, code and message of each refused strategy."""


class ChainPlanner:
    """Plans the skills of one episode in the scene as it is now; `scene` and `layout` are set by every build."""

    scene: EpisodeScene
    layout: Layout

    def __init__(
        self, cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset], checker: BulletCollisionChecker, *, seed: int
    ) -> None:
        """Makes a planner; it has no scene yet."""
        self.cfg = cfg
        self.layout_search: LayoutSearchReport | None = None
        """Result of the search for a layout, if the chain begins with one; its strategies are tried first."""
        self.assets = assets
        self._checker = checker
        self._seed = seed
        self._derived: dict[tuple[int, str, float], list[SkillCfg]] = {}

    @property
    def budget(self) -> PlanBudget:
        """The full budget of the configuration."""
        return PlanBudget.of(self.cfg.planner, variety=self.cfg.variety)

    @property
    def has_several_arms(self) -> bool:
        """Whether the robot has more than one arm."""
        return len(self.cfg.robot.arms) > 1

    def part_of(self, index: int) -> str | None:
        """Returns the name of the part that a skill acts on; None: it carries a whole object."""
        return part_acted_on_by(self.cfg, self.assets, index)

    @property
    def acted_on(self) -> list[tuple[str, str | None]]:
        """Object and part that each skill of the chain acts on; a skill that carries a whole object has no part."""
        return [(entry.objects[0], self.part_of(index)) for index, entry in enumerate(self.cfg.skills)]

    def find_problem(self) -> Failure | None:
        """Returns why the layout is invalid: an object found no place, or things overlap."""
        if self.layout.problem is not None:
            return Failure("invalid_layout", self.layout.problem, 0.0)
        context = self._make_context(self.cfg.robot.arms[-1].name)  # any arm: its model has the others at rest, too
        self._checker.load(context.robot_model, context.obstacles())
        hit = self._checker.overlap()
        if hit is None:
            return None
        return Failure(
            "invalid_layout",
            f"At the start {hit.link_a} overlaps {hit.link_b} by {1e3 * -hit.distance_m:.1f} mm",
            0.0,
            {"pair": [hit.link_a, hit.link_b], "distance_m": hit.distance_m},
        )

    def strategies(self, index: int, *, earlier: Sequence[Skill] = ()) -> list[SkillCfg]:
        """Returns the entry of a skill once for each arm and strategy, with settings derived from the present scene.

        The strategy in which the skill planned in a search for a layout comes first. After `earlier` attempts, which
        were broken off, the arm stays the same, strategies that were not tried come first, and what must be reached is
        that of the first attempt.
        """
        if earlier:
            found = self._strategies_of_arm(earlier[0].context.arm.name, index)
            tried = [skill.cfg.strategy for skill in earlier if skill.commands]
            return [
                _with_target_of(earlier[0], entry) for entry in sorted(found, key=lambda e: tried.count(e.strategy))
            ]
        entry, searched = self.cfg.skills[index], self.layout_search
        chosen = None if searched is None else searched.chosen
        if isinstance(entry, LayoutSearchCfg):
            return [replace(entry, arm=entry.arm or self.cfg.robot.arms[0].name)]
        found = [strategy for name in self._arms_for(index) for strategy in self._strategies_of_arm(name, index)]
        if chosen is None or index not in chosen.strategies:
            return found
        arm, first = chosen.arms.get(index, found[0].arm), chosen.strategies[index]
        return sorted(found, key=lambda strategy: (strategy.arm != arm, strategy.strategy != first))

    def make_skill(
        self,
        entry: SkillCfg,
        *,
        budget: PlanBudget | None = None,
        concurrent: Sequence[Skill] = (),
        earlier: Sequence[Skill] = (),
    ) -> Skill:
        """Makes a skill in the present scene.

        Args:
            entry: One of its `strategies`.
            budget: How much its planner tries; None = the full budget of the configuration.
            concurrent: Planned skills that other arms carry out at the same time.
            earlier: Attempts at the same skill that were broken off.
        """
        context = self._make_context(self.scene.robot.arm(entry.arm).name)
        if concurrent:
            from unlatch.skills.hold import planned_motion

            context = replace(context, concurrent_motions=tuple(planned_motion(skill) for skill in concurrent))
        if budget is not None:
            context = replace(context, budget=budget)
        skill: Skill = SKILLS.load(entry.name)(entry, context)
        if earlier and isinstance(skill, ArticulationSkill) and isinstance(earlier[0], ArticulationSkill):
            skill.s0 = earlier[0].s0
        if earlier and skill.carries:
            from unlatch.skills.pick import Pick

            if isinstance(skill, Pick):
                skill.missed = [each.choice for each in earlier if isinstance(each, Pick) and each.choice is not None]
        return skill

    def plan_again(
        self, index: int, first_skill: Skill, *, earlier: Sequence[Skill], concurrent: Sequence[Skill] = ()
    ) -> PlannedSkill:
        """Plans a skill from where its arm and its part are now.

        Args:
            index: Its place in the chain.
            first_skill: The skill in the first of its strategies.
            earlier: Attempts at it that were broken off, at least one.
            concurrent: Planned skills that other arms carry out at the same time.
        """
        refused: list[dict[str, Any]] = []
        entries = self.strategies(index, earlier=earlier)[1:]
        budget = first_skill.context.budget
        others = (self.make_skill(entry, budget=budget, concurrent=concurrent, earlier=earlier) for entry in entries)
        for skill in chain([first_skill], others):
            if self._plan(skill, self._planner_stream(index, skill, attempt=len(earlier))):
                return PlannedSkill(skill, refused)
            refused.append(self._describe_refusal(skill, skill.failure))
        return PlannedSkill(first_skill, refused)

    def plan_from_grasp(
        self, index: int, *, earlier: Sequence[Skill], concurrent: Sequence[Skill] = (), steps_back: bool = True
    ) -> ArticulationSkill | str:
        """Returns a skill with a plan that goes on with the grasp that its hand has now, or why none of its strategies
        has one; see `plan_again` and `ArticulationSkill.plan_from_grasp`.
        """
        problems: list[str] = []
        for entry in self.strategies(index, earlier=earlier):
            skill = self.make_skill(entry, concurrent=concurrent, earlier=earlier)
            if not isinstance(skill, ArticulationSkill) or isinstance(skill, HoldingSkill):
                continue
            problem = skill.plan_from_grasp(steps_back=steps_back)
            if problem is None:
                return skill
            problems.append(problem)
        return "; ".join(dict.fromkeys(problems))

    def plan_together(
        self,
        indices: Sequence[int],
        *,
        budget: PlanBudget | None = None,
        first_skill: Skill | None = None,
        concurrent: Sequence[Skill] = (),
    ) -> list[PlannedSkill]:
        """Plans skills of several arms that begin at the same time, each against the motions of those before it.

        Where a skill finds no plan, those before it are tried in their next strategies, up to `MAX_FIRST_STRATEGIES`.

        Args:
            indices: Places of the skills in the chain, one an arm.
            budget: How much each strategy is tried; all strategies of all arms share its work. None = that of
                `first_skill`, else the full budget of the configuration.
            first_skill: The skill of the first strategy of the first index, if it exists; None = it is made here.
            concurrent: Planned skills that further arms carry out at the same time.

        Returns:
            One for each index; where a skill does not plan, the list ends with it.
        """
        index, *others = indices
        budget = budget or (self.budget if first_skill is None else first_skill.context.budget)
        refused: list[dict[str, Any]] = []
        stuck: list[PlannedSkill] = []
        planned = 0
        first: Skill | None = None
        entries = self.strategies(index)[0 if first_skill is None else 1 :]
        made = (self.make_skill(entry, budget=budget, concurrent=concurrent) for entry in entries)
        for skill in made if first_skill is None else chain([first_skill], made):
            first = first or skill
            if self.layout_search is not None and self.layout_search.chosen is not None:
                skill.suggestion = self.layout_search.chosen.choices.get(index)
            if not self._plan(skill, self._planner_stream(index, skill)):
                refused.append(self._describe_refusal(skill, skill.failure))
                continue
            if not others:
                return [PlannedSkill(skill, refused)]
            rest = self.plan_together(others, budget=budget, concurrent=[*concurrent, skill])
            found = [PlannedSkill(skill, list(refused)), *rest]
            if rest[-1].skill.commands:
                return found
            stuck = stuck or found
            refused.append(self._describe_refusal(skill, rest[-1].skill.failure))
            planned += 1
            if planned == MAX_FIRST_STRATEGIES:
                break
        if stuck or (first is None and others):
            return stuck
        return [PlannedSkill(first or self.make_skill(self.strategies(index)[0]), refused)]

    def _plan(self, skill: Skill, rng: np.random.Generator) -> bool:
        """Plans a skill and checks its commands; returns whether it has a plan."""
        found = skill.plan(rng)
        if found:
            check_commands(skill, max_duration_s=self.cfg.task.max_duration_s)
        return found

    def _arms_for(self, index: int) -> list[str]:
        """Returns the names of the arms that may carry out a skill, in the order in which they are tried.

        That is the arm that the entry names; else the arm whose base is nearest to the middle of the part's keypoints,
        and after a search for a layout the other arms too.
        """
        entry, arms = self.cfg.skills[index], self.scene.robot.arms
        if entry.arm is not None:
            return [self.scene.robot.arm(entry.arm).name]
        item, part_name = self.scene.objects[entry.objects[0]], self.part_of(index)
        if part_name is None:
            middle = item.body.root_pose() @ item.asset.bounds_obj.mean(axis=0)
        else:
            middle = np.mean(list(item.keypoints_world(part_name).values()), axis=0)
        nearest = sorted(arms, key=lambda name: float(np.linalg.norm(arms[name].T_world_base.p - middle)))
        return nearest[:1] if layout_search_of(self.cfg.skills) is None else nearest

    def _strategies_of_arm(self, arm_name: str, index: int) -> list[SkillCfg]:
        """Returns the strategies of one arm; they are derived once for each joint position of the part.

        Raises:
            ConfigError: The skill does not fit the part.
            AssetError: It does not fit the part of the drawn object.
        """
        entry = self.cfg.skills[index]
        item, arm = self.scene.objects[entry.objects[0]], self.scene.robot.arm(arm_name)
        if not entry.planner_setting.derived and self.cfg.robot.scale == 1.0 and arm.cfg.turns_freely:
            return replace(entry, arm=arm_name).entries_by_strategy()
        name = self.part_of(index)
        part = None if name is None else item.asset.articulation.part(name)
        s = 0.0 if part is None else item.joint_position(part.joint)
        if (index, arm_name, s) not in self._derived:
            from unlatch.configs.derived_task import skill_strategies

            with naming_drawn_object(self.cfg.all_objects()[item.asset.name], item.asset):
                self._derived[index, arm_name, s] = skill_strategies(
                    self.cfg, index, self.assets, part=part, arm=arm.cfg, s=s
                )
        return self._derived[index, arm_name, s]

    def _planner_stream(self, index: int, skill: Skill, *, attempt: int = 0) -> np.random.Generator:
        """Returns the planner stream of one strategy of one entry, and of one attempt after the first.

        It does not depend on what was tried before: a strategy that planned in the search for a layout plans the same
        motion in the episode, where fewer strategies were tried before it.
        """
        suffix = f".{attempt}" if attempt else ""
        return stream(self._seed, f"planner.{index}.{skill.context.arm.name}.{skill.cfg.strategy}{suffix}")

    def _describe_refusal(self, skill: Skill, failure: Failure | None) -> dict[str, Any]:
        """Returns a refused strategy as an entry of the record's `refused`."""
        return {
            "strategy": skill.cfg.strategy,
            **({"arm": skill.context.arm.name} if self.has_several_arms else {}),
            "code": "plan_infeasible" if failure is None else failure.code,
            "message": "" if failure is None else failure.message,
        }

    def _make_context(self, arm_name: str) -> SkillContext:
        scene = self.scene
        arm = scene.robot.arm(arm_name)
        return SkillContext(
            robot=scene.robot,
            arm=arm,
            arm_model=arm_model(
                self.cfg.robot, arm.cfg, stand_height_m=0.0 if self.layout.stand is None else self.layout.stand.height_m
            ),
            objects=scene.objects,
            views=scene.views[arm_name],
            checker=self._checker,
            robot_model=robot_model(scene.robot, arm.cfg, self.layout),
            fixtures=scene.fixtures,
            rates=self.cfg.world,
            regions=scene.regions,
            budget=self.budget,
        )


def _with_target_of(first: Skill, entry: SkillCfg) -> SkillCfg:
    """Returns an entry that asks for what the first attempt asks for: its threshold and the end of its motion."""
    if not isinstance(first, ArticulationSkill):
        return entry
    wanted = first.cfg.planner_setting
    setting = replace(
        entry.planner_setting, success_mode=wanted.success_mode, success_threshold=wanted.success_threshold
    )
    if setting.contact_index == setting.goal_index:
        step = None if setting.follow_joint is None else setting.follow_joint.step
        reach = None if wanted.follow_joint is None else wanted.follow_joint.reach
        setting = replace(setting, post_actuation_motions=FollowJointCfg(to=first.end_position, step=step, reach=reach))
    return replace(entry, planner_setting=setting)
