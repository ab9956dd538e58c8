"""A task for one part of one object that no file describes: where it stands, how it starts, its goal and its words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from unlatch.objects.annotation import Part
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg
from unlatch.robots.hand_shape import HandShape
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.skills.strategies.hand_fit import HandFit
from unlatch.skills.strategies.open_close import approach_m, goal_value, opened_to, roomy_start, start_range
from unlatch.skills.strategies.ranking import derivable_skill, derive_strategies
from unlatch.skills.strategies.rotate import MAX_DURATION_S, check_turns, turned_by, turned_to
from unlatch.tasks.part_words import part_words
from unlatch.tasks.phrasings import task_phrasings

REACH_CENTER_M = (0.54, 0.0, 0.34)
REACH_HALF_M = (0.10, 0.18)
"""Middle, and half extents in x and y, of the box in which an arm of Panda's size acts well in any direction: nearer,
its elbow folds, farther it stretches before a pull is done."""
YAW_DEG = 20.0
LEAST_HALF_M = 0.02
HEIGHT_HALF_M = 0.04
MOST_PLINTH_M = 0.45
LEAST_FRONT_M, LEAST_PART_M = 0.33, 0.38
"""At the start, the front of an object stands at least so far from the arm's base, and its part, which may stand out up
to where the folded arm has its hand."""
_SAMPLES = 9


def derive_task(skill: str, asset: ObjectAsset, part: Part, hand: HandShape) -> dict[str, Any]:
    """The content of a task's YAML file.

    Args:
        skill: One of `DERIVABLE_SKILLS`, or one that is derived as one of them.
        asset: The object.
        part: The part that the skill acts on.
        hand: The hand that does it.

    Raises:
        ConfigError: The skill does not fit the part.
    """
    task, start = derive_layout(skill, asset, part, hand)
    (first, setting), *others = derive_strategies(skill, asset, part, hand, start)
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
        ],
    }


def derive_layout(
    skill: str, asset: ObjectAsset, part: Part, hand: HandShape, *, start: tuple[float, float] | None = None
) -> tuple[dict[str, Any], tuple[float, float]]:
    """Region, start, goal and words of a task, and the start once more: least and largest opening [rad or m].

    Args:
        skill: One of `DERIVABLE_SKILLS`, or one that is derived as one of them.
        asset: The object.
        part: The part that the skill acts on.
        hand: The hand that does it.
        start: How far the part is open, at least and at most, from closed [rad or m]; None = as suits skill and hand.

    Raises:
        ConfigError: The skill does not fit the part.
    """
    skill = derivable_skill(skill)
    turns = skill == "rotate"
    if turns:
        check_turns(part)
    if start is None:
        start = start_range(skill, part, asset)
        if skill == "open":
            start = roomy_start(start, part, HandFit(asset, part, hand, approach_m=approach_m(part)))
    value = turned_by(part) if turns else goal_value(skill, part, start)
    where = {"object": asset.name, "part": part.name}
    task: dict[str, Any] = {
        "regions": [region(skill, asset, part, start)],
        "openness": [{**where, "range": list(start)}],
        "goal": [{**where, "kind": "within_closed" if skill == "close" else "moved", "value": value}],
        "language": task_phrasings(skill, part_words(asset, part.name).manner),
        **({"max_duration_s": MAX_DURATION_S} if turns else {}),
    }
    return task, start


def derive_task_for_any(skill: str, cfg: ObjectCfg, part: str | None) -> dict[str, Any]:
    """The content of a task's YAML file for objects that are drawn in each episode: derived there, see `derived_entry`.

    Args:
        skill: One of `DERIVABLE_SKILLS`, or one that is derived as one of them.
        cfg: The objects.
        part: The part that the skill acts on; None = of each object the first that it fits.
    """
    where = {"objects": [cfg.name], **({} if part is None else {"part": part})}
    return {
        "task": {
            "name": re.sub(r"[^A-Za-z0-9_-]", "_", "_".join((skill, cfg.name, *([part] if part else [])))),
            "summary": f"{skill} '{part or 'its part'}' of any {cfg.category}",
            "derived": {"skill": skill, "part": part},
        },
        "skills": [{"name": "artpreplan", "objects": [cfg.name]}, {"name": skill, **where}],
    }


def task_name(skill: str, asset: ObjectAsset, part: Part) -> str:
    """Name of a derived task; it names the data set's folder too.

    Args:
        skill: The skill.
        asset: The object.
        part: Its part.
    """
    instance = f"{asset.category}_{asset.instance}" if asset.instance.isdigit() else asset.instance
    return re.sub(r"[^A-Za-z0-9_-]", "_", f"{skill}_{instance}_{part.name}")


def region(skill: str, asset: ObjectAsset, part: Part, start: tuple[float, float]) -> dict[str, Any]:
    """Where the object is put: so that the way of the point that is acted on lies in the arm's reach.

    The deviations of position are what the box of the reach leaves after the yaw, which swings that point about the
    middle of the front.

    Args:
        skill: The skill.
        asset: The object.
        part: Its part.
        start: Opening at the start, at least and at most [rad or m].
    """
    way = _way_from_front(skill, asset, part, start)
    low, high = way.min(axis=0), way.max(axis=0)
    depth, across, height = (low + high) / 2
    swing = np.deg2rad(YAW_DEG)
    half_x = max(REACH_HALF_M[0] - swing * abs(across), LEAST_HALF_M)
    half_y = max(REACH_HALF_M[1] - swing * abs(depth), LEAST_HALF_M)
    # the object looks back at the arm: its x and y are turned by half a circle
    room = max(LEAST_FRONT_M, LEAST_PART_M + _standing_out(asset, part, start))
    x = max(REACH_CENTER_M[0] + depth, room + half_x)
    y = REACH_CENTER_M[1] + across
    lift = float(np.clip(REACH_CENTER_M[2] - height, 0.0, MOST_PLINTH_M))
    return {
        "object": asset.name,
        "center_m": [_millimetres(x), _millimetres(y)],
        "half_extent_m": [_millimetres(half_x), _millimetres(half_y)],
        "yaw_deg": YAW_DEG,
        "height_m": [_millimetres(max(lift - HEIGHT_HALF_M, 0.0)), _millimetres(lift + HEIGHT_HALF_M)],
    }


def _way_from_front(skill: str, asset: ObjectAsset, part: Part, start: tuple[float, float]) -> np.ndarray:
    """(N, 3) the point that is acted on, on its way, from the lower middle of the object's front, root frame [m]."""
    model = asset.model
    low, high = asset.bounds_obj
    front = np.array([high[0], (low[1] + high[1]) / 2, low[2]])
    point = part.keypoint("link_contact_point" if skill == "close" else "articulated_object_head").xyz
    sign = float(np.sign(part.openness.open - part.openness.closed))
    end = 0.0
    if skill != "close":
        end = turned_to(part) if skill == "rotate" else opened_to(part, start)
    closed = {other.joint: other.openness.closed for other in asset.articulation.parts.values()}
    openings = np.linspace(start[1] if skill == "close" else start[0], end, _SAMPLES)
    positions = [{**closed, part.joint: part.openness.closed + sign * float(opening)} for opening in openings]
    return np.array([model.link_pose(part.link, s) @ point - front for s in positions])


def _standing_out(asset: ObjectAsset, part: Part, start: tuple[float, float]) -> float:
    """How far a part stands out of the closed object's front at the start, less than 0 behind it [m]."""
    model = asset.model
    sign = float(np.sign(part.openness.open - part.openness.closed))
    most = -np.inf
    for opening in start:
        T_root_link = model.link_pose(part.link, {part.joint: part.openness.closed + sign * opening})
        for shape in model.links[part.link].collisions:
            points = T_root_link @ (shape.T_link_shape @ shape_mesh(shape).vertices)
            most = max(most, float(points[:, 0].max(initial=-np.inf)))
    return most - float(asset.bounds_obj[1, 0]) if np.isfinite(most) else 0.0


def _millimetres(value: float) -> float:
    return round(float(value), 3) + 0.0
