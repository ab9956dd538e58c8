"""Derives a task for one part of an object (region, start, goal and language), and what a configuration leaves out.

A setting depends on the part, its opening and the hand. For objects that are drawn in each episode, these are unknown
before: the episode derives it once it knows its objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.schema import EpisodeCfg, part_of_skill
from unlatch.objects.annotation import Part, PartKind
from unlatch.objects.articulated_object import ObjectAsset, front_frame
from unlatch.objects.config import ObjectCfg
from unlatch.robots.description import ArmCfg, RobotCfg
from unlatch.robots.hand_shape import HandShape, hand_shape, hand_shapes
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.skills.catalog import DERIVABLE_SKILLS, SKILLS, derivable_skill
from unlatch.skills.config import HoldCfg, HomeCfg, SkillCfg, StrategyCfg, part_acted_on
from unlatch.skills.grasping import needs_turns
from unlatch.skills.hold import arms_side_by_side, hold_setting
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.skills.mechanism_steps import is_sprung, move_by_skill, opened_by, steps_before
from unlatch.skills.strategies.hand_fit import HandFit
from unlatch.skills.strategies.open_close import (
    approach_m,
    count_holds,
    goal_value,
    opened_to,
    opening_of_share,
    rounded,
    start_range,
    widened_start,
)
from unlatch.skills.strategies.pushing import can_be_dragged
from unlatch.skills.strategies.ranking import (
    MAX_DURATION_S,
    check_turns,
    derive_strategies,
    dragged_start,
    turned_by,
    turned_to,
)
from unlatch.solver.setting import FollowJointCfg, PlannerSettingCfg, SuccessMode
from unlatch.solver.term_kinds import AxisAngle
from unlatch.tasks.language import part_words, task_phrasings
from unlatch.tasks.placing import swept_below
from unlatch.tasks.stand import StandCfg
from unlatch.tasks.task import GoalCfg, GoalKind, TaskCfg

REACH_CENTER_M = (0.54, 0.0, 0.34)
REACH_HALF_M = (0.10, 0.18)
"""Centre, and half extents in x and y, of the box in which an arm of Panda's size acts well in any direction. Closer,
its elbow folds; farther, it is stretched before a pull ends [m]."""
YAW_DEG = 20.0
LEAST_HALF_M = 0.02
"""Smallest half extent of a region."""
HEIGHT_HALF_M = 0.04
"""Half the range of the height of an object."""
STAND_HALF_M = 0.06
"""The same of a stand."""
MAX_PLINTH_M = 0.45
"""Largest height of a plinth at the middle of that range."""
DIP_M, ABOVE_TABLE_M = 0.003, 0.01
"""A part that swings below its object by more than the first value stays above the table by the second [m]."""
MIN_FRONT_DISTANCE_M, MIN_PART_DISTANCE_M = 0.33, 0.38
"""Smallest distances of the object's front and of its part from the arm's base at the start [m]. The hand of the folded
arm reaches the part at this distance."""
MIN_STAND_DISTANCE_M = 0.25
"""Smallest distance of the contact point from the middle of the robot's stand, whose plate a door may meet [m]."""
_SAMPLES = 9


