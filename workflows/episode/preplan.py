"""Searches for a layout in which the whole chain of skills plans, before an episode begins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING

from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.artpreplan_cfg import ArtPreplanCfg, PreplanReport
from unlatch.skills.catalog import SKILLS
from unlatch.skills.contract.chain import Sequences, stages_of
from unlatch.skills.contract.failure import Failure
from unlatch.skills.contract.skill import Skill
from unlatch.skills.holding import HoldingSkill
from unlatch.solver.planning.plan import PlanBudget
from unlatch.tasks.layout import Layout
from unlatch.workflows.episode.strategies import planned_together

if TYPE_CHECKING:
    from unlatch.workflows.episode.episode import Episode

THOROUGH_CANDIDATES = 8
"""So many layouts at most are planned with all that the planner has, where none plans at a first look."""

LAYOUT = -1
"""Index of what is no skill: the layout itself."""


@dataclass(frozen=True)
class Found:
    """A layout in which the chain plans."""

    number: int
    """Which candidate it is."""
    layout: Layout
    """Where things stand."""
    margins_rad: list[float] = field(default_factory=list)
    """Smallest distance of a joint to its limit while a part is led, for each skill [rad]."""
    strategies: dict[int, str] = field(default_factory=dict)
    """The way in which each skill plans, by its index."""
    arms: dict[int, str] = field(default_factory=dict)
    """The arm with which it does, of a robot that has several."""

    @property
    def margin_rad(self) -> float:
        """The smallest of them [rad]."""
        return min(self.margins_rad, default=0.0)


@dataclass(frozen=True)
class Refused:
    """A layout in which the chain did not plan at a first look."""

    number: int
    """Which candidate it is."""
    layout: Layout
    """Where things stand."""
    planned: int
    """How many skills planned before one that did not."""
    has_goals: bool
    """Whether a way of it had goals that meet its constraints."""


class Preplanner:
    """Tries layouts in the world of an episode that has not begun.

    All of them are looked at with the first wave of starts alone: where that finds no plan, another layout is sooner
    found than the last few goals of this one. Where none of them plans, it is hard anywhere: those that came furthest
    are tried once more with all that the planner has. What others are planned after or beside, the episode plans
    with the look that found its layout.
    """

    def __init__(self, episode: Episode, cfg: ArtPreplanCfg, *, draw: Callable[[], Layout]) -> None:
        """Takes an episode.

        Args:
            episode: The episode; its world is emptied for every candidate.
            cfg: How many are tried.
            draw: Draws a layout; the first one is what the episode would have had without a search.
        """
        self.episode = episode
        self.cfg = cfg
        self.draw = draw
        self.report = PreplanReport()
        self.refused: list[Refused] = []

    def search(self) -> Layout | None:
        """The layout that is taken, or None where no candidate plans; `report` says why the others were not."""
        budget = self.episode.budget
        first_look = budget.first_look()
        found = self._first(((number, self.draw()) for number in range(self.cfg.candidates)), first_look)
        if not found:
            promising = sorted(self.refused, key=lambda item: (-item.planned, not item.has_goals))
            again = promising[:THOROUGH_CANDIDATES]
            found = self._first(((item.number, item.layout) for item in again), budget)
        if not found:
            return None
        best = found[0] if self.cfg.best_of == 1 else max(found, key=lambda item: item.margin_rad)
        self.report.chosen, self.report.margin_rad = best.number, best.margin_rad
        self.report.strategies, self.report.arms = best.strategies, best.arms
        return best.layout

    def _first(self, layouts: Iterable[tuple[int, Layout]], budget: PlanBudget) -> list[Found]:
        """Those of numbered layouts that plan, not more than are compared."""
        found: list[Found] = []
        for number, layout in layouts:
            candidate = self._try(number, layout, budget)
            if candidate is not None:
                found.append(candidate)
            if len(found) == self.cfg.best_of:
                break
        return found

    def _try(self, number: int, layout: Layout, budget: PlanBudget) -> Found | None:
        self.report.begin(number, thorough=budget.thorough)
        episode = self.episode
        overlap = episode.build(layout)
        if overlap is not None:
            self._note(number, LAYOUT, overlap)
            return None
        episode.stand_still()
        found = Found(number, layout)
        for sequences in stages_of(episode.cfg.skills):
            holding: list[HoldingSkill] = []
            for indices in self._turns(sequences):
                planned = self._plan(found, indices, holding, budget)
                if planned is None:
                    return None
                for skill in planned:
                    self._carry_out(skill)
                holding += [skill for skill in planned if isinstance(skill, HoldingSkill)]
            for skill in holding:
                self._carry_out(skill)
        return found

    def _plan(
        self, found: Found, indices: list[int], holding: Sequence[HoldingSkill], budget: PlanBudget
    ) -> list[Skill] | None:
        """Plans the skills of places in the chain, which begin together, and notes how; None where one does not."""
        episode = self.episode
        planned = planned_together(episode, indices, budget=budget, beside=holding)
        for index, (skill, refused) in zip(indices, planned, strict=False):
            if not skill.commands:
                failure = skill.failure or Failure("plan_infeasible", "The skill gave no reason", 0.0)
                self._note(found.number, index, failure)
                has_goals = any(item["code"] != "plan_infeasible" for item in refused)
                self.refused.append(Refused(found.number, found.layout, len(found.strategies), has_goals))
                return None
            found.strategies[index] = skill.cfg.strategy
            if len(episode.cfg.robot.arms) > 1:
                found.arms[index] = skill.context.arm.name
            if skill.keyframe_plan is not None:
                found.margins_rad.append(skill.keyframe_plan.margin_rad)
        return [skill for skill, _ in planned]

    def _turns(self, sequences: Sequences) -> Iterator[list[int]]:
        """Places in the chain of what is planned together: what holds for the others, then the first skills of all
        other arms, the second, ...
        """
        skills = self.episode.cfg.skills
        holding = [each for each in sequences if issubclass(SKILLS.load(skills[each[0]].name), HoldingSkill)]
        for some in (holding, [sequence for sequence in sequences if sequence not in holding]):
            for turn in zip_longest(*some):
                indices = [index for index in turn if index is not None]
                if not isinstance(skills[indices[0]], ArtPreplanCfg):
                    yield indices

    def _carry_out(self, skill: Skill) -> None:
        """Puts arm and part where the plan leads them: the next skill plans from there."""
        if isinstance(skill, HoldingSkill) and not skill.has_skipped:
            skill.skip_to_hold()
            skill.context.arm.reset(skill.q_hold, gripper_m=skill.gripper_hold_m)
            self.episode.scene.scene.update_state()
            return
        motions = [command.motion for command in skill.commands if command.motion is not None and len(command.motion)]
        if not motions:
            return
        arm = skill.context.arm
        arm.reset(motions[-1].q[-1], gripper_m=arm.gripper_opening_m)
        led = [motion.s for motion in motions if motion.s is not None]
        if led and isinstance(skill, ArticulationSkill):
            joint = skill.object.body.joint(skill.part.joint)
            s = min(max(float(led[-1][-1]), joint.lower), joint.upper)
            skill.object.set_joints({skill.part.joint: s})
        self.episode.scene.scene.update_state()

    def _note(self, candidate: int, index: int, failure: Failure) -> None:
        name = "layout" if index == LAYOUT else self.episode.cfg.skills[index].name
        self.report.failures.append(
            {"candidate": candidate, "skill": index, "name": name, "code": failure.code, "message": failure.message}
        )
