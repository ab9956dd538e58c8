"""Where the joints of an object are while nobody touches it: parts are closed, buttons stand out, gears mesh."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from unlatch.objects.annotation import Articulation
from unlatch.objects.mechanisms import Mimic, Spring, rest_position
from unlatch.simcore.urdf.model import UrdfModel, movable_joints


def rest_of(articulation: Articulation, model: UrdfModel, joint: str) -> tuple[float, float]:
    """Returns the rest of a joint, and +1 or -1 where it is moved from there upwards or downwards."""
    return rest_position(joint, articulation.mechanisms, parts=articulation.joint_ranges(), model=model)


def positions_at_rest(articulation: Articulation, model: UrdfModel) -> dict[str, float]:
    """Returns the rest of all joints [rad or m]."""
    return {joint: rest_of(articulation, model, joint)[0] for joint in movable_joints(model)}


def sprung_positions(articulation: Articulation, model: UrdfModel) -> dict[str, float]:
    """Returns the rest of the joints that springs move [rad or m]."""
    sprung = [each.joint for each in articulation.mechanisms.values() if isinstance(each, Spring)]
    return {joint: rest_of(articulation, model, joint)[0] for joint in sprung}


def with_followers(articulation: Articulation, positions: Mapping[str, float]) -> dict[str, float]:
    """Returns joint positions in which joints that follow annotated ones are where these have them [rad or m]."""
    found = dict(positions)
    for part in articulation.parts.values():
        if part.joint in positions:
            for joint, (ratio, offset) in followers(articulation, part.joint):
                found[joint] = ratio * positions[part.joint] + offset
    return found


def followers(articulation: Articulation, joint: str) -> Iterator[tuple[str, tuple[float, float]]]:
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