def derive_task(
    skill: str,
    asset: ObjectAsset,
    part: Part,
    hand: HandShape,
    *,
    openness: float | str | None = None,
    scale: float = 1.0,
) -> dict[str, Any]:
    """Returns the content of a task's YAML file: a hand acts on a part of an object by a derivable skill.

    `scale` is that of the robot's tasks; the file states lengths at full size, which an episode multiplies by it.
    `openness` is how far `open` opens the part: a share of its range, or `full`; None: the default of the part.

    Raises:
        ConfigError: The skill does not fit the part.
    """
    task, start = derive_layout(skill, asset, part, hand, openness=openness, scale=scale)
    asked = None if openness is None else opening_of_share(openness, part)
    again: list[dict[str, Any]] = []
    if asked is not None and (holds := count_holds(part, asset, start, asked)) > 1:
        again = [{"name": skill, "objects": [asset.name], "part": part.name} for _ in range(holds - 1)]
        asked = None
    strategies = derive_strategies(skill, asset, part, hand, start, asked=asked)
    if scale != 1.0:
        slides = part.kind is PartKind.slider
        task = _at_full_size(task, scale, slides=slides)
        strategies = [
            (name, replace(item, success_threshold=item.success_threshold / (scale if slides else 1.0)))
            for name, item in strategies
        ]
    (first, setting), *others = strategies
    return {
        "task": {
            "name": task_name(skill, asset, part),
            "summary": f"{skill} '{part.name}' ({part.kind.value}) of {asset.category} {asset.instance}",
            **task,
        },
        "skills": [
            {"name": "artpreplan", "objects": [asset.name]},
            {
                "name": skill,
                "objects": [asset.name],
                "part": part.name,
                "planner_setting": setting.to_yaml(),
                "strategy": first,
                "strategies": [{"name": name, "planner_setting": other.to_yaml()} for name, other in others],
            },
            *again,
        ],
    }


def _at_full_size(task: dict[str, Any], scale: float, *, slides: bool) -> dict[str, Any]:
    """Returns the values of a task with lengths divided by a scale; `slides`: openings and goals are lengths too."""
    (region,), (opening,), (goal,) = task["regions"], task["openness"], task["goal"]
    lengths = {key: [value / scale for value in region[key]] for key in ("center_m", "half_extent_m", "height_m")}
    if slides:
        opening = {**opening, "range": [value / scale for value in opening["range"]]}
        goal = {**goal, "value": goal["value"] / (1.0 if goal["kind"] == "open_fraction" else scale)}
    return {**task, "regions": [{**region, **lengths}], "openness": [opening], "goal": [goal]}


def derive_layout(
    skill: str,
    asset: ObjectAsset,
    part: Part,
    hand: HandShape,
    *,
    start: tuple[float, float] | None = None,
    openness: float | str | None = None,
    scale: float = 1.0,
    on_floor: bool = False,
) -> tuple[dict[str, Any], tuple[float, float]]:
    """Returns the values of a task, and its start: smallest and largest opening [rad or m].

    A given `start`, from closed [rad or m], is kept; None: it is derived from skill and hand. `openness` and `scale`
    are those of `derive_task`; `on_floor`: the robot has a stand, and the object is on the floor.

    Raises:
        ConfigError: The skill does not fit the part.
    """
    skill = derivable_skill(skill)
    turns = skill == "rotate"
    if turns:
        check_turns(part, held=not can_be_dragged(part))
        if is_sprung(asset, part):
            raise ConfigError(
                f"skill=rotate does not fit part '{part.name}': a spring turns it back once the hand lets go. Use "
                "skill=open for the part that it frees, or name another part.",
                key="skill",
            )
    if start is None:
        start = start_range(skill, part, asset, scale=scale)
        if skill == "open":
            start = widened_start(start, part, HandFit(asset, part, hand, approach_m=approach_m(part)))
            start = dragged_start(asset, part, hand, start)
    kind, value = "moved", turned_by(part) if turns else goal_value(skill, part, start)
    asked = None
    if skill == "close":
        kind = "within_closed"
    elif openness is not None:
        asked = opening_of_share(openness, part)
        kind, value = "open_fraction", rounded(asked / part.openness.span)
        turns = needs_turns(part.kind, opened_to(part, start, asked) - start[0])
    where = {"object": asset.name, "part": part.name}
    pedal = opened_by(asset.articulation, part) if skill == "open" else None
    region = partial(derive_region, asset=asset, scale=scale, on_floor=on_floor)
    placed = (
        region(skill, part=part, start=start, asked=asked)
        if pedal is None
        else region("close", part=pedal, start=(pedal.openness.span,) * 2)
    )
    task: dict[str, Any] = {
        "regions": [placed],
        "openness": [{**where, "range": list(start)}],
        "goal": [{**where, "kind": kind, "value": value}],
        "language": task_phrasings(skill, part_words(asset, part.name).manner),
        **({"max_duration_s": MAX_DURATION_S} if turns else {}),
    }
    return task, start


