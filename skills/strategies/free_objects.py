"""Where a hand may take a free object, and where and how turned it may put it down."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from unlatch.objects.antipodal_grasps import antipodal_pairs
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.robots.hand_shape import HandShape
from unlatch.simcore.geometry import Pose, matrix_from_axis_angle, unit
from unlatch.simcore.meshes.solids import Solids
from unlatch.solver.plan import WorkMeter

Array = np.ndarray

_SPARE_M = 0.006
"""Smallest gap between the two pads and the object together: the arm is accurate to a millimetre [m]."""
_ROOMS_M = (0.03, 0.014)
"""How much wider than the object the fingers open on the approach, the preferred value first [m]."""
_HAND_MARGIN_M = 0.004
"""Least distance of the hand from everything but the object [m]."""
_PALM_MARGIN_M = 0.008
"""Least distance of the palm from the object, which tips a little when it is let go [m]."""
_TILTS_RAD = (0.0, 0.45, -0.45, 0.9, -0.9, 1.35, -1.35)
"""Angles of the hand about the closing axis, from straight down."""
_LIFTS_M = (0.0, 0.004, 0.007)
"""How far the hand stands back from the pair: pads reach beyond it, and may be too near to the floor [m]."""
_STEEP = 0.35
"""Sine of the least angle between the closing axis and the vertical at which the hand comes from above."""
_LEVER_COST = 6.0
"""Cost of a metre by which the centre of mass is beside the pair, where a radian of tilt costs 0.4."""
_HEIGHT_GAIN = 2.0
"""Gain of a metre by which the pair is above the centre of mass: the hand stays out of what it reaches into."""
_HIGH_M = 0.04
"""Height above the centre of mass from which on there is no more gain [m]."""
_TILT_COST = 0.4
_EDGE_COST = 0.8
"""Cost of a pair at the edge of a surface, for pads with none under them: things turn out of the hand there."""
_BACKWARDS_COST = 1.0
"""Cost of a hand that points to its own arm."""


_INWARD_COSINE = 0.6
"""Cosine of the largest angle between the hand and the direction into a space that opens to the front."""
_SIDE_RAD = 0.9
"""Tilt from which on a hand comes from the side; up to it, a hand comes from above."""
_FROM_SIDE_RAD = 1.35
_SAME_GRASP = 0.02
"""Grasps that are nearer to each other are the same; 1 m counts as much as 10 rad."""
_FIRST = 1e3
"""Gain of a preferred grasp, and cost of an avoided one: more than all others together."""


class GraspSide(Enum):
    """From where a hand takes an object."""

    any = "any"
    above = "above"
    side = "side"

    def allows(self, tilt: float) -> bool:
        """Returns whether a hand may be tilted so far from straight down [rad]."""
        return self is GraspSide.any or (tilt >= _SIDE_RAD - 0.01) == (self is GraspSide.side)

    @property
    def preferred_tilt(self) -> float:
        """The best angle from straight down [rad]."""
        return _FROM_SIDE_RAD if self is GraspSide.side else 0.0


@dataclass(frozen=True)
class Obstacle:
    """Something that the hand must keep clear of."""

    solids: Solids
    T_world_root: Pose
    positions: dict[str, float]

    def meets(self, boxes: Array, T_world_box: Pose, *, margin_m: float) -> bool:
        """Returns whether one of some boxes (B, 2, 3) in a frame is nearer than a margin [m]."""
        T_root_box = self.T_world_root.inverse() @ T_world_box
        return self.solids.meets(boxes, T_root_box, self.positions, margin_m=margin_m)


@dataclass(frozen=True)
class GraspCandidate:
    """One way to take an object, world frame."""

    T_world_tool: Pose
    """The tool frame: x from the palm to the fingertips, y along the closing axis, origin between the pads."""
    width_m: float
    """Width of the object between the pads."""
    opening_m: float
    """Opening of the fingers on the approach."""


def grasp_candidates(
    asset: ObjectAsset,
    T_world_root: Pose,
    hand: HandShape,
    obstacles: Sequence[Obstacle],
    *,
    p_world_base: Array,
    floor_m: float,
    side: GraspSide,
    inward: Array | None = None,
    preferred: Pose | None = None,
    avoided: Sequence[Pose] = (),
    meter: WorkMeter | None = None,
) -> Iterator[GraspCandidate]:
    """Yields ways to take a free object that have room for the hand, those of least cost first.

    Args:
        asset: The object.
        T_world_root: Where it is.
        hand: The hand.
        obstacles: Everything else near it.
        p_world_base: (3,) base of the arm [m].
        floor_m: Height below which there is no room [m].
        side: From where the hand comes.
        inward: (3,) direction into the front of the space in which the object is; None: it is open above.
        preferred: Pose of the tool frame of a grasp that comes first; None: there is none.
        avoided: Those of grasps that come last.
        meter: Counts the grasps that are checked for room; there are no more once its work is spent. None: no limit.
    """
    own = Obstacle(Solids.from_urdf(asset.urdf_path), T_world_root, {})
    away = T_world_root.p - p_world_base
    away = unit(np.array([away[0], away[1], 0.0]))
    options: list[tuple[float, Array, Array, Array, float]] = []
    for pair in antipodal_pairs(asset, max_width_m=hand.max_width_m - _SPARE_M):
        axis, middle = T_world_root.rotate(pair.axis), T_world_root @ pair.middle
        to_com = T_world_root.rotate(pair.to_com)
        # gravity turns what is held about the closing axis; straight below the pads it does not
        lever_m = float(np.linalg.norm((to_com - axis * float(to_com @ axis))[:2]))
        above_m = float(np.clip(-to_com[2], -_HIGH_M, _HIGH_M))
        for approach in _approaches(axis, away):
            tilt = float(np.arccos(np.clip(-approach[2], -1.0, 1.0)))
            if not side.allows(tilt) or (inward is not None and float(approach @ inward) < _INWARD_COSINE):
                continue
            cost = _LEVER_COST * lever_m - _HEIGHT_GAIN * above_m + _TILT_COST * abs(tilt - side.preferred_tilt)
            cost += _EDGE_COST * (1.0 - pair.covered)
            cost += _BACKWARDS_COST * max(0.0, -float(approach @ (away if inward is None else inward)))
            if inward is not None:
                cost += 1.0 - float(approach @ inward)
            T = Pose(_tool_rotation(approach, axis), middle)
            if preferred is not None and (apart := _measure_apart(T, preferred)) < _SAME_GRASP:
                cost -= _FIRST * (2.0 - apart / _SAME_GRASP)  # of several, the nearest comes first
            if any(_measure_apart(T, other) < _SAME_GRASP for other in avoided):
                cost += _FIRST
            options.append((cost, approach, axis, middle, pair.width_m))

    def fitted(approach: Array, axis: Array, middle: Array, width_m: float) -> GraspCandidate | None:
        """Returns the grasp with the widest opening and the deepest pads that have room; None if there is none."""
        R = _tool_rotation(approach, axis)
        for lift_m in _LIFTS_M:
            T = Pose(R, middle - lift_m * approach)
            for room_m in _ROOMS_M:
                opening_m = min(width_m + room_m, hand.max_width_m)
                fingers, palm = hand.boxes(opening_m)
                both = np.concatenate([fingers, palm])
                corners = np.where(R[2] > 0.0, both[:, 0], both[:, 1])  # (B, 3), the lowest of each box
                if float((corners @ R[2]).min() + T.p[2]) < floor_m + 0.5 * _HAND_MARGIN_M:
                    break  # a narrower opening is as low
                if own.meets(palm, T, margin_m=_PALM_MARGIN_M) or own.meets(fingers, T, margin_m=0.0):
                    continue
                if not any(item.meets(both, T, margin_m=_HAND_MARGIN_M) for item in obstacles):
                    return GraspCandidate(T, width_m, opening_m)
        return None

    for _, approach, axis, middle, width_m in sorted(options, key=lambda option: option[0]):
        if meter is not None:
            if meter.is_spent:
                return
            meter.spend("fits")
        found = fitted(approach, axis, middle, width_m)
        if found is not None:
            yield found


def _tool_rotation(approach: Array, axis: Array) -> Array:
    """Returns the (3, 3) rotation of the tool frame of a hand with an approach and a closing axis."""
    return np.column_stack([approach, axis, np.cross(approach, axis)])


def _measure_apart(one: Pose, other: Pose) -> float:
    """Returns how far two grasps are from each other, see `_SAME_GRASP`."""
    apart = float(np.linalg.norm(one.p - other.p))
    if apart >= _SAME_GRASP:
        return apart
    turn = float(np.arccos(np.clip((np.trace(one.R.T @ other.R) - 1.0) / 2.0, -1.0, 1.0)))
    return apart + 0.1 * turn


def _approaches(axis: Array, away: Array) -> Iterator[Array]:
    """Yields (3,) directions at right angles to a closing axis from which a hand may come; never from below."""
    down = np.array([0.0, 0.0, -1.0])
    first = down - axis * float(down @ axis)
    if float(np.linalg.norm(first)) < _STEEP:
        first = away - axis * float(away @ axis)
    for angle in _TILTS_RAD:
        approach = matrix_from_axis_angle(axis, angle) @ unit(first)
        if approach[2] < 0.35:
            yield approach


_GRID = 9
_SKY_M = 0.3
"""Height above an open floor that must be free for an object that comes from above [m]."""
_FLOOR_M = 0.012
"""The floor itself, and what lies flat on it, is below this height [m]."""
_ENOUGH_M = 0.03
"""More free space around an object than this is no better [m]."""
_APART_M = 0.03
"""Two spots nearer to each other than this are one [m]."""
_MIDDLE_COST = 0.1
"""Cost of a metre away from the middle of the floor, where a metre of missing space costs 1."""
_BEFORE_M = 0.04
"""Distance before a floor at which an object is out of a space that opens to the front [m]."""
_OVER_SILL_M = (0.005, 0.02)
"""Least and preferred height above the place where the hand lets go at which an object is brought in [m]."""
_UNDER_CEILING_M = 0.014
"""Height that stays free above an object that stands there, if the least height allows it [m]."""


class Floor(NamedTuple):
    """A floor onto which something is put."""

    T_world_floor: Pose
    """Its middle; z up, x out of the front of its object."""
    size: np.ndarray
    """(2,) extents along x and y [m]."""
    rim_m: float
    """Height of the walls around it [m]."""
    headroom_m: float
    """Height that an object may have; infinite under the open sky [m]."""
    opens_above: bool
    """Whether things come from above; else they come from the front."""

    def way_out_m(self, spot: Array, radius_m: float) -> float:
        """Returns how far an object of some radius at a spot (3,), world frame, is from free space before it [m]."""
        place = self.T_world_floor.inverse() @ spot
        return 0.5 * float(self.size[0]) - float(place[0]) + radius_m + _BEFORE_M

    def lift_over_sill_m(self, height_m: float) -> float:
        """Returns how much higher than where the hand lets go an object of some height comes in from the front [m]."""
        return float(np.clip(self.headroom_m - height_m - _UNDER_CEILING_M, *_OVER_SILL_M))


def find_spots(
    T_world_floor: Pose,
    size_m: Sequence[float],
    *,
    radius_m: float,
    height_m: float,
    obstacles: Sequence[Obstacle],
    opens_above: bool,
    count: int,
    area: Array | None = None,
) -> list[Array]:
    """Returns at most `count` spots (3,) on a floor, world frame [m].

    Args:
        T_world_floor: Middle of the floor, z up.
        size_m: (2,) extents of the floor along x and y [m].
        radius_m: Radius of the object about its vertical axis [m].
        height_m: Its height [m].
        obstacles: Everything that it must keep clear of.
        opens_above: Whether it comes from above; else it comes along x of the floor's frame.
        count: Largest number of spots.
        area: (2, 2) lower and upper corner of the part of the floor to use, its middle the origin [m]; None: all of it.
    """
    half = np.maximum(0.5 * np.asarray(size_m, dtype=float)[:2] - radius_m, 0.0)
    low, high = -half, half
    if area is not None:
        low, high = np.clip(area[0], -half, half), np.clip(area[1], -half, half)
    middle = 0.5 * (low + high)
    share = np.linspace(0.0, 1.0, _GRID)
    options: list[tuple[float, Array]] = []
    for x in np.unique(low[0] + share * (high[0] - low[0])):
        for y in np.unique(low[1] + share * (high[1] - low[1])):
            room_m = min(half[0] - abs(x), half[1] - abs(y), _ENOUGH_M)
            far_m = (
                float(np.hypot(x - middle[0], y - middle[1])) if opens_above else float(high[0] - x)
            )  # the front is easier to reach
            cost = -room_m + _MIDDLE_COST * far_m
            options.append((cost, np.array([x, y, 0.0])))
    found: list[Array] = []
    for _, spot in sorted(options, key=lambda option: option[0]):
        if any(float(np.linalg.norm(spot - other)) < _APART_M for other in found):
            continue
        top = max(height_m, _SKY_M) if opens_above else height_m + 0.5 * _FLOOR_M
        far = radius_m if opens_above else 0.5 * float(size_m[0]) + radius_m - spot[0]
        box = np.array([[[-radius_m, -radius_m, _FLOOR_M], [far, radius_m, top]]])
        T = T_world_floor @ Pose.from_translation(spot)
        if not any(item.meets(box, T, margin_m=0.0) for item in obstacles):
            found.append(spot)
        if len(found) == count:
            break
    return [T_world_floor @ spot for spot in found]


_TURNS = 24
"""Number of turns that are tried."""
_STEP_RAD = 2.0 * np.pi / _TURNS
_BEYOND = 0.4
"""How far a range goes on beyond its last turn with room, as a share of the step to the next one."""


class TurnRange(NamedTuple):
    """Neighbouring turns of an object about the vertical."""

    middle_rad: float
    """Turn of the x axis of the object's root frame from the x axis of the world."""
    half_rad: float
    """Half of the width of the range."""

    @property
    def direction(self) -> Array:
        """(3,) x axis of the object's root frame in the middle of the range, world frame."""
        return np.array([np.cos(self.middle_rad), np.sin(self.middle_rad), 0.0])


