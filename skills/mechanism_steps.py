"""What the mechanisms of an object ask of a robot: which parts it must move first, and which joints one grasp leads.

A lever on a door is turned and kept turned by the hand that then leads the door; a button beside it is pressed before.
Which of both follows from the conditions of the mechanisms and from the chain of links alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from unlatch.objects.annotation import Articulation, Part
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.mechanisms import Condition, Measure, Mimic, PushLatch, Release, Spring, rest_position
from unlatch.simcore.urdf.model import UrdfModel
from unlatch.solver.joint_path import JointPath
from unlatch.solver.timing import HINGE_SPEED_RAD_S, SLIDER_SPEED_M_S

_BEYOND_SHARE = 0.5
"""How far a joint is led beyond the least position that a condition asks for, as a share of what is left of its range:
the hand slips and lags."""
_PRESSED_SHARE = 0.9
"""A part counts as pressed at this share of the way that its latch asks for."""
_PRESS_PAST_M = 0.008
"""How far beyond its stop what is pressed is led: its spring pushes the hand back, which is soft."""
_OUT_OF_PLAY = 2.0
"""A part has left its latch at this multiple of its play."""

_RETURN_SHARES = (0.12, 0.3)
"""Between which shares of the way that is left to a part a sprung lever is led back."""

Positions = Mapping[str, float]
"""Joint positions by joint [rad or m]."""


@dataclass(frozen=True)
class Step:
    """What a robot does with a part before it can move another one."""

    skill: str
    """`close` for what is pressed or closed, else `rotate` or `open`."""
    part: str
    opening: float | None = None
    """Opening to which it leads the part, from closed [rad or m]; None: that of the skill."""


@dataclass(frozen=True)
class PressToPop:
    """A press that lets a part pop out."""

    at: Part
    """The part that is pressed: itself, or a button."""
    depth: float
    """How far beyond closed it is pressed [rad or m]; 0: a button is pressed to its stop."""
    pops_to: float
    """Opening to which the part pops out [rad or m]."""


def conditions_of(articulation: Articulation, joint: str) -> list[Condition]:
    """Returns the conditions under which a joint is free to move."""
    found = (each for mechanism in articulation.mechanisms.values() for each in mechanism.conditions())
    return [each for each in found if each.joint == joint]


def rest_of(articulation: Articulation, model: UrdfModel, joint: str) -> tuple[float, float]:
    """Returns the rest of a joint, and +1 or -1 where it is moved from there upwards or downwards."""
    return rest_position(joint, articulation.mechanisms, parts=articulation.joint_ranges(), model=model)


def held_by(articulation: Articulation, model: UrdfModel, part: Part, positions: Positions) -> list[Condition]:
    """Returns the conditions that do not hold now and that keep the part from opening.

    A latch holds only a part that is in its play.
    """
    unmet = []
    for condition in conditions_of(articulation, part.joint):
        is_in = abs(positions[part.joint] - part.openness.closed) <= _OUT_OF_PLAY * play_of(articulation, part.joint)
        if (condition.while_moving or is_in) and not condition.holds(
            positions[condition.by], *rest_of(articulation, model, condition.by)
        ):
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
    if condition.measure is Measure.position:
        return 0.5 * (condition.low + condition.high)
    rest, sign = rest_of(articulation, model, condition.by)
    joint = model.joints[condition.by]
    most = math.inf if joint.kind == "continuous" else abs((joint.upper if sign > 0.0 else joint.lower) - rest)
    most = min(most, condition.high)
    springs = (each for each in articulation.mechanisms.values() if isinstance(each, Spring))
    if joint.kind == "prismatic" and any(spring.joint == joint.name for spring in springs):
        return rest + sign * (most + _PRESS_PAST_M)
    beyond = condition.low + (_BEYOND_SHARE * (most - condition.low) if math.isfinite(most) else 0.1)
    return rest + sign * beyond


def is_held_closed(asset: ObjectAsset, part: Part) -> bool:
    """Returns whether a mechanism holds a part while all parts are closed."""
    articulation = asset.articulation
    if any(isinstance(each, PushLatch) and each.joint == part.joint for each in articulation.mechanisms.values()):
        return True
    return bool(held_by(articulation, asset.model, part, asset.rest_positions))


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
    positions = {**asset.rest_positions, part.joint: part.openness.position(opening)}
    unmet = held_by(articulation, model, part, positions)
    held = (held_together(articulation, model, part, condition) for condition in unmet)
    return next((each for each in held if each is not None and each is not part), None)


def pressed_positions(asset: ObjectAsset, part: Part) -> dict[str, float]:
    """Returns where a hand that holds a part leads the joints below it that must be pressed for it to move [rad or m].

    It is empty for most parts: the cap of a childproof bottle is pressed down.
    """
    articulation, model = asset.articulation, asset.model
    above = {joint.name for joint in model.joints_above(part.link)}
    conditions = conditions_of(articulation, part.joint)
    return {each.by: place_beyond(articulation, model, each) for each in conditions if each.by in above}


def press_load(asset: ObjectAsset, part: Part) -> float:
    """Returns the force of the springs that a hand presses down while it turns a part [N]; 0 for most parts."""
    model, load = asset.model, 0.0
    if not asset.articulation.mechanisms:
        return load
    pressed = pressed_positions(asset, part)
    for each in asset.articulation.mechanisms.values():
        if isinstance(each, Spring) and each.joint in pressed:
            joint = model.joints[each.joint]
            stop = min(max(pressed[each.joint], joint.lower), joint.upper)
            load += each.stiffness * abs(stop - each.rest)
    return load


def joint_path(
    articulation: Articulation,
    model: UrdfModel,
    part: Part,
    held: Part,
    positions: Positions,
    *,
    free: bool = False,
) -> JointPath | None:
    """Returns how joints move while a hand that holds one part leads a part; None: only that of the part moves.

    Joints that hold the part move first, and then stay as they are. Joints that follow it move with it.

    Args:
        articulation: The annotation.
        model: The URDF.
        part: The part that is led.
        held: The part that the hand holds.
        positions: Present positions of all joints.
        free: Whether nothing is to be moved first.
    """
    s, joint, sign = positions[part.joint], model.joints[part.joint], part.openness.sign
    led = {each.name for each in model.joints_above(held.link)}
    first = {
        each.by: place_beyond(articulation, model, each)
        for each in held_by(articulation, model, part, positions)
        if each.by in led and not free
    }
    following = dict(_followers(articulation, part.joint))
    if not first and not following and held is part:
        return None
    limits = (joint.lower, joint.upper) if joint.lower < joint.upper else (s - math.tau, s + math.tau)
    far, near = (max(limits), min(limits)) if sign > 0.0 else (min(limits), max(limits))
    if first:
        way, moved = _way_with_release(articulation, model, part, positions, first, far)
    else:
        way, moved = (near, far), {name: (positions[name],) * 2 for name in led if name in positions}
        moved[part.joint] = way
    for name, (ratio, offset) in following.items():
        moved[name] = tuple(ratio * each + offset for each in moved[part.joint])
    return JointPath(way, moved, way[0] if first else s)


_Corners = tuple[float, ...]


def _way_with_release(
    articulation: Articulation,
    model: UrdfModel,
    part: Part,
    positions: Positions,
    first: Positions,
    far: float,
) -> tuple[_Corners, dict[str, _Corners]]:
    """Returns the corners of a way on which joints move to `first` before the part moves, and the positions there.

    A sprung lever is led back while the part moves on: let go, it would snap back. `far` is the end of the part's
    range. Positions are in rad or m.
    """
    s, sign, speed = positions[part.joint], part.openness.sign, _usual_speed(model, part.joint)
    length = max(abs(to - positions[name]) / _usual_speed(model, name) * speed for name, to in first.items())
    returns = tuple(s + sign * share * abs(far - s) for share in _RETURN_SHARES)
    way = (s - sign * length, s, *returns, far)
    kept = {each.by for each in conditions_of(articulation, part.joint) if each.while_moving}
    springs = (each for each in articulation.mechanisms.values() if isinstance(each, Spring))
    returning = {spring.joint for spring in springs} - kept
    moved: dict[str, _Corners] = {part.joint: (s, *way[1:])}
    for name, to in first.items():
        start = positions[name]
        moved[name] = (start, to, to, start, start) if name in returning else (start, to, to, to, to)
    return way, moved


def _usual_speed(model: UrdfModel, joint: str) -> float:
    return SLIDER_SPEED_M_S if model.joints[joint].kind == "prismatic" else HINGE_SPEED_RAD_S


def steps_before(asset: ObjectAsset, part: Part, positions: dict[str, float]) -> list[Step]:
    """Returns what a robot does before it can open or turn a part, in order; empty if nothing holds the part.

    What one hand does in the same grasp, such as turning the lever of a door, is no step of its own.

    Args:
        asset: The object.
        part: The part.
        positions: Positions of all joints before; they are changed to those after the steps.
    """
    return _steps_before(asset, part, positions, frozenset())


def _steps_before(asset: ObjectAsset, part: Part, positions: dict[str, float], above: frozenset[str]) -> list[Step]:
    articulation, model = asset.articulation, asset.model
    if part.name in above:
        return []
    above |= {part.name}
    steps: list[Step] = []
    pops_to: float | None = None
    for mechanism in articulation.mechanisms.values():
        if isinstance(mechanism, PushLatch) and mechanism.joint == part.joint and _is_in(asset, part, positions):
            steps, pops_to = [Step("close", part.name)], mechanism.pops_to
        if isinstance(mechanism, Release) and mechanism.joint == part.joint and _is_in(asset, part, positions):
            button, pops_to = part_of_joint(articulation, mechanism.by), mechanism.pops_to
            steps += _steps_before(asset, button, positions, above) if button is not None else []
            steps.append(Step("close", part.name))
    for condition in held_by(articulation, model, part, positions) if pops_to is None else ():
        other = part_of_joint(articulation, condition.by)
        if other is None:
            continue
        steps += _steps_before(asset, other, positions, above)
        if held_together(articulation, model, part, condition) is None:
            steps.append(_step_for(asset, other, condition))
            to = other.openness.closed if steps[-1].skill == "close" else place_beyond(articulation, model, condition)
            positions[condition.by] = rest_of(articulation, model, condition.by)[0] if is_sprung(asset, other) else to
    if pops_to is not None:
        positions[part.joint] = part.openness.position(pops_to)
    return steps


def _is_in(asset: ObjectAsset, part: Part, positions: Positions) -> bool:
    """Returns whether a part is closed, up to the play of what holds it."""
    opening = abs(positions[part.joint] - part.openness.closed)
    return opening <= _OUT_OF_PLAY * play_of(asset.articulation, part.joint)


def _step_for(asset: ObjectAsset, other: Part, condition: Condition) -> Step:
    """Returns the step that makes a condition hold by moving another part."""
    closes = condition.measure is Measure.opening and math.isinf(condition.low)
    if closes or other.is_button:
        return Step("close", other.name)
    place = place_beyond(asset.articulation, asset.model, condition)
    skill = "rotate" if other.kind.turns_in_hand else "open"
    return Step(skill, other.name, abs(place - other.openness.closed))


def is_sprung(asset: ObjectAsset, part: Part) -> bool:
    """Returns whether a spring returns a part that is let go."""
    return any(isinstance(each, Spring) and each.joint == part.joint for each in asset.articulation.mechanisms.values())


def positions_let_go(asset: ObjectAsset, positions: Positions) -> dict[str, float]:
    """Returns where joints come to rest after a hand that has led them to positions lets go [rad or m].

    Springs return their joints, what was released or pressed pops out, and gears move with what they follow.
    """
    articulation, model, found = asset.articulation, asset.model, dict(positions)
    for mechanism in articulation.mechanisms.values():
        part = part_of_joint(articulation, getattr(mechanism, "joint", None) or "")
        if part is None:
            continue
        opening = part.openness.sign * (positions[part.joint] - part.openness.closed)
        if isinstance(mechanism, PushLatch) and opening <= -_PRESSED_SHARE * mechanism.press:
            found[part.joint] = part.openness.position(mechanism.pops_to)
        if isinstance(mechanism, Release) and _is_in(asset, part, positions):
            rest, _ = rest_of(articulation, model, mechanism.by)
            if abs(positions[mechanism.by] - rest) >= mechanism.at:
                found[part.joint] = part.openness.position(mechanism.pops_to)
    for part in articulation.parts.values():
        for joint, (ratio, offset) in _followers(articulation, part.joint):
            if part_of_joint(articulation, joint) is None:
                found[joint] = ratio * found[part.joint] + offset
    springs = (each for each in articulation.mechanisms.values() if isinstance(each, Spring))
    return {**found, **{spring.joint: rest_of(articulation, model, spring.joint)[0] for spring in springs}}


def explain_held(asset: ObjectAsset, part: Part, positions: Positions) -> list[str]:
    """Returns what holds a part now, one line each; none of a part that has left its latch."""
    opening = part.openness.sign * (positions[part.joint] - part.openness.closed)
    is_held = held_by(asset.articulation, asset.model, part, positions) or press_of(asset, part, opening)
    return asset.explain_held(part.name, positions) if is_held else []


def press_of(asset: ObjectAsset, part: Part, opening: float) -> PressToPop | None:
    """Returns how a part that is open by `opening` [rad or m] is pressed so that it pops out; None: it is not.

    A push latch is pressed by the part itself, another one by its button.
    """
    if abs(opening) > _OUT_OF_PLAY * play_of(asset.articulation, part.joint):
        return None
    for mechanism in asset.articulation.mechanisms.values():
        if isinstance(mechanism, PushLatch) and mechanism.joint == part.joint:
            return PressToPop(part, mechanism.press, mechanism.pops_to)
        if isinstance(mechanism, Release) and mechanism.joint == part.joint:
            button = part_of_joint(asset.articulation, mechanism.by)
            if button is not None and button.is_button:
                return PressToPop(button, 0.0, mechanism.pops_to)
    return None


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
