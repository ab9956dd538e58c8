"""What the mechanisms of an object ask of a robot: which parts it must move first, and which joints one grasp leads.

A lever on a door is turned and kept turned by the hand that then leads the door; a button beside it is pressed before.
Which of both follows from the conditions of the mechanisms and from the chain of links alone.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from unlatch.objects.annotation import Articulation, Part
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.mechanism_problems import coupled_joints
from unlatch.objects.mechanisms import (
    Condition,
    Detent,
    Measure,
    Mimic,
    PushLatch,
    Release,
    Spring,
    closed_position,
    rest_position,
    spring_at,
)
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
    is_kept: bool = False
    """Whether another hand must keep the part there: let go, a spring would return it before the other part moves."""


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
    """Returns the conditions under which a joint, and those that move with it, are free to move."""
    found = (each for mechanism in articulation.mechanisms.values() for each in mechanism.conditions())
    coupled = coupled_joints(joint, articulation.mechanisms)
    return [each for each in found if each.joint in coupled]


def rest_of(articulation: Articulation, model: UrdfModel, joint: str) -> tuple[float, float]:
    """Returns the rest of a joint [rad or m], and +1 or -1 where it is moved from there upwards or downwards."""
    return rest_position(joint, articulation.mechanisms, parts=articulation.joint_ranges(), model=model)


def held_by(articulation: Articulation, model: UrdfModel, part: Part, positions: Positions) -> list[Condition]:
    """Returns the conditions that do not hold now and that keep the part from opening.

    A latch holds only a part that is in its play.
    """
    return [
        condition
        for condition in conditions_of(articulation, part.joint)
        if (condition.while_moving or _is_in(articulation, model, condition.joint, positions[condition.joint]))
        and not condition.holds(positions[condition.by], *rest_of(articulation, model, condition.by))
    ]


def _is_in(articulation: Articulation, model: UrdfModel, joint: str, position: float) -> bool:
    """Returns whether a joint at a position [rad or m] is closed, up to the largest play of what holds it."""
    closed, _ = closed_position(joint, parts=articulation.joint_ranges(), model=model)
    holding = (each for each in articulation.mechanisms.values() if joint in each.held_joints)
    play = max((float(getattr(each, "play", 0.0)) for each in holding), default=0.0)
    return abs(position - closed) <= _OUT_OF_PLAY * play


def place_beyond(articulation: Articulation, model: UrdfModel, condition: Condition) -> float:
    """Returns the position to which `by` is led, so that a condition holds with some room [rad or m].

    A part is led to the side on which it opens, if that side is long enough.
    """
    joint, part = model.joints[condition.by], part_of_joint(articulation, condition.by)
    if condition.measure is Measure.position:
        low, high = condition.low, condition.high
        if joint.is_limited:
            low, high = max(low, joint.lower), min(high, joint.upper)
        return 0.5 * (low + high)
    rest, side = rest_of(articulation, model, condition.by)

    def room(sign: float) -> float:
        return math.inf if joint.kind == "continuous" else abs((joint.upper if sign > 0.0 else joint.lower) - rest)

    sides = [side if part is None else part.openness.sign, side, -side]
    sign = next((each for each in sides if room(each) >= condition.low), side)
    most = min(room(sign), condition.high)
    if joint.kind == "prismatic" and spring_at(joint.name, articulation.mechanisms) is not None:
        return rest + sign * (most + _PRESS_PAST_M)
    beyond = condition.low + (_BEYOND_SHARE * (most - condition.low) if math.isfinite(most) else 0.1)
    return rest + sign * beyond


def is_held_closed(asset: ObjectAsset, part: Part) -> bool:
    """Returns whether a mechanism holds a part while all parts are closed."""
    held = held_by(asset.articulation, asset.model, part, asset.rest_positions)
    return bool(held) or press_of(asset, part, 0.0) is not None


def part_of_joint(articulation: Articulation, joint: str) -> Part | None:
    """Returns the part that a joint moves; None: no part is annotated."""
    return next((part for part in articulation.parts.values() if part.joint == joint), None)


def held_together(articulation: Articulation, model: UrdfModel, part: Part, condition: Condition) -> Part | None:
    """Returns the part that a hand holds to meet a condition and to lead a part in one grasp; None: there is none.

    It is the lever that turns on the part, or the part itself where it turns on what is pressed. The same holds for
    parts that move with it.
    """
    other = part_of_joint(articulation, condition.by)
    coupled = (part_of_joint(articulation, joint) for joint in coupled_joints(part.joint, articulation.mechanisms))
    for each in coupled:
        if each is None:
            continue
        if condition.by in {joint.name for joint in model.joints_above(each.link)}:
            return each
        if other is not None and other.kind.turns_in_hand and model.is_below(other.link, each.link):
            return other
    return None


def held_to_open(asset: ObjectAsset, part: Part, opening: float) -> Part | None:
    """Returns another part that the hand holds to free a part and to lead it; None: it holds the part itself.

    `opening` is that of the part, from closed [rad or m]; the other parts are closed.
    """
    articulation, model = asset.articulation, asset.model
    if not articulation.mechanisms:
        return None
    opened = {**asset.rest_positions, part.joint: part.openness.position(opening)}
    positions = asset.with_followers(opened, led=[part.joint])
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
    load = 0.0
    for name, place in pressed_positions(asset, part).items():
        if (spring := spring_at(name, asset.articulation.mechanisms)) is not None:
            joint = asset.model.joints[name]
            load += spring.stiffness * abs(min(max(place, joint.lower), joint.upper) - spring.rest)
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

    Joints that hold the part move first, unless it is `free`, and then stay as they are. Joints that follow it move
    with it. `positions` are the present ones of all joints.
    """
    s, joint, sign = positions[part.joint], model.joints[part.joint], part.openness.sign
    led = {each.name for each in model.joints_above(held.link)}
    first = {
        each.by: place_beyond(articulation, model, each)
        for each in held_by(articulation, model, part, positions)
        if each.by in led and not free
    }
    following = coupled_joints(part.joint, articulation.mechanisms)
    del following[part.joint]
    if not first and not following and held is part:
        return None
    limits = (joint.lower, joint.upper) if joint.lower < joint.upper else (s - math.tau, s + math.tau)
    far, near = (max(limits), min(limits)) if sign > 0.0 else (min(limits), max(limits))
    way: tuple[float, ...] = (near, far)
    moved: dict[str, tuple[float, ...]]
    if first:
        speed = _usual_speed(model, part.joint)
        length = max(abs(to - positions[name]) / _usual_speed(model, name) * speed for name, to in first.items())
        way = (s - sign * length, s, *(s + sign * share * abs(far - s) for share in _RETURN_SHARES), far)
        moved = {part.joint: (s, *way[1:])}
        # a sprung lever is led back while the part moves on: let go, it would snap back
        kept = {each.by for each in conditions_of(articulation, part.joint) if each.while_moving}
        for name, to in first.items():
            is_led_back = name not in kept and _has_spring(articulation, name)
            moved[name] = (positions[name], to, to, *((positions[name] if is_led_back else to,) * 2))
    else:
        moved = {name: (positions[name],) * 2 for name in led if name in positions}
        moved[part.joint] = way
    for name, (ratio, offset) in following.items():
        moved[name] = tuple(ratio * each + offset for each in moved[part.joint])
    told = {name: (part_of_joint(articulation, name), model.joints[name].unit) for name in (*first, part.joint)}
    names = {name: (name if each is None else each.name, unit) for name, (each, unit) in told.items()}
    return JointPath(way, moved, way[0] if first else s, names)