def turns_with_room(
    T_object_tool: Pose,
    p_object_bottom: Array,
    boxes: Array,
    *,
    way: Sequence[Array],
    obstacles: Sequence[Obstacle],
    margin_m: float,
    allows: Callable[[Pose], bool],
) -> list[TurnRange]:
    """Returns the ranges of turns in which the hand has room, the widest first.

    Args:
        T_object_tool: Where the hand holds the object.
        p_object_bottom: (3,) middle of its underside, in its root frame [m].
        boxes: (B, 2, 3) the hand in its tool frame [m].
        way: (3,) places of the underside at which the hand needs room, world frame [m].
        obstacles: Everything near it.
        margin_m: Least distance of the hand from them [m].
        allows: Whether the hand may be at a pose `T_world_tool`.
    """

    def has_room(turn: int) -> bool:
        R = matrix_from_axis_angle(np.array([0.0, 0.0, 1.0]), turn * _STEP_RAD)
        hands = [Pose(R, place - R @ p_object_bottom) @ T_object_tool for place in way]
        return allows(hands[0]) and not any(
            item.meets(boxes, T, margin_m=margin_m) for T in hands for item in obstacles
        )

    free = [has_room(turn) for turn in range(_TURNS)]
    if all(free):
        return [TurnRange(0.0, np.pi)]
    runs = []
    for first in range(_TURNS):
        if free[first] and not free[first - 1]:
            count = next(n for n in range(1, _TURNS) if not free[(first + n) % _TURNS])
            middle = (first + 0.5 * (count - 1)) * _STEP_RAD
            runs.append(TurnRange(middle, (0.5 * (count - 1) + _BEYOND) * _STEP_RAD))
    return sorted(runs, key=lambda each: -each.half_rad)
