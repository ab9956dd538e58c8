"""What the mechanisms of an object ask of a robot: which parts it must move first, and which joints one grasp leads.

A lever on a door is turned and kept turned by the hand that then leads the door; a button beside it is pressed before.
Which of both follows from the conditions of the mechanisms and from the chain of links alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from unlatch.objects.annotation import Articulation, Part
from unlatch.objects.mechanisms import Condition, Mimic, PushLatch, Release, Spring, closed_position
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.urdf.model import UrdfModel, movable_joints
from unlatch.solver.joint_path import JointPath
from unlatch.solver.timing import HINGE_SPEED_RAD_S, SLIDER_SPEED_M_S

_BEYOND_SHARE = 0.5
"""How far a joint is led beyond the least position that a condition asks for, as a share of what is left of its range:
the hand slips and lags."""
_OUT_OF_PLAY = 2.0
"""A part has left its latch at this multiple of its play."""

Positions = Mapping[str, float]
"""Joint positions by joint [rad or m]."""


@dataclass(frozen=True)
class Step:
    """What a robot does with a part before it can move another one."""

    skill: str
    """`close`, `rotate` or `open`."""
    part: str
    to: float | None = None
    """Joint position to which it leads the part [rad or m]; None: that of the skill."""
    least: float | None = None
    """Displacement from closed with which it succeeds [rad or m]; None: that of the skill."""


def conditions_of(articulation: Articulation, joint: str) -> list[Condition]:
    """Returns the conditions under which a joint is free to move."""
    found = (each for mechanism in articulation.mechanisms.values() for each in mechanism.conditions())
    return [each for each in found if each.joint == joint]


def rest_of(articulation: Articulation, model: UrdfModel, joint: str) -> tuple[float, float]:
    """Returns the rest of a joint, and +1 or -1 where it opens upwards or downwards."""
    return closed_position(joint, parts=articulation.joint_ranges(), model=model)


def held_by(articulation: Articulation, model: UrdfModel, part: Part, positions: Positions) -> list[Condition]:
    """Returns the conditions that do not hold now and that keep the part from opening.

    A latch holds only a part that is in its play.
    """
    unmet = []
    for condition in conditions_of(articulation, part.joint):
        rest, _ = rest_of(articulation, model, condition.by)
        is_in = abs(positions[part.joint] - part.openness.closed) <= _OUT_OF_PLAY * play_of(articulation, part.joint)
        if (condition.while_moving or is_in) and not condition.holds(positions[condition.by], rest):
            unmet.append(condition)
    return unmet


def play_of(articulation: Articulation, joint: str) -> float:
    """Returns the largest play of the mechanisms that hold a joint [rad or m]; 0 if none does."""
    plays = (
        float(getattr(each, "play", 0.0)) for each in articulation.mechanisms.values() if joint in each.held_joints
    )
    return max(plays, default=0.0)


def place_beyond(articulation: Articulation, model: UrdfModel, condition: Condition) -> float:
    """Returns the position to which `by` is led, so that a condition holds with some room [rad or m]."""
    if not condition.from_rest:
        return 0.5 * (condition.low + condition.high)
    rest, sign = rest_of(articulation, model, condition.by)
    joint = model.joints[condition.by]
    most = math.inf if joint.kind == "continuous" else abs((joint.upper if sign > 0.0 else joint.lower) - rest)
    most = min(most, condition.high)
    beyond = condition.low + (_BEYOND_SHARE * (most - condition.low) if math.isfinite(most) else 0.1)
    return rest + sign * beyond


def is_held_closed(asset: ObjectAsset, part: Part) -> bool:
    """Returns whether a mechanism holds a part while all parts are closed."""
    articulation = asset.articulation
    if any(isinstance(each, PushLatch) and each.joint == part.joint for each in articulation.mechanisms.values()):
        return True
    return bool(held_by(articulation, asset.model, part, closed_positions(asset)))


def closed_positions(asset: ObjectAsset) -> dict[str, float]:
    """Returns the positions of all joints while all parts are closed [rad or m]."""
    model = asset.model
    return {joint: rest_of(asset.articulation, model, joint)[0] for joint in movable_joints(model)}


def part_of_joint(articulation: Articulation, joint: str) -> Part | None:
    """Returns the part that a joint moves; None: no part is annotated."""
    return next((part for part in articulation.parts.values() if part.joint == joint), None)


def held_together(articulation: Articulation, model: UrdfModel, part: Part, condition: Condition) -> Part | None:
    """Returns the part that a hand holds to meet a condition and to lead a part in one grasp; None: there is none.

    It is the lever that turns on the part, or the part itself where it turns on what is pressed.
    """
    other = part_of_joint(articulation, condition.by)
    if condition.by in {joint.name for joint in model.joints_above(part.link)}:
        return part
    if other is not None and other.kind.turns_in_hand and model.is_below(other.link, part.link):
        return other
    return None


def held_to_open(asset: ObjectAsset, part: Part, opening: float) -> Part | None:
    """Returns another part that the hand holds to free a part and to lead it; None: it holds the part itself.

    `opening` is that of the part, from closed [rad or m]; the other parts are closed.
    """
    articulation, model = asset.articulation, asset.model
    if not articulation.mechanisms:
        return None
    positions = {**closed_positions(asset), part.joint: part.openness.position(opening)}
    unmet = held_by(articulation, model, part, positions)
    held = (held_together(articulation, model, part, condition) for condition in unmet)
    return next((each for each in held if each is not None and each is not part), None)


def joint_path(
    articulation: Articulation, model: UrdfModel, part: Part, held: Part, positions: Positions
) -> JointPath | None:
    """Returns how joints move while a hand that holds one part leads a part; None: only that of the part moves.

    Joints that hold the part move first, and then stay as they are. Joints that follow it move with it.

    Args:
        articulation: The annotation.
        model: The URDF.
        part: The part that is led.
        held: The part that the hand holds.
        positions: Present positions of all joints.
    """
    s, joint, sign = positions[part.joint], model.joints[part.joint], part.openness.sign
    led = {each.name for each in model.joints_above(held.link)}
    first = {
        each.by: place_beyond(articulation, model, each)
        for each in held_by(articulation, model, part, positions)
        if each.by in led
    }
    followers = dict(_followers(articulation, part.joint))
    if not first and not followers and held is part:
        return None
    limits = (joint.lower, joint.upper) if joint.lower < joint.upper else (s - math.tau, s + math.tau)
    far, near = (max(limits), min(limits)) if sign > 0.0 else (min(limits), max(limits))
    if not first:
        way = (near, far)
        moved = {**{name: (positions[name],) * 2 for name in led if name in positions}, part.joint: way}
    else:
        length = max(
            abs(to - positions[name]) / _usual_speed(model, name) * _usual_speed(model, part.joint)
            for name, to in first.items()
        )
        way = (s - sign * length, s, far)
        moved = {name: (positions[name], to, to) for name, to in first.items()}
        moved[part.joint] = (s, s, far)
    for name, (ratio, offset) in followers.items():
        moved[name] = tuple(ratio * each + offset for each in moved[part.joint])
    return JointPath(way, moved, way[0] if first else s)


def _usual_speed(model: UrdfModel, joint: str) -> float:
    return SLIDER_SPEED_M_S if model.joints[joint].kind == "prismatic" else HINGE_SPEED_RAD_S


def _followers(articulation: Articulation, joint: str) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yields the joints that move with a joint, with ratio and offset of `q_other = ratio * q_joint + offset`."""
    found, waiting = {joint: (1.0, 0.0)}, [joint]
    mimics = [each for each in articulation.mechanisms.values() if isinstance(each, Mimic)]
    while waiting:
        here = waiting.pop()
        ratio, offset = found[here]
        for each in mimics:
            if each.follows == here and each.joint not in found:
                other, mapped = each.joint, (each.ratio * ratio, each.ratio * offset + each.offset)
            elif each.joint == here and each.follows not in found:
                other, mapped = each.follows, (ratio / each.ratio, (offset - each.offset) / each.ratio)
            else:
                continue
            found[other] = mapped
            waiting.append(other)
            yield other, mapped