def derive_task_for_any(
    skill: str, cfg: ObjectCfg, part: str | None, *, openness: float | str | None = None
) -> dict[str, Any]:
    """Returns the content of a task's YAML file for objects that are drawn in each episode.

    Each episode derives the rest. Without a part, the skill acts on the first part of each object that fits it.
    """
    where = {"objects": [cfg.name], **({} if part is None else {"part": part})}
    return {
        "task": {
            "name": re.sub(r"[^A-Za-z0-9_-]", "_", "_".join((skill, cfg.name, *([part] if part else [])))),
            "summary": f"{skill} '{part or 'its part'}' of any {cfg.category}",
            "derived": {"skill": skill, "part": part, **({} if openness is None else {"openness": openness})},
        },
        "skills": [{"name": "artpreplan", "objects": [cfg.name]}, {"name": skill, **where}],
    }


def task_name(skill: str, asset: ObjectAsset, part: Part) -> str:
    """Returns the name of a derived task, which is also used for the folder of its data set."""
    instance = f"{asset.category}_{asset.instance}" if asset.instance.isdigit() else asset.instance
    return re.sub(r"[^A-Za-z0-9_-]", "_", f"{skill}_{instance}_{part.name}")


def derive_region(
    skill: str,
    asset: ObjectAsset,
    part: Part,
    start: tuple[float, float],
    *,
    asked: float | None = None,
    scale: float = 1.0,
    on_floor: bool = False,
) -> dict[str, Any]:
    """Returns the region of an object: the path of the contact point is within the arm's reach.

    Yaw moves that point about the middle of the front; the half extents are those of the reach less this motion.
    `start` is the smallest and largest opening, `asked` that to which a user asks `open` to lead the part; None: its
    default [rad or m]. `on_floor`: the robot has a stand, and the object is on the floor.
    """
    path = _contact_path(skill, asset, part, start, asked)
    low, high = path.min(axis=0), path.max(axis=0)
    depth, across, height = (low + high) / 2
    swing = np.deg2rad(YAW_DEG)
    half_x = max(scale * REACH_HALF_M[0] - swing * abs(across), scale * LEAST_HALF_M)
    half_y = max(scale * REACH_HALF_M[1] - swing * abs(depth), scale * LEAST_HALF_M)
    # the object faces the arm: its x and y axes are turned by 180 degrees
    room = max(scale * MIN_FRONT_DISTANCE_M, scale * MIN_PART_DISTANCE_M + _protrusion(asset, part, start))
    if on_floor:
        room = max(room, scale * MIN_STAND_DISTANCE_M + high[0])
    x = max(scale * REACH_CENTER_M[0] + depth, room + half_x)
    y = scale * REACH_CENTER_M[1] + across
    where = {"object": asset.name, "center_m": [_round_to_mm(x), _round_to_mm(y)]}
    extents = {"half_extent_m": [_round_to_mm(half_x), _round_to_mm(half_y)], "yaw_deg": YAW_DEG}
    if on_floor:
        return {**where, **extents, "height_m": [0.0, 0.0]}
    if part.kind is PartKind.lever:  # a bail that hangs down: near the table, the arm has little room to grasp it
        height = min(height, (height + path[0, 2]) / 2)
    lift = float(np.clip(scale * REACH_CENTER_M[2] - height, 0.0, scale * MAX_PLINTH_M))
    half_z = scale * HEIGHT_HALF_M
    swept = swept_below(asset, part, _openings_led(skill, part, start, asked), below_m=DIP_M)
    dip = float(asset.bounds_obj[0, 2] - swept[:, 2].min() + ABOVE_TABLE_M) if len(swept) else 0.0
    heights = [_round_to_mm(max(lift - half_z, dip)), _round_to_mm(max(lift, dip) + half_z)]
    return {**where, **extents, "height_m": heights}