def _usual_speed(model: UrdfModel, joint: str) -> float:
    return SLIDER_SPEED_M_S if model.joints[joint].kind == "prismatic" else HINGE_SPEED_RAD_S


def steps_before(
    asset: ObjectAsset, part: Part, positions: dict[str, float], above: frozenset[str] = frozenset()
) -> list[Step]:
    """Returns what a robot does before it can open or turn a part, in order; empty if nothing holds the part.

    What one hand does in the same grasp, such as turning the lever of a door, is no step of its own. `positions` of all
    joints are changed to those after the steps. `above` are the parts whose steps these are; each is moved once.
    """
    articulation, model = asset.articulation, asset.model
    if part.name in above:
        return []
    above |= {part.name}
    steps: list[Step] = []
    press = _press_now(asset, part, positions)
    for condition in held_by(articulation, model, part, positions):
        other = part_of_joint(articulation, condition.by)
        if other is None:
            continue
        steps += steps_before(asset, other, positions, above)
        popped = condition.holds(positions[condition.by], *rest_of(articulation, model, condition.by))
        if popped or (press is not None and press.at is other):
            continue  # no hand leads what popped out far enough; a button is pressed last
        step = None if held_together(articulation, model, part, condition) else _step_for(asset, other, condition)
        if step is not None:
            place = place_beyond(articulation, model, condition)
            _lead(asset, other.joint, other.openness.closed if step.skill == "close" else place, positions)
            freed = condition.holds(positions[condition.by], *rest_of(articulation, model, condition.by))
            steps.append(replace(step, is_kept=other.is_button and not freed))
    if press is not None:
        steps.append(Step("close", part.name))
        move_by_skill(asset, part, "close", positions)
    return steps


