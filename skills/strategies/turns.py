"""How an upright object that is put down may be turned about the vertical, so that the hand that holds it has room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from unlatch.simcore.geometry import Pose, matrix_from_axis_angle
from unlatch.skills.strategies.grasps import Obstacle

Array = np.ndarray

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
