"""Derives planner settings and tasks that a configuration leaves out, once an episode knows its objects.

A setting depends on the part, its opening and the hand. For objects that are drawn in each episode, these are unknown
before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Any

from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.annotation import Part
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.robots.description import FREE_HAND, ArmCfg, RobotCfg
from unlatch.skills.catalog import SKILLS, derivable_skill
from unlatch.skills.config import HoldCfg, HomeCfg, SkillCfg, StrategyCfg, part_acted_on
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.solver.setting import FollowJointCfg, PlannerSettingCfg
from unlatch.tasks.task import GoalKind, TaskCfg


def fill_skill_setting(
    entry: SkillCfg,
    asset: ObjectAsset,
    part: Part | None,
    *,
    robot: RobotCfg,
    arm: ArmCfg,
    s: float,
    wanted: float = 0.0,
    asked: float | None = None,
) -> SkillCfg:
    """Returns an entry of `skills` with planner setting and strategies: its own, or derived ones if they are left out.

    Args:
        entry: The entry.
        asset: The object.
        part: The part that the skill acts on; None: the whole object, which is free.
        robot: The robot.
        arm: The arm that acts.
        s: Joint position of the part [rad or m].
        wanted: Displacement that the task's goal needs [rad or m]; a derived skill moves the part at least as far.
        asked: Opening that the task's goal asks for, from closed [rad or m]; None: the default of `open`.

    Raises:
        ConfigError: The skill does not fit the part, or has no settings to derive.
    """
    if not entry.planner_setting.derived or part is None or isinstance(entry, HomeCfg):
        return entry  # a skill that carries finds grasps and spots itself, in the scene as it is
    from unlatch.robots.hand_shape import hand_shape
    from unlatch.skills.strategies.ranking import derive_strategies

    if isinstance(entry, HoldCfg):
        from unlatch.skills.hold import hold_setting

        setting = hold_setting(asset.articulation.fixed_handle(entry.handle), hand_shape(robot, arm))
        return replace(entry, strategy="hold", planner_setting=setting)
    opening = abs(s - part.openness.closed)
    found = derive_strategies(entry.name, asset, part, hand_shape(robot, arm), (opening, opening), asked=asked)
    if derivable_skill(entry.name) != "close":
        found = [(name, _lead_at_least(setting, wanted)) for name, setting in found]
    (first, setting), *others = found
    return replace(
        entry,
        strategy=first,
        planner_setting=setting,
        strategies=[StrategyCfg(name=name, planner_setting=other) for name, other in others],
    )


def skill_strategies(
    cfg: EpisodeCfg, index: int, assets: Mapping[str, ObjectAsset], *, part: Part | None, arm: ArmCfg, s: float
) -> list[SkillCfg]:
    """Returns the entry of a skill once for each of its strategies, in the order in which they are tried.

    Args:
        cfg: The episode, with its derived task.
        index: Place of the skill in the chain.
        assets: The episode's objects by name.
        part: The part that the skill acts on; None: the whole object, which is free.
        arm: The arm that acts.
        s: Joint position of the part when the skill begins [rad or m].

    Raises:
        ConfigError: The skill does not fit the part, or has no settings to derive.
    """
    entry = replace(cfg.skills[index], arm=arm.name)
    wanted = 0.0 if part is None else _displacement_of_goal(cfg, index, assets, part)
    asset = assets[entry.objects[0]]
    derives = entry.planner_setting.derived and part is not None and not isinstance(entry, HoldCfg | HomeCfg)
    asked = _opening_of_goal(cfg, index, assets, part) if derives and part is not None else None
    filled = fill_skill_setting(entry, asset, part, robot=cfg.robot, arm=arm, s=s, wanted=wanted, asked=asked)
    if part is not None and (cfg.robot.scale != 1.0 or len(arm.joints) < FREE_HAND):
        filled = _derivation().fitted_to_arm(filled, part, arm, scale=cfg.robot.scale, is_stated=filled is entry)
    return filled.entries_by_strategy()


def part_of_skill(cfg: EpisodeCfg, index: int, assets: Mapping[str, ObjectAsset]) -> Part | None:
    """Returns the part that a skill of the chain acts on; for `artpreplan`, that of the next skill on its object.

    None: the skill carries a whole object, or an arm goes home beside one or with it.
    """
    entry = cfg.skills[index]
    if isinstance(entry, LayoutSearchCfg):
        if assets[entry.objects[0]].free:
            return None
        later = (i for i in range(index + 1, len(cfg.skills)) if cfg.skills[i].objects[0] == entry.objects[0])
        parts = (part_of_skill(cfg, i, assets) for i in later)
        return next((part for part in parts if part is not None), None) or part_acted_on(
            entry.name, entry.part, assets[entry.objects[0]].articulation
        )
    if SKILLS.load(entry.name).carries or (isinstance(entry, HomeCfg) and assets[entry.objects[0]].free):
        return None
    return part_acted_on(entry.name, entry.part, assets[entry.objects[0]].articulation)


def _displacement_of_goal(cfg: EpisodeCfg, index: int, assets: Mapping[str, ObjectAsset], part: Part) -> float:
    """Returns the displacement of a part that the goal needs [rad or m]; 0 if a later skill moves the part too."""
    name = cfg.skills[index].objects[0]
    if _moves_later(cfg, index, assets, part):
        return 0.0
    units = {GoalKind.moved: 1.0, GoalKind.moved_fraction: part.openness.span}
    goals = [goal for goal in cfg.task.goal if (goal.object, goal.part) == (name, part.name)]
    return max((goal.threshold * units[goal.kind] for goal in goals if goal.kind in units), default=0.0)


def _moves_later(cfg: EpisodeCfg, index: int, assets: Mapping[str, ObjectAsset], part: Part) -> bool:
    """Whether a later skill of the chain moves the part too."""
    name, skills = cfg.skills[index].objects[0], cfg.skills
    later = (
        i for i in range(index + 1, len(skills)) if skills[i].objects[0] == name and not isinstance(skills[i], HomeCfg)
    )
    return any(
        moved is not None and moved.name == part.name for moved in (part_of_skill(cfg, i, assets) for i in later)
    )


def _opening_of_goal(cfg: EpisodeCfg, index: int, assets: Mapping[str, ObjectAsset], part: Part) -> float | None:
    """Returns the opening that the goal asks of a skill [rad or m].

    None: it asks for none, the skill does not open the part, or a later skill moves the part further.
    """
    from unlatch.skills.strategies.open_close import opening_of_share

    if derivable_skill(cfg.skills[index].name) != "open" or _moves_later(cfg, index, assets, part):
        return None
    shares = [
        goal.threshold
        for goal in cfg.task.goal
        if (goal.object, goal.part, goal.kind) == (cfg.skills[index].objects[0], part.name, GoalKind.open_fraction)
    ]
    return opening_of_share(max(shares), part) if shares else None


def _lead_at_least(setting: PlannerSettingCfg, wanted: float) -> PlannerSettingCfg:
    """Returns a derived setting that leads the part at least as far as the goal wants, and a little further."""
    if wanted <= setting.success_threshold:
        return setting
    return replace(setting, success_threshold=wanted, post_actuation_motions=FollowJointCfg())


def _with_more_holds(
    cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset], part: Part, start: tuple[float, float]
) -> list[SkillCfg]:
    """Returns the chain of a derived task, in which `open` acts again on a part that one hold does not lead far enough.

    A chain that states where to grasp, or that opens several parts, stays as it is.
    """
    from unlatch.skills.strategies.open_close import count_holds, opening_of_share

    derived = cfg.task.derived
    if derived is None or derived.openness is None:
        return cfg.skills
    opens = [index for index, entry in enumerate(cfg.skills) if entry.name == derived.skill]
    if len(opens) != 1:
        return cfg.skills
    asset = assets[cfg.skills[opens[0]].objects[0]]
    holds = count_holds(part, asset, start, opening_of_share(derived.openness, part))
    (index,), acted_on = opens, part_of_skill(cfg, opens[0], assets)
    if acted_on is None or acted_on.name != part.name or not cfg.skills[index].planner_setting.derived:
        return cfg.skills
    return [*cfg.skills[:index], *([cfg.skills[index]] * holds), *cfg.skills[index + 1 :]]


def _derivation() -> Any:
    """Returns the module that derives tasks: most episodes do not need it."""
    from unlatch.configs import derived_task

    return derived_task


def sized_task(cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset]) -> EpisodeCfg:
    """Returns a configuration whose stated places, openings and goals have the size of the robot's tasks."""
    if cfg.robot.scale == 1.0:
        return cfg
    sized: EpisodeCfg = _derivation().scaled_task(cfg, assets)
    return sized