def derive_stand(
    skill: str,
    asset: ObjectAsset,
    part: Part,
    start: tuple[float, float],
    stand: StandCfg,
    *,
    asked: float | None = None,
    scale: float = 1.0,
) -> StandCfg:
    """Returns a stand whose height is near that at which an arm reaches the path of the contact point best."""
    path = _contact_path(skill, asset, part, start, asked)
    height = 0.5 * float(path[:, 2].min() + path[:, 2].max()) / scale - REACH_CENTER_M[2]
    return replace(stand, height_m=stand.near(height, STAND_HALF_M))


def _contact_path(
    skill: str, asset: ObjectAsset, part: Part, start: tuple[float, float], asked: float | None
) -> np.ndarray:
    """Returns the path (N, 3) of the contact point from the lower middle of the object's front, root frame [m]."""
    model = asset.model
    front = front_frame(asset).p
    point = part.keypoint("link_contact_point" if skill == "close" else "articulated_object_head").xyz
    closed = asset.articulation.closed_positions()
    openings = _openings_led(skill, part, start, asked)
    positions = [{**closed, part.joint: part.openness.position(float(opening))} for opening in openings]
    return np.array([model.link_pose(part.link, s) @ point - front for s in positions])


def _openings_led(skill: str, part: Part, start: tuple[float, float], asked: float | None) -> np.ndarray:
    """Returns openings (N,) from the start of the part's path to its end [rad or m]."""
    end = 0.0
    if skill != "close":
        end = turned_to(part) if skill == "rotate" else opened_to(part, start, asked)
    return np.linspace(start[1] if skill == "close" else start[0], end, _SAMPLES)


def _protrusion(asset: ObjectAsset, part: Part, start: tuple[float, float]) -> float:
    """Returns how far a part protrudes from the closed object's front at the start; negative behind it [m]."""
    model = asset.model
    most = -np.inf
    for opening in start:
        T_root_link = model.link_pose(part.link, {part.joint: part.openness.position(opening)})
        for shape in model.links[part.link].collisions:
            points = T_root_link @ (shape.T_link_shape @ shape_mesh(shape).vertices)
            most = max(most, float(points[:, 0].max(initial=-np.inf)))
    return most - float(asset.bounds_obj[1, 0]) if np.isfinite(most) else 0.0


