"""Mechanisms of an object in words: what is wrong between them and the joints of its URDF, and what they hold now."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from unlatch.objects.mechanisms import (
    GEAR_SLACK,
    PLAY,
    SLACK,
    Condition,
    Detent,
    Interlock,
    Latch,
    Measure,
    Mechanism,
    Mimic,
    PressAndTurn,
    PushLatch,
    Release,
    SoftClose,
    closed_position,
    rest_position,
    rest_positions,
    room_at,
)
from unlatch.simcore.errors import close_matches
from unlatch.simcore.urdf.model import UrdfModel


def mechanism_problems(
    mechanisms: Mapping[str, Mechanism], *, parts: Mapping[str, tuple[float, float]], model: UrdfModel
) -> list[str]:
    """Returns what is wrong between mechanisms and the joints of a URDF, one line each.

    `parts` are closed and open position of annotated joints, by joint [rad or m].
    """
    problems, followers = [], dict[str, str]()
    for name, mechanism in mechanisms.items():
        where = f"mechanism '{name}' ({mechanism.kind})"
        missing = [joint for joint in mechanism.joints_named if joint not in model.joints]
        if missing:
            joints = ", ".join(joint.name for joint in model.joints.values() if joint.moves)
            near = close_matches(missing[0], model.joints)
            problems.append(f"{where}: joint '{missing[0]}' is not in the URDF.{near} Joints: {joints}.")
            continue
        fixed = [joint for joint in mechanism.joints_named if not model.joints[joint].moves]
        if fixed:
            problems.append(f"{where}: joint '{fixed[0]}' is {model.joints[fixed[0]].kind} and cannot move.")
            continue
        if isinstance(mechanism, Mimic):
            leader = mechanism.follows
            while leader in followers:
                leader = followers[leader]
            if mechanism.joint in followers or leader == mechanism.joint:
                problems.append(f"{where}: joint '{mechanism.joint}' follows two joints, or itself. Remove one mimic.")
                continue
            followers[mechanism.joint] = mechanism.follows
        problems += [f"{where}: {problem}" for problem in _reach_problems(mechanism, parts, model)]
    return problems or _lock_problems(mechanisms, parts, model)


def _lock_problems(
    mechanisms: Mapping[str, Mechanism], parts: Mapping[str, tuple[float, float]], model: UrdfModel
) -> list[str]:
    """Returns what holds a joint for ever: joints that wait for each other, and two ranges that never hold at once."""
    parts = {joint: ends for joint, ends in parts.items() if joint in model.joints}  # others are problems
    rest = rest_positions(mechanisms, parts=parts, model=model)
    play = dict.fromkeys(rest, math.inf)
    for each in mechanisms.values():
        for joint in each.held_joints:
            play[joint] = min(play[joint], float(getattr(each, "play", PLAY)))
    waits: dict[str, set[str]] = {}
    ranges: dict[tuple[str, str], tuple[float, float]] = {}
    for name, condition in ((name, condition) for name, each in mechanisms.items() for condition in each.conditions()):
        joint, by = condition.joint, condition.by
        if condition.measure is Measure.position:
            first = ranges.setdefault((joint, by), (condition.low, condition.high))
            low, high = max(first[0], condition.low), min(first[1], condition.high)
            if low > high:
                return [
                    f"mechanism '{name}': joint '{joint}' moves only while '{by}' is from {condition.low:g} to "
                    f"{condition.high:g} {model.joints[by].unit}, and another one asks for {first[0]:g} to "
                    f"{first[1]:g}: never both. Correct one range."
                ]
            ranges[joint, by] = low, high
        closed, sign = rest_position(by, mechanisms, parts=parts, model=model)
        near = (rest[by] + side * play[by] for side in (-1.0, 0.0, 1.0) if math.isfinite(play[by]))
        if math.isfinite(play[by]) and not any(condition.holds(position, closed, sign) for position in near):
            waits.setdefault(joint, set()).add(by)
        if joint in _reached(waits, joint):
            return [
                f"mechanism '{name}': joint '{joint}' waits for '{by}', which waits for '{joint}': neither ever moves. "
                "Remove one mechanism."
            ]
    return []


def _reached(waits: Mapping[str, Collection[str]], joint: str) -> set[str]:
    """Returns the joints for which a joint waits, and those for which they wait."""
    found: set[str] = set()
    left = [*waits.get(joint, ())]
    while left:
        if (here := left.pop()) not in found:
            found.add(here)
            left += waits.get(here, ())
    return found


def _reach_problems(mechanism: Mechanism, parts: Mapping[str, tuple[float, float]], model: UrdfModel) -> list[str]:
    """Returns the values of a mechanism that its joints cannot reach."""
    problems = _gear_problems(mechanism, parts, model) if isinstance(mechanism, Mimic) else []

    def room(joint: str) -> tuple[float, float]:
        return room_at(joint, parts=parts, model=model)

    def check(key: str, joint: str, most: float, what: str) -> None:
        value = getattr(mechanism, key)
        if value > most + SLACK:
            unit = model.joints[joint].unit
            problems.append(
                f"{key} is {value:g} {unit}, but joint '{joint}' moves by {most:g} {unit} {what}. Lower it, or widen "
                "the limits of the joint."
            )

    if isinstance(mechanism, Latch):
        check("free_at", mechanism.by, max(room(mechanism.by)), "from its rest")
    if isinstance(mechanism, Release | PressAndTurn):
        check("at", mechanism.by, max(room(mechanism.by)), "from its rest")
    if isinstance(mechanism, PushLatch):
        check("press", mechanism.joint, room(mechanism.joint)[0], "beyond closed")
    if isinstance(mechanism, PushLatch | Release):
        check("pops_to", mechanism.joint, room(mechanism.joint)[1], "open")
    if isinstance(mechanism, SoftClose):
        check("reach", mechanism.joint, room(mechanism.joint)[1], "open")
    stated = {Detent: ("positions", "joint"), Interlock: ("range", "by")}.get(type(mechanism))
    joint = model.joints.get(str(getattr(mechanism, stated[1]))) if stated else None
    if stated and joint is not None and joint.kind != "continuous":
        values = getattr(mechanism, stated[0])
        inside = [joint.lower - SLACK <= value <= joint.upper + SLACK for value in values]
        if not (any(inside) if isinstance(mechanism, Interlock) else all(inside)):
            problems.append(
                f"{stated[0]} is {list(values)}, outside the limits {joint.lower:g} to {joint.upper:g} of joint "
                f"'{joint.name}'."
            )
    return problems


def _gear_problems(mimic: Mimic, parts: Mapping[str, tuple[float, float]], model: UrdfModel) -> list[str]:
    """Returns whether a joint is led beyond its limits by one that it follows, over the range of that part or joint."""
    leader, joint = model.joints[mimic.follows], model.joints[mimic.joint]
    first, last = parts.get(mimic.follows, (leader.lower, leader.upper))
    low, high = sorted(mimic.ratio * place + mimic.offset for place in (first, last))
    fits = low >= joint.lower - GEAR_SLACK and high <= joint.upper + GEAR_SLACK
    if fits or not joint.is_limited or not (leader.is_limited or mimic.follows in parts):
        return []
    return [
        f"while '{mimic.follows}' moves from {first:g} to {last:g} {leader.unit}, ratio {mimic.ratio:g} and offset "
        f"{mimic.offset:g} lead joint '{mimic.joint}' from {low:g} to {high:g} {joint.unit}. Expected positions within "
        f"its limits {joint.lower:g} to {joint.upper:g}. Correct ratio and offset, or widen the limits."
    ]


_HELD_WORDS = {"latch": "latched", "push_latch": "shut", "release": "shut"}
"""What a joint is that a mechanism holds, by kind; others say `locked`."""


def coupled_joints(joint: str, mechanisms: Mapping[str, Mechanism]) -> dict[str, tuple[float, float]]:
    """Returns ratio and offset [rad or m] of `q_other = ratio * q_joint + offset`, for all that move with a joint."""
    found, waiting = {joint: (1.0, 0.0)}, [joint]
    mimics = [each for each in mechanisms.values() if isinstance(each, Mimic)]
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
    return found


def explain_held(
    joint: str,
    mechanisms: Mapping[str, Mechanism],
    positions: Mapping[str, float],
    *,
    parts: Mapping[str, tuple[float, float]],
    names: Mapping[str, str],
    model: UrdfModel,
) -> list[str]:
    """Returns which conditions of mechanisms that may hold a joint do not hold, one line each.

    Such as `door is latched: lever at 0.1 of the 0.6 rad that free it`. Lines about what holds that lever follow. What
    holds a joint that moves with it is named, too.

    Args:
        joint: The joint.
        mechanisms: The mechanisms of its object.
        positions: Positions of joints, by joint [rad or m].
        parts: Closed and open position of annotated joints, by joint [rad or m].
        names: Names of parts by joint, for the message.
        model: The URDF.
    """
    lines: list[str] = []
    waits_for: list[str] = []
    coupled = coupled_joints(joint, mechanisms)
    titles = {each: f"{names.get(joint, joint)} moves with {names.get(each, each)}, which" for each in coupled}
    titles[joint] = names.get(joint, joint)
    for mechanism in mechanisms.values():
        word = _HELD_WORDS.get(mechanism.kind, "locked")
        if isinstance(mechanism, PushLatch) and mechanism.joint in coupled:
            closed, sign = closed_position(mechanism.joint, parts=parts, model=model)
            if sign * (positions[mechanism.joint] - closed) <= mechanism.play:
                how = f"pressed in by {mechanism.press:g} {model.joints[mechanism.joint].unit} and let go, it pops out"
                lines.append(f"{titles[mechanism.joint]} is {word}: {how}")
        for condition in mechanism.conditions():
            if condition.joint not in coupled:
                continue
            rest, sign = rest_position(condition.by, mechanisms, parts=parts, model=model)
            if not condition.holds(positions[condition.by], rest, sign):
                value = round(condition.value(positions[condition.by], rest, sign), 6)
                by = names.get(condition.by, condition.by)
                unmet = _describe_unmet(condition, value, by, model.joints[condition.by].unit)
                lines.append(f"{titles[condition.joint]} is {word}: {unmet}")
                waits_for.append(condition.by)
    others = {name: each for name, each in mechanisms.items() if not coupled.keys() & set(each.held_joints)}
    for by in dict.fromkeys(waits_for):
        lines += explain_held(by, others, positions, parts=parts, names=names, model=model)
    return lines


def _describe_unmet(condition: Condition, value: float, by: str, unit: str) -> str:
    if condition.measure is Measure.opening:
        return f"{by} is open by {value:.3g} {unit}, and one is open at a time"
    if condition.measure is Measure.position:
        return f"{by} at {value:.3g} {unit}, which frees it from {condition.low:g} to {condition.high:g} {unit}"
    kept = " and stays there" if condition.while_moving else ""
    return f"{by} at {value:.2g} of the {condition.low:g} {unit} that free it{kept}"