def fill_derived_task(cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset]) -> EpisodeCfg:
    """Returns a configuration with the region, start, goal and language that `task.derived` stands for.

    Values that the task states are kept. `assets` are the episode's objects by name.

    Raises:
        ConfigError: The skill does not fit the part.
    """
    derived = cfg.task.derived
    if derived is None:
        return cfg
    from unlatch.robots.hand_shape import hand_shapes

    asset = assets[cfg.object.name]
    part = part_acted_on(derived.skill, derived.part, asset.articulation)
    task = cfg.task
    ranges = [entry.range for entry in task.openness if (entry.object, entry.part) == (asset.name, part.name)]
    start = (float(ranges[0][0]), float(ranges[0][1])) if ranges else None
    acting = next((entry.arm for entry in cfg.skills if entry.name == derived.skill), None)
    hands = hand_shapes(cfg.robot, arm=acting)
    asked = {"start": start, "openness": derived.openness, "scale": cfg.robot.scale}
    # of the openings for each hand, the widest is taken: a narrower one may not fit the other hand
    layouts = (_derivation().derive_layout(derived.skill, asset, part, hand, **asked) for hand in hands)
    made, openings = max(layouts, key=itemgetter(1))
    found = read_dataclass(TaskCfg, {"name": task.name, **made}, where="task")
    described = [entry for entry in cfg.skills if not isinstance(entry, LayoutSearchCfg)]
    placed = {region.object for region in task.regions} | {relation.object for relation in task.relations}
    opened = {(entry.object, entry.part) for entry in task.openness}
    return replace(
        cfg,
        skills=_with_more_holds(cfg, assets, part, openings),
        task=replace(
            task,
            regions=[*task.regions, *(entry for entry in found.regions if entry.object not in placed)],
            openness=[*task.openness, *(e for e in found.openness if (e.object, e.part) not in opened)],
            goal=list(task.goal) or found.goal,
            # a chain combines the phrasings of its skills
            language=list(task.language) or (found.language if len(described) == 1 else []),
            max_duration_s=found.max_duration_s
            if task.max_duration_s == TaskCfg().max_duration_s
            else task.max_duration_s,
        ),
    )