def _round_to_mm(value: float) -> float:
    return round(float(value), 3) + 0.0


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
    exact: float | None = None,
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
        exact: Opening to which the part is led and not further, from closed [rad or m]; None: any further one serves.

    Raises:
        ConfigError: The skill does not fit the part, or has no settings to derive.
    """
    if not entry.planner_setting.derived or part is None or isinstance(entry, HomeCfg):
        return entry  # a skill that carries finds grasps and spots itself, in the scene as it is
    if isinstance(entry, HoldCfg):
        setting = hold_setting(asset.articulation.fixed_handle(entry.handle), hand_shape(robot, arm))
        return replace(entry, strategy="hold", planner_setting=setting)
    opening = abs(s - part.openness.closed)
    found = derive_strategies(entry.name, asset, part, hand_shape(robot, arm), (opening, opening), asked=asked)
    if derivable_skill(entry.name) != "close":  # it leads the part as far as the goal wants, and a little further
        further = partial(replace, success_threshold=wanted, post_actuation_motions=FollowJointCfg())
        found = [(name, further(each) if wanted > each.success_threshold else each) for name, each in found]
        if exact is not None:
            found = [(name, _led_exactly(each, part, s, exact)) for name, each in found]
    (first, setting), *others = found
    return replace(
        entry,
        strategy=first,
        planner_setting=setting,
        strategies=[StrategyCfg(name=name, planner_setting=other) for name, other in others],
    )


_EXACT_SHARE = 0.93
"""Least way of a part that is led to a stated opening, as a share of the way there: its hand lags and slips."""


def _led_exactly(setting: PlannerSettingCfg, part: Part, s: float, opening: float) -> PlannerSettingCfg:
    """Returns a setting that leads a part at joint position `s` to an opening, and not further [rad or m]."""
    to = part.openness.position(opening)
    return replace(
        setting,
        success_threshold=rounded(_EXACT_SHARE * abs(to - s)),
        post_actuation_motions=FollowJointCfg(to=to),
    )


def skill_strategies(
    cfg: EpisodeCfg, index: int, assets: Mapping[str, ObjectAsset], *, part: Part | None, arm: ArmCfg, s: float
) -> list[SkillCfg]:
    """Returns the entry of a skill once for each of its strategies, in the order in which they are tried.

    The task of the episode is derived already. `index` is the place of the skill in the chain, `s` the joint position
    of its part when it begins [rad or m]. Without a part, it acts on the whole object, which is free.

    Raises:
        ConfigError: The skill does not fit the part, or has no settings to derive.
    """
    entry = replace(cfg.skills[index], arm=arm.name)
    asset, wanted, asked, exact = assets[entry.objects[0]], 0.0, None, entry.opening
    if part is not None:
        goals, span = _goals_of_part(cfg, index, assets, part), part.openness.span
        units = {GoalKind.moved: 1.0, GoalKind.moved_fraction: span}
        wanted = max((goal.threshold * units[goal.kind] for goal in goals if goal.kind in units), default=0.0)
        if entry.planner_setting.derived and not isinstance(entry, HoldCfg | HomeCfg):
            opened = [goal.threshold for goal in goals if goal.kind is GoalKind.open_fraction]
            if derivable_skill(entry.name) == "open" and opened:
                asked = opening_of_share(max(opened), part)
            held = [goal.threshold for goal in goals if goal.kind is GoalKind.at_fraction]
            if exact is None and held:
                exact = held[0] * span
            if _is_lid_alone(cfg, entry, asset, part):
                entry = replace(entry, order=[*entry.order, "edge"])
    filled = fill_skill_setting(
        entry, asset, part, robot=cfg.robot, arm=arm, s=s, wanted=wanted, asked=asked, exact=exact
    )
    if part is not None and (cfg.robot.scale != 1.0 or not arm.turns_freely):
        filled = fitted_to_arm(filled, part, arm, scale=cfg.robot.scale, is_stated=filled is entry)
    return filled.entries_by_strategy()


def _is_lid_alone(cfg: EpisodeCfg, entry: SkillCfg, asset: ObjectAsset, part: Part) -> bool:
    """Returns whether a skill raises the lid of an object that neither a fastening nor another hand holds.

    Fingers that pinch its edge guide it firmly; a knob or a bar turns between them, and the box tips with the lid.
    """
    is_held = any(isinstance(each, HoldCfg) and each.objects[:1] == entry.objects[:1] for each in cfg.skills)
    return entry.name == "open" and asset.can_move and part.kind is PartKind.lid and not is_held


def _goals_of_part(cfg: EpisodeCfg, index: int, assets: Mapping[str, ObjectAsset], part: Part) -> list[GoalCfg]:
    """Returns the goals of a part that a skill of the chain has to reach; none if a later skill moves the part too."""
    name, skills = cfg.skills[index].objects[0], cfg.skills
    for later in range(index + 1, len(skills)):
        if skills[later].objects[0] == name and not isinstance(skills[later], HomeCfg):
            moved = part_of_skill(cfg, later, assets)
            if moved is not None and moved.name == part.name:
                return []
    return [goal for goal in cfg.task.goal if (goal.object, goal.part) == (name, part.name)]


def _with_more_holds(
    cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset], part: Part, start: tuple[float, float]
) -> list[SkillCfg]:
    """Returns the chain of a derived task, in which `open` acts again on a part that one hold does not lead far enough.

    A chain that states where to grasp, or that opens several parts, stays as it is.
    """
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


def with_mechanism_steps(cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset]) -> EpisodeCfg:
    """Returns a configuration whose chain also has what the mechanisms of its objects ask for.

    Before a skill opens or turns a part that is held, others press the button, turn the dial or close the drawer that
    frees it. Nothing is added where the setting of a skill is stated, or where it ignores mechanisms.
    """
    skills = [entry for entry, _ in _walk_chain(cfg, assets, adds_steps=True)]
    return cfg if len(skills) == len(cfg.skills) else replace(cfg, skills=skills)


def pressed_part(cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset], index: int) -> Part | None:
    """Returns what a skill of the chain presses so that its part pops out, the part or a button; None: nothing."""
    return list(_walk_chain(cfg, assets))[index][1]


def _walk_chain(
    cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset], *, adds_steps: bool = False
) -> Iterator[tuple[SkillCfg, Part | None]]:
    """Yields each entry of the chain with what it presses so that its part pops out; None: nothing.

    With `adds_steps`, entries for what mechanisms ask for come before.
    """
    positions = {name: dict(asset.rest_positions) for name, asset in assets.items()}
    for item in cfg.task.openness:
        opened = assets[item.object].articulation.part(item.part)
        positions[item.object][opened.joint] = opened.openness.position(0.5 * (item.range[0] + item.range[1]))
    for index, entry in enumerate(cfg.skills):
        kind = entry.name if entry.name in DERIVABLE_SKILLS else SKILLS.load(entry.name).derived_as
        part = None if kind is None else part_of_skill(cfg, index, assets)
        if kind is None or part is None:
            yield entry, None
            continue
        asset, now = assets[entry.objects[0]], positions[entry.objects[0]]
        is_alone = entry.stage is None and entry.planner_setting.derived and not entry.ignores_mechanisms
        if adds_steps and is_alone:
            stage = 1 + max((other.stage for other in cfg.skills if other.stage is not None), default=-1) + index
            # what is open is pushed past latches; what is locked at every opening needs its button
            asked = [step for step in steps_before(asset, part, now) if step.is_kept or kind != "close"]
            for step in asked:
                made = replace(entry, name=step.skill, part=step.part, opening=step.opening, language=[], order=[])
                if step.is_kept:
                    arm, other = arms_side_by_side(cfg.robot, asset, part, asset.articulation.part(step.part))
                    if entry.arm == other:
                        arm, other = other, arm
                    made = replace(made, name="hold_pressed", arm=other, stage=stage)
                    entry = replace(entry, arm=arm, stage=stage)
                yield made, None
        press = move_by_skill(asset, part, kind, now, opening=entry.opening)
        yield entry, None if press is None else press.at


def fill_derived_task(cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset]) -> EpisodeCfg:
    """Returns a configuration with the region, start, goal and language that `task.derived` stands for.

    Values that the task states are kept. `assets` are the episode's objects by name.

    Raises:
        ConfigError: The skill does not fit the part.
    """
    derived = cfg.task.derived
    if derived is None:
        return cfg

    asset = assets[cfg.object.name]
    part = part_acted_on(derived.skill, derived.part, asset.articulation)
    task = cfg.task
    ranges = [entry.range for entry in task.openness if (entry.object, entry.part) == (asset.name, part.name)]
    start = (float(ranges[0][0]), float(ranges[0][1])) if ranges else None
    acting = next((entry.arm for entry in cfg.skills if entry.name == derived.skill), None)
    hands = hand_shapes(cfg.robot, arm=acting)
    # of the openings for each hand, the widest is taken: a narrower one may not fit the other hand
    layouts = (
        derive_layout(
            derived.skill,
            asset,
            part,
            hand,
            start=start,
            openness=derived.openness,
            scale=cfg.robot.scale,
            on_floor=cfg.stand.is_used,
        )
        for hand in hands
    )
    made, openings = max(layouts, key=itemgetter(1))
    stand = cfg.stand
    if stand.is_used and asset.name not in {region.object for region in task.regions}:
        asked = None if derived.openness is None else opening_of_share(derived.openness, part)
        stand = derive_stand(derived.skill, asset, part, openings, stand, asked=asked, scale=cfg.robot.scale)
    found = read_dataclass(TaskCfg, {"name": task.name, **made}, where="task")
    described = [entry for entry in cfg.skills if not isinstance(entry, LayoutSearchCfg)]
    placed = {region.object for region in task.regions} | {relation.object for relation in task.relations}
    opened = {(entry.object, entry.part) for entry in task.openness}
    return replace(
        cfg,
        stand=stand,
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


def fitted_to_arm(entry: SkillCfg, part: Part, arm: ArmCfg, *, scale: float, is_stated: bool) -> SkillCfg:
    """Returns an entry whose motions have the size of the robot's tasks.

    An arm of fewer than six joints gets each strategy a second time, with the line between its fingertips less
    strict: it cannot choose all directions of its hand.
    """
    if isinstance(entry, LayoutSearchCfg):
        return entry
    in_metres = is_stated and part.kind is PartKind.slider
    found = [StrategyCfg(entry.strategy, entry.planner_setting), *entry.strategies]
    scaled = [
        replace(item, planner_setting=scaled_setting(item.planner_setting, scale, in_metres=in_metres))
        for item in found
    ]
    loose = [
        StrategyCfg(f"{item.name}+loose", _loosened(item.planner_setting)) for item in scaled if not arm.turns_freely
    ]
    first, *others = scaled + loose
    return replace(entry, strategy=first.name, planner_setting=first.planner_setting, strategies=others)


_LOOSE_RAD = 0.5


def scaled_setting(setting: PlannerSettingCfg, scale: float, *, in_metres: bool) -> PlannerSettingCfg:
    """Returns a setting whose straight motions before contact are multiplied; `in_metres`: its threshold too."""
    motions = [
        motion if motion[0] == "rotate" else [motion[0], scale * float(motion[1])]
        for motion in setting.pre_actuation_motions
    ]
    threshold = setting.success_threshold
    if in_metres and setting.success_mode is not SuccessMode.fraction:
        threshold = scale * threshold
    return replace(setting, pre_actuation_motions=motions, success_threshold=threshold)


def _loosened(setting: PlannerSettingCfg) -> PlannerSettingCfg:
    """Returns a setting in which the line between the fingertips may lean further."""
    terms = [
        replace(term, tolerance=max(term.tolerance, _LOOSE_RAD))
        if isinstance(term, AxisAngle) and "tool_side" in (term.axis_from_keypoint_name, term.axis_to_keypoint_name)
        else term
        for term in setting.constraint_list
    ]
    return replace(setting, constraint_list=terms)


def scaled_task(cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset]) -> EpisodeCfg:
    """Returns a configuration whose stated places, openings and goals have the size of the robot's tasks."""
    scale, task = cfg.robot.scale, cfg.task
    if scale == 1.0:
        return cfg

    def size_of(name: str, part: str | None) -> float:
        """Returns `scale` for a whole object, and for a part that slides, whose opening is in metres."""
        parts = assets[name].articulation.parts
        return scale if part is None or (part in parts and parts[part].kind is PartKind.slider) else 1.0

    def times(values: Sequence[float], factor: float) -> list[float]:
        return [factor * value for value in values]

    regions = [
        replace(
            region,
            center_m=times(region.center_m, scale),
            half_extent_m=times(region.half_extent_m, scale),
            height_m=times(region.height_m, scale),
        )
        for region in task.regions
    ]
    openness = [replace(item, range=times(item.range, size_of(item.object, item.part))) for item in task.openness]
    goals = [
        replace(goal, value=goal.threshold * size_of(goal.object, goal.part)) if goal.kind in _IN_METRES else goal
        for goal in task.goal
    ]
    return replace(cfg, task=replace(task, regions=regions, openness=openness, goal=goals))


_IN_METRES = (GoalKind.moved, GoalKind.within_closed, GoalKind.lifted)
"""Goals whose value is a displacement."""
