"""What an episode derives once it knows its objects: planner settings that were left out, and what its task leaves out.

A setting depends on the part, on how far it stands open and on the hand; of objects that are drawn anew in each episode
none of it is known before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from configs.derived_grasp import HandRoom
from configs.derived_rotate import check_turns, rotate_setting
from configs.derived_setting import approach_m, planner_setting
from configs.derived_task import SKILLS_WITH_TASKS, derived_task
from configs.reading import read_dataclass
from configs.schema import EpisodeCfg
from robots.description import ArmCfg
from robots.hand_shape import HandShape, hand_shape
from simcore.assets.annotation import Part
from simcore.assets.articulated_object import ObjectAsset
from simcore.errors import ConfigError
from skills.config import SkillCfg
from solver.settings.reader import read_planner_setting
from tasks.task import TaskCfg


def derived_setting(skill: str, asset: ObjectAsset, part: Part, hand: HandShape, opening: float) -> dict[str, Any]:
    """The planner setting of a skill on a part that stands open by so much.

    Args:
        skill: One of `SKILLS_WITH_TASKS`.
        asset: The object.
        part: Its part.
        hand: The hand that acts.
        opening: How far the part is open, from closed [rad or m].

    Raises:
        ConfigError: The skill does not fit the part, or has no settings to derive.
    """
    if skill not in SKILLS_WITH_TASKS:
        raise ConfigError(
            f"skill '{skill}' has no planner_setting, and none can be derived for it. Expected one of "
            f"{', '.join(SKILLS_WITH_TASKS)} where it is left out. Add it.",
            key="planner_setting",
        )
    if skill == "close":
        return planner_setting(skill, part, asset, (opening, opening))
    if skill == "rotate":
        check_turns(part)
    grasp = HandRoom(asset, part, hand, approach_m=approach_m(part)).grasp(opening)
    if skill == "rotate":
        return rotate_setting(part, asset, grasp)
    return planner_setting(skill, part, asset, (opening, opening), grasp)


def with_setting(entry: SkillCfg, asset: ObjectAsset, part: Part, *, robot: str, arm: ArmCfg, s: float) -> SkillCfg:
    """An entry of `skills` with its planner setting: its own or, where it was left out, the derived one.

    Args:
        entry: The entry.
        asset: The object that it acts on.
        part: The part.
        robot: Name of the robot.
        arm: The arm that acts.
        s: Position of the part's joint [rad or m].

    Raises:
        ConfigError: The skill does not fit the part, or has no settings to derive.
    """
    if not entry.planner_setting.derived:
        return entry
    opening = abs(s - part.openness.closed)
    raw = derived_setting(entry.name, asset, part, hand_shape(robot, arm), opening)
    setting, _ = read_planner_setting(raw, where="planner_setting")
    return replace(entry, planner_setting=setting)


def with_task(cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset]) -> EpisodeCfg:
    """An episode's configuration with what `task.derived` stands for: region, start, goal and words for its object.

    What the task states itself is left as it is.

    Args:
        cfg: The configuration.
        assets: The episode's objects by name.

    Raises:
        ConfigError: The skill does not fit the part.
    """
    derived = cfg.task.derived
    if derived is None:
        return cfg
    asset = assets[cfg.object.name]
    parts = asset.articulation.parts
    part = asset.articulation.part(derived.part) if derived.part is not None else next(iter(parts.values()))
    made = derived_task(derived.skill, asset, part, hand_shape(cfg.robot.name, cfg.robot.arms[0]))["task"]
    found = read_dataclass(TaskCfg, made, where="task")
    task = cfg.task
    placed = {region.object for region in task.regions}
    opened = {(entry.object, entry.part) for entry in task.openness}
    return replace(
        cfg,
        task=replace(
            task,
            regions=[*task.regions, *(entry for entry in found.regions if entry.object not in placed)],
            openness=[*task.openness, *(e for e in found.openness if (e.object, e.part) not in opened)],
            goal=list(task.goal) or found.goal,
            language=list(task.language) or found.language,
            max_duration_s=max(task.max_duration_s, found.max_duration_s),
        ),
    )