def _press_now(asset: ObjectAsset, part: Part, positions: Positions) -> PressToPop | None:
    return press_of(asset, part, part.openness.sign * (positions[part.joint] - part.openness.closed))


def _lead(asset: ObjectAsset, joint: str, to: float, positions: dict[str, float]) -> None:
    """Changes positions to those after a hand has led a joint to a position and let go [rad or m]."""
    positions.update(positions_let_go(asset, {**positions, joint: to}, led=[joint]))


def move_by_skill(
    asset: ObjectAsset, part: Part, skill: str, positions: dict[str, float], *, opening: float | None = None
) -> PressToPop | None:
    """Changes positions to those after a skill, and returns what it presses so that the part pops out, if it does so.

    Args:
        asset: The object.
        part: The part on which the skill acts.
        skill: `open`, `close` or `rotate`.
        positions: Positions of all joints [rad or m].
        opening: Opening to which it leads the part [rad or m]; None: half of its range.
    """
    openness = part.openness
    if skill != "close":
        _lead(asset, part.joint, openness.position(0.5 * openness.span if opening is None else opening), positions)
        return None
    press = _press_now(asset, part, positions)
    if press is None:
        _lead(asset, part.joint, openness.closed, positions)
    else:
        _lead(asset, press.at.joint, press.at.openness.position(-press.depth), positions)
    return press


def _step_for(asset: ObjectAsset, other: Part, condition: Condition) -> Step | None:
    """Returns the step that makes a condition hold by moving another part; None: it does not open to that side."""
    closes = condition.measure is Measure.opening and math.isinf(condition.low)
    if closes or other.is_button:
        return Step("close", other.name)
    opening = other.openness.sign * (place_beyond(asset.articulation, asset.model, condition) - other.openness.closed)
    return Step("rotate" if other.kind.turns_in_hand else "open", other.name, opening) if opening > 0.0 else None


def click_openings(articulation: Articulation, part: Part) -> list[float]:
    """Returns the openings at which the detents of a part hold it, from closed [rad or m]; most parts have none."""
    return [
        part.openness.sign * (position - part.openness.closed)
        for mechanism in articulation.mechanisms.values()
        if isinstance(mechanism, Detent) and mechanism.joint == part.joint
        for position in mechanism.positions
    ]


