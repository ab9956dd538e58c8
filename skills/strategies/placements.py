"""Where an object may be put down: floors, and spots with free space above and around them, the roomiest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.skills.strategies.grasps import Obstacle

Array = np.ndarray

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
