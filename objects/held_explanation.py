"""What mechanisms hold now, in words: which conditions do not hold, of a joint and of those that move with it."""

from __future__ import annotations

from collections.abc import Mapping

from unlatch.objects.mechanisms import Condition, Measure, Mechanism, Mimic, PushLatch, closed_position, rest_position
from unlatch.simcore.urdf.model import UrdfModel

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