def opens_another(articulation: Articulation, part: Part) -> bool:
    """Returns whether a part opens another one by a gear while it closes, as the pedal of a bin its lid."""
    for joint, (ratio, _) in coupled_joints(part.joint, articulation.mechanisms).items():
        other = part_of_joint(articulation, joint)
        if other is not None and ratio * part.openness.sign * other.openness.sign < 0.0:
            return True
    return False


def opened_by(articulation: Articulation, part: Part) -> Part | None:
    """Returns the part that a part follows and that opens it by closing, as the pedal of a bin its lid; None: none."""
    for mechanism in articulation.mechanisms.values():
        if isinstance(mechanism, Mimic) and mechanism.joint == part.joint:
            other = part_of_joint(articulation, mechanism.follows)
            if other is not None and mechanism.ratio * part.openness.sign * other.openness.sign < 0.0:
                return other
    return None


def is_sprung(asset: ObjectAsset, part: Part) -> bool:
    """Returns whether a spring returns a part that is let go."""
    return _has_spring(asset.articulation, part.joint)


def _has_spring(articulation: Articulation, joint: str) -> bool:
    return any(isinstance(each, Spring) and each.joint == joint for each in articulation.mechanisms.values())


def positions_let_go(asset: ObjectAsset, positions: Positions, *, led: Collection[str] = ()) -> dict[str, float]:
    """Returns where joints come to rest after a hand that has led some of them to positions lets go [rad or m].

    Springs return their joints, what was released or pressed pops out, and gears move with what they follow.
    """
    articulation, model = asset.articulation, asset.model
    found, popped = asset.with_followers(dict(positions), led=led), []
    for mechanism in articulation.mechanisms.values():
        if not isinstance(mechanism, PushLatch | Release):
            continue
        joint = mechanism.joint
        closed, sign = closed_position(joint, parts=articulation.joint_ranges(), model=model)
        if isinstance(mechanism, PushLatch):
            pops = sign * (found[joint] - closed) <= -_PRESSED_SHARE * mechanism.press
        else:
            rest, _ = rest_of(articulation, model, mechanism.by)
            pops = abs(found[mechanism.by] - rest) >= mechanism.at and _is_in(articulation, model, joint, found[joint])
        if pops:
            popped.append(joint)
            found[joint] = closed + sign * mechanism.pops_to
    found = asset.with_followers(found, led=popped)
    springs = (each.joint for each in articulation.mechanisms.values() if isinstance(each, Spring))
    return {**found, **{joint: rest_of(articulation, model, joint)[0] for joint in springs}}


def explain_held(asset: ObjectAsset, part: Part, positions: Positions) -> list[str]:
    """Returns what holds a part now, one line each; none of a part that has left its latch."""
    opening = part.openness.sign * (positions[part.joint] - part.openness.closed)
    is_held = held_by(asset.articulation, asset.model, part, positions) or press_of(asset, part, opening)
    return asset.explain_held(part.name, positions) if is_held else []


def press_of(asset: ObjectAsset, part: Part, opening: float) -> PressToPop | None:
    """Returns how a part that is open by `opening` [rad or m] is pressed so that it pops out; None: it is not.

    A push latch is pressed by the part itself, another one by its button.
    """
    articulation = asset.articulation
    for joint, (ratio, offset) in coupled_joints(part.joint, articulation.mechanisms).items():
        if not _is_in(articulation, asset.model, joint, ratio * part.openness.position(opening) + offset):
            continue
        for mechanism in articulation.mechanisms.values():
            if isinstance(mechanism, PushLatch) and mechanism.joint == joint:
                return PressToPop(part, mechanism.press / abs(ratio), mechanism.pops_to / abs(ratio))
            if isinstance(mechanism, Release) and mechanism.joint == joint:
                button = part_of_joint(articulation, mechanism.by)
                if button is not None and button.is_button:
                    return PressToPop(button, 0.0, mechanism.pops_to / abs(ratio))
    return None
