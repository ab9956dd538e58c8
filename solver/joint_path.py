"""The way of a hand that leads several joints of an object in one grasp: first a lever, then the door that it frees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.solver.plan import KeyframePlan
from unlatch.solver.scene import Array, JointGeometry, PathProgress


@dataclass(frozen=True)
class JointPath:
    """Positions of joints along a way, straight between its corners; they stay as they are beyond its ends."""

    way: tuple[float, ...]
    """(K,) places of the corners along the way, ascending or descending [rad or m]."""
    positions: Mapping[str, tuple[float, ...]]
    """(K,) positions at the corners by joint [rad or m]."""
    start: float
    """Place of the present positions [rad or m]."""
    names: Mapping[str, tuple[str, str]]
    """What joints move, and the unit of their positions, for messages: what is led first, then the part."""

    def at(self, s: float) -> dict[str, float]:
        """Returns the position of each joint at a place of the way [rad or m]."""
        sign = 1.0 if self.way[-1] >= self.way[0] else -1.0
        way = [sign * place for place in self.way]
        return {joint: float(np.interp(sign * s, way, values)) for joint, values in self.positions.items()}


@dataclass(frozen=True)
class PathGeometry(JointGeometry):
    """The way of a link that several joints move, in the arm's base frame; `s` is the place on the way.

    `prismatic`, `origin` and `axis` are those of the part that moves last.
    """

    path: JointPath
    """Where the joints are along the way."""
    pose_at: Callable[[Mapping[str, float]], Pose]
    """Returns `T_base_link` of the held link at joint positions [rad or m]."""

    def motion(self, delta: float) -> tuple[Array, Array]:
        """See `JointGeometry.motion`."""
        before, after = (self.pose_at(self.path.at(s)) for s in (self.position, self.position + delta))
        moved = after @ before.inverse()
        return moved.R, moved.p

    def progress(self, reached: float, target: float) -> PathProgress:
        """See `JointGeometry.progress`: of the part, or of what is led before it and does not get there."""
        before, now, end = (self.path.at(s) for s in (self.position, reached, target))
        *first, part = self.path.names
        name = part
        if first and now[part] == self.path.positions[part][0]:  # what frees the part still moves, or is stuck
            name = next((each for each in first if now[each] != before[each]), first[0])
            end = max((self.path.at(s) for s in self.path.way), key=lambda each: abs(each[name] - before[name]))
        what, unit = self.path.names[name]
        return PathProgress(what, before[name], now[name], end[name], unit)

    def places(self, to: float, count: int) -> Array:
        """See `JointGeometry.places`; the corners of the way are among them."""
        low, high = min(self.position, to) + 1e-9, max(self.position, to) - 1e-9
        ends = [self.position, *(s for s in self.path.way if low < s < high), to]
        ends.sort(reverse=to < self.position)
        length = max(abs(to - self.position), 1e-9)
        found = [np.array([self.position])]
        for first, last in pairwise(ends):
            steps = max(1, round(count * abs(last - first) / length))
            found.append(np.linspace(first, last, steps + 1)[1:])
        return np.concatenate(found)


def in_part_positions(plan: KeyframePlan, path: JointPath, joint: str) -> KeyframePlan:
    """Returns a plan whose places on a way of several joints are replaced by positions of one of them."""

    def position(s: float) -> float:
        return path.at(s)[joint]

    return replace(
        plan,
        keyframes=tuple(replace(each, s=position(each.s)) for each in plan.keyframes),
        segments=tuple(
            each if each.s is None else replace(each, s=np.array([position(float(s)) for s in each.s]))
            for each in plan.segments
        ),
    )
