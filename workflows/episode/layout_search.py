"""Searches for a layout in which the whole chain of skills plans, before an episode begins."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import product, zip_longest

import numpy as np

from unlatch.configs.schema import EpisodeCfg, part_of_skill
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import RestsOn
from unlatch.objects.library import load_instance
from unlatch.objects.scene_object import SceneObject
from unlatch.objects.turned_object import stable_sides, suits_any_side
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.catalog import SKILLS
from unlatch.skills.config import StageSequences, stages_of
from unlatch.skills.context import Failure
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.skills.skill import HoldingSkill, Skill
from unlatch.solver.plan import KeyframePlan, PlanBudget
from unlatch.tasks.layout import Layout
from unlatch.workflows.episode.chain_planner import ChainPlanner, PlannedSkill
from unlatch.workflows.episode.layout_search_report import LayoutCandidate, LayoutSearchReport

logger = logging.getLogger(__name__)

THOROUGH_CANDIDATES = 8
"""Largest number of layouts that are planned with the full budget if no layout plans with the first, smaller one."""
FIRST_LOOK_SHARE = 0.75
"""Share of the work that first looks may spend, so that at least one layout is also planned with the full budget."""

MOST_CHANGES = 8
"""Largest number of other choices, such as grasps, that are asked for in one layout where a later skill has no plan."""
CHANGES_SHARE = 0.2
"""Share of the work of a search up to which further choices are asked for in one layout: another layout helps where no
choice does, such as with a door that is out of reach at the end of the chain."""

OnPlanned = Callable[[int, Sequence[int], Sequence[PlannedSkill]], None]
"""Takes the number of a layout, the indices of skills that begin together, and these skills, planned or refused."""

LAYOUT = -1
"""Index in the report of a layout that is invalid itself, before any skill is planned."""


class LayoutSearch:
    """Tries layouts in the world of an episode that has not begun.

    Every candidate is first planned with a small budget, the first wave of starts: another layout takes less time than
    a full search in this one. Where no candidate plans, those that came furthest are tried once more with the full
    budget. All layouts share the work that the configuration allows for the search (`planner.work`); where it is spent,
    the search ends.
    Skills on which others depend are later planned in the episode with the budget that found the layout.
    """

    def __init__(
        self,
        planner: ChainPlanner,
        cfg: LayoutSearchCfg,
        *,
        draw: Callable[[], Layout],
        build: Callable[[Layout], Failure | None],
        on_planned: OnPlanned | None = None,
        work_share: float = 1.0,
    ) -> None:
        """Makes a search; nothing is tried yet.

        Args:
            planner: Plans the chain.
            cfg: How many layouts are tried.
            draw: Draws a layout; the first one is what the episode would have without a search.
            build: Builds the scene of a layout for the planner and lets it come to rest; returns why it is invalid.
            on_planned: Called after each planning, in the scene that was planned in.
            work_share: Share of `planner.work` that the search may spend.
        """
        self.report = LayoutSearchReport()
        self.refused: list[LayoutCandidate] = []
        self.planner = planner
        self.last_layout: Layout | None = None
        """The layout that was built last."""
        self._cfg = cfg
        self._draw = draw
        self._build = build
        self._on_planned = on_planned
        self._budget = planner.budget if work_share == 1.0 else planner.budget.with_part(work_share)
        self._first_look = self._budget.first_look().with_share(FIRST_LOOK_SHARE)

    def search(self) -> Layout | None:
        """Returns the chosen layout, or None where the chain plans in none; `report` counts the refused layouts."""
        layout = self.look_first()
        return self.look_thoroughly() if layout is None else layout

    def look_first(self) -> Layout | None:
        """Returns the layout chosen from all candidates in the first pass, with a small budget; None: none plans."""
        drawn = ((number, self._draw()) for number in range(self._cfg.candidates))
        return self._choose_layout(self._plan_layouts(drawn, self._first_look))

    def look_thoroughly(self) -> Layout | None:
        """Returns the layout chosen in the second pass, after `look_first`, with the full budget; None: none plans."""
        promising = sorted(self.refused, key=lambda item: (-len(item.strategies), not item.has_goals))
        again = promising[:THOROUGH_CANDIDATES]
        budget = self._budget.after(self._first_look)
        return self._choose_layout(self._plan_layouts(((item.number, item.layout) for item in again), budget))

    def _choose_layout(self, found: Sequence[LayoutCandidate]) -> Layout | None:
        self.report.chosen = max(found, key=lambda item: item.margin_rad, default=None)
        return None if self.report.chosen is None else self.report.chosen.layout

    def _plan_layouts(self, layouts: Iterable[tuple[int, Layout]], budget: PlanBudget) -> list[LayoutCandidate]:
        """Returns at most `best_of` layouts for which planning succeeds."""
        found: list[LayoutCandidate] = []
        for number, layout in layouts:
            if budget.meter.is_spent:
                self.report.spent_work = self._budget.work
                break
            candidate = self._plan_layout(number, layout, budget)
            if candidate is not None:
                found.append(candidate)
            if len(found) == self._cfg.best_of:
                break
        return found

    def _plan_layout(self, number: int, layout: Layout, budget: PlanBudget) -> LayoutCandidate | None:
        """Plans the whole chain in one layout; returns None where a skill does not plan."""
        self.report.begin_candidate(number, thorough=budget.thorough)
        # the scene is loaded into the simulation, and for each arm into the collision checker, with all arms
        arms = len(self.planner.cfg.robot.arms)
        budget.meter.spend("loads", arms * (1 + arms))
        problem = self._build(layout)
        self.last_layout = self.planner.layout
        if problem is not None:
            self._count_refusal(number, LAYOUT, problem)
            return None
        return self.plan_chain(LayoutCandidate(number, layout), budget)

    def plan_chain(self, candidate: LayoutCandidate, budget: PlanBudget) -> LayoutCandidate | None:
        """Plans the whole chain in the present scene, in which arms and parts move with the plans; None: no plan."""
        if any(SKILLS.load(entry.name).carries for entry in self.planner.cfg.skills):
            groups = [each for stage in stages_of(self.planner.cfg.skills) for each in self._planned_together(stage)]
            if all(len(indices) == 1 for indices in groups):
                return self._plan_one_by_one(candidate, [indices[0] for indices in groups], budget)
        for sequences in stages_of(self.planner.cfg.skills):
            holding: list[HoldingSkill] = []
            for indices in self._planned_together(sequences):
                planned = self._plan_skills(candidate, indices, holding, budget)
                if planned is None:
                    return None
                for skill in planned:
                    self._move_to_end(skill)
                holding += [skill for skill in planned if isinstance(skill, HoldingSkill)]
            for skill in holding:
                self._move_to_end(skill)
        return candidate

    def _plan_one_by_one(
        self, candidate: LayoutCandidate, indices: Sequence[int], budget: PlanBudget
    ) -> LayoutCandidate | None:
        """Plans the skills of one arm at a time; where one has no plan, the last one with another choice takes it."""
        begun: list[tuple[int, Skill, Callable[[], None]]] = []
        place, changes = 0, 0
        failures, meter = len(self.report.failures), budget.meter
        enough = meter.spent + CHANGES_SHARE * meter.limit
        while place < len(indices):
            restore = self._remember_scene()
            planned = self._plan_skills(candidate, [indices[place]], [], budget)
            if planned is not None:
                begun.append((place, planned[0], restore))
                self._move_to_end(planned[0])
                place += 1
                continue
            while begun and changes < MOST_CHANGES and meter.spent < enough and not meter.is_spent:
                place, skill, restore = begun.pop()
                restore()
                changes += 1
                if skill.plan_next():
                    break
            else:
                return None
            del self.report.failures[failures:]
            self.refused.remove(candidate)
            candidate.choices[indices[place]] = skill.choice
            self._tell(candidate, [indices[place]], [PlannedSkill(skill, [])])
            candidate.margins_rad = candidate.margins_rad[: place + 1]
            begun.append((place, skill, restore))
            self._move_to_end(skill)
            place += 1
        return candidate

    def _remember_scene(self) -> Callable[[], None]:
        """Returns a function that puts arms and objects back where they are now."""
        scene = self.planner.scene
        arms = [(arm, arm.q.copy(), arm.gripper_opening_m) for arm in scene.robot.arms.values()]
        objects = [
            (
                item,
                item.body.root_pose(),
                dict(zip(item.joint_names, item.body.joint_states()[0].tolist(), strict=True)),
            )
            for item in scene.objects.values()
        ]

        def restore() -> None:
            for arm, q, opening_m in arms:
                arm.reset(q, gripper_m=opening_m)
            for item, T_world_root, positions in objects:
                if item.free:
                    item.body.set_root_pose(T_world_root)
                if positions:
                    item.set_joints(positions)
            scene.state_tree.update_state()

        return restore

    def _plan_skills(
        self, candidate: LayoutCandidate, indices: list[int], holding: Sequence[HoldingSkill], budget: PlanBudget
    ) -> list[Skill] | None:
        """Plans skills that begin together and notes their strategies; returns None where one does not plan."""
        planned = self.planner.plan_together(indices, budget=budget, concurrent=holding)
        self._tell(candidate, indices, planned)
        for index, (skill, refused) in zip(indices, planned, strict=False):
            if not skill.commands:
                failure = skill.failure or Failure("plan_infeasible", "The skill gave no reason", 0.0)
                self._count_refusal(candidate.number, index, failure, plan=skill.keyframe_plan)
                candidate.has_goals = any(item["code"] != "plan_infeasible" for item in refused)
                self.refused.append(candidate)
                return None
            candidate.strategies[index] = skill.cfg.strategy
            if skill.choice is not None:
                candidate.choices[index] = skill.choice
            if self.planner.has_several_arms:
                candidate.arms[index] = skill.context.arm.name
            if skill.keyframe_plan is not None:
                candidate.margins_rad.append(skill.keyframe_plan.margin_rad)
        return [skill for skill, _ in planned]

    def _tell(self, candidate: LayoutCandidate, indices: Sequence[int], planned: Sequence[PlannedSkill]) -> None:
        if self._on_planned is not None:
            self._on_planned(candidate.number, indices, planned)

    def _planned_together(self, sequences: StageSequences) -> Iterator[list[int]]:
        """Yields the indices of skills that are planned together.

        Skills that hold for others come first, then the first skills of all other arms, their second skills, and so on.
        """
        skills = self.planner.cfg.skills
        holding = [each for each in sequences if issubclass(SKILLS.load(skills[each[0]].name), HoldingSkill)]
        for some in (holding, [sequence for sequence in sequences if sequence not in holding]):
            for places in zip_longest(*some):
                indices = [index for index in places if index is not None]
                if not isinstance(skills[indices[0]], LayoutSearchCfg):
                    yield indices

    def _move_to_end(self, skill: Skill) -> None:
        """Puts arm and part where the plan ends: the next skill plans from there."""
        scene = self.planner.scene
        if isinstance(skill, HoldingSkill) and not skill.has_skipped:
            skill.skip_to_hold()
            skill.context.arm.reset(skill.q_hold, gripper_m=skill.gripper_hold_m)
            if skill.positions_held:
                scene.objects[skill.cfg.objects[0]].set_joints(skill.positions_held)
            scene.state_tree.update_state()
            return
        motions = [command.motion for command in skill.commands if command.motion is not None and len(command.motion)]
        if not motions:
            return
        arm, opening_m, poses = skill.context.arm, skill.predicted_opening_m(), skill.predicted_poses()
        arm.reset(motions[-1].q[-1], gripper_m=arm.gripper_opening_m if opening_m is None else opening_m)
        for name, T_world_root in poses.items():
            scene.objects[name].body.set_root_pose(T_world_root)
        led = [motion.s for motion in motions if motion.s is not None]
        if led and isinstance(skill, ArticulationSkill):
            joint = skill.object.body.joint(skill.part.joint)
            s = min(max(float(led[-1][-1]), joint.lower), joint.upper)
            with _contents_moved(scene.objects, skill):
                skill.object.set_joints(_positions_after(skill, s))
        scene.state_tree.update_state()

    def _count_refusal(self, candidate: int, index: int, failure: Failure, *, plan: KeyframePlan | None = None) -> None:
        """Counts a refused layout in the report, with the diagnosis of a `plan` that says why."""
        name, message = "layout" if index == LAYOUT else self.planner.cfg.skills[index].name, failure.message
        if plan is not None and plan.diagnosis is not None and plan.diagnosis.message == message:
            self.report.diagnoses[candidate] = diagnosis = plan.diagnosis.without_stop()
            message = diagnosis.message
        self.report.failures.append(
            {"candidate": candidate, "skill": index, "name": name, "code": failure.code, "message": message}
        )


def _positions_after(skill: ArticulationSkill, s: float) -> dict[str, float]:
    """Returns the joint positions after a skill has led its part to a position [rad or m] and let go."""
    item = skill.object
    if not item.asset.articulation.mechanisms:
        return {skill.part.joint: s}
    from unlatch.skills.mechanism_steps import positions_let_go

    now = dict(zip(item.joint_names, item.body.joint_states()[0].tolist(), strict=True))
    return positions_let_go(item.asset, {**now, skill.part.joint: s}, led=[skill.part.joint])


@contextmanager
def _contents_moved(objects: Mapping[str, SceneObject], skill: ArticulationSkill) -> Iterator[None]:
    """Moves free objects in the regions of a part, such as a drawer, along with the part, which moves in the block."""
    item, link = skill.object, skill.part.link
    free = {name: other.body.root_pose() for name, other in objects.items() if other.free}
    inside = [
        (name, item.body.link_pose(link).inverse() @ T_world_root)
        for name, T_world_root in free.items()
        if any(
            region.link == link and region.holds((item.body.link_pose(link) @ region.T_link_region).inverse() @ middle)
            for region in item.asset.regions.values()
            for middle in [T_world_root @ objects[name].asset.bounds_obj.mean(axis=0)]
        )
    ]
    yield
    for name, T_link_root in inside:
        objects[name].body.set_root_pose(item.body.link_pose(link) @ T_link_root)


@dataclass(frozen=True)
class SearchedEpisode:
    """What a search needs of its episode, which has not begun."""

    take_objects: Callable[[dict[str, ObjectAsset]], ChainPlanner]
    """Gives it other objects, and returns their planner."""
    take_planner: Callable[[ChainPlanner, Layout | None], None]
    """Gives it the objects of an earlier planner again, with the layout that was built last."""
    draw: Callable[[np.random.Generator], Layout]
    """Draws a layout of its present objects."""
    build: Callable[[Layout], Failure | None]
    """See `LayoutSearch`."""
    on_planned: OnPlanned | None = None
    """See `LayoutSearch`."""

    def begin_search(
        self,
        planner: ChainPlanner,
        entry: LayoutSearchCfg,
        rng: np.random.Generator,
        sides: Mapping[str, RestsOn],
        *,
        share: float = 1.0,
    ) -> LayoutSearch:
        """Returns a search with the present objects, which lie on `sides`; nothing is tried yet.

        It has a `share` of the work of a search.
        """
        search = LayoutSearch(
            planner,
            entry,
            draw=partial(self.draw, rng),
            build=self.build,
            on_planned=self.on_planned,
            work_share=share,
        )
        search.report.sides = {name: side.value for name, side in sides.items()}
        planner.layout_search = search.report
        return search


def search_layout(
    episode: SearchedEpisode, planner: ChainPlanner, entry: LayoutSearchCfg, rng: np.random.Generator
) -> tuple[Layout, Failure | None]:
    """Returns a layout in which the chain plans; where none does, the last that was tried and why it is refused.

    With `rests_on=any`, the first pass over the layouts is made with the objects as they stand, then on each other
    side, and so is the second pass. Where no side has a plan, the objects stand again. Each side has the draws of a
    search of its own: its layouts do not depend on how many were tried before. The other sides share the work of one
    search, so that a search on all sides takes about twice as long as one without them at most.

    Args:
        episode: The episode.
        planner: Its planner, for the standing objects.
        entry: The search.
        rng: The stream `layout`, from which the objects have been drawn.
    """
    first_draw = copy.deepcopy(rng)
    names = [name for name, item in planner.cfg.all_objects().items() if item.rests_on is RestsOn.any]
    standing = episode.begin_search(planner, entry, rng, dict.fromkeys(names, RestsOn.bottom))
    tried, chosen, layout = [standing], standing, standing.look_first()
    others = _find_other_sides(planner.cfg, planner.assets) if layout is None else []
    share = 1.0 / max(1, len(others))
    for sides in others:
        try:
            turned = episode.take_objects(_lay_objects(planner.cfg, planner.assets, sides))
        except (ConfigError, AssetError) as exc:
            logger.info("No search with objects on %s: %s", sides, exc.message)
            continue
        chosen = episode.begin_search(turned, entry, copy.deepcopy(first_draw), sides, share=share)
        tried.append(chosen)
        layout = chosen.look_first()
        if layout is not None:
            break
    for chosen in tried if layout is None else ():
        episode.take_planner(chosen.planner, chosen.last_layout)
        layout = chosen.look_thoroughly()
        if layout is not None:
            break
    if layout is not None:
        chosen.report.other_sides = [each.report.describe_side() for each in tried if each is not chosen]
        return layout, None
    episode.take_planner(planner, standing.last_layout)
    report, message = standing.report, standing.report.refusal() + _advise_any_side(planner.cfg, planner.assets)
    if len(tried) > 1:
        report.other_sides = [search.report.describe_side() for search in tried[1:]]
        message += f" On another side, it has no plan either: {', '.join(report.earlier_sides())}."
    failure = Failure("invalid_layout", message, 0.0, {"preplan": report.refused_counts()})
    return standing.last_layout or episode.draw(rng), failure


def _find_other_sides(cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset]) -> list[dict[str, RestsOn]]:
    """Returns the side of each object with `rests_on=any`, for each other way in which they lie stably.

    Args:
        cfg: The episode, with its derived task.
        assets: The objects by name, which stand.
    """
    cfgs = cfg.all_objects()
    turnable = {
        name: [RestsOn.bottom, *stable_sides(asset, _parts_acted_on(cfg, assets, name))]
        for name, asset in assets.items()
        if cfgs[name].rests_on is RestsOn.any
    }
    ways = [dict(zip(turnable, chosen, strict=True)) for chosen in product(*turnable.values())]
    return [sides for sides in ways if any(side is not RestsOn.bottom for side in sides.values())]


def _lay_objects(
    cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset], sides: Mapping[str, RestsOn]
) -> dict[str, ObjectAsset]:
    """Returns all objects, of which those that stand lie on `sides`.

    Raises:
        AssetError: An object cannot be laid on that side.
    """
    cfgs = cfg.all_objects()
    turned = {
        name: load_instance(replace(cfgs[name].with_instance(assets[name].instance), rests_on=side))
        for name, side in sides.items()
        if side is not RestsOn.bottom
    }
    return {**assets, **turned}


def _advise_any_side(cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset]) -> str:
    """Returns advice to lay an object on another side where a person would do so; else an empty string."""
    keys = {cfg.object.name: "object", **{item.name: f"objects.{i}" for i, item in enumerate(cfg.objects)}}
    for name, item in cfg.all_objects().items():
        asset = assets[name]
        parts = _parts_acted_on(cfg, assets, name)
        if parts and item.rests_on is RestsOn.bottom and suits_any_side(asset, parts):
            return (
                f" '{name}' is small and light enough to lie on another side: {keys[name]}.rests_on=any also tries "
                "those."
            )
    return ""


def _parts_acted_on(cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset], name: str) -> list[str]:
    """Returns the names of the parts of an object that skills of the chain act on, each once."""
    found = [part_of_skill(cfg, index, assets) for index, entry in enumerate(cfg.skills) if entry.objects[0] == name]
    return list(dict.fromkeys(part.name for part in found if part is not None))
