"""Finds where a joint is closed and where it is open."""

from __future__ import annotations

import numpy as np

from unlatch.objects.annotate.geometry import ObjectGeometry
from unlatch.objects.annotation import SMALL_RANGE_RAD
from unlatch.simcore.urdf.model import Joint

_SHORT_SHARE = 0.05
"""A slider that moves by a smaller share of the object's largest extent may be a button."""
MAX_OPEN_RAD = 3.1416
"""A door that turns by more than half a circle meets its own cabinet, even if the data set has no limit."""
_CONTINUOUS_RAD = float(np.pi / 2)
"""Range of a joint without limits."""
_BOTH_WAYS_RAD = 0.1
_FLUSH = 1e-3
_SAME_BOX = 0.02
"""Boxes whose volumes differ by less are equal."""


def joint_limits(joint: Joint) -> tuple[float, float]:
    """Returns the lower and upper joint position [rad, or a length in the units of the source]."""
    if joint.kind == "continuous":
        return 0.0, _CONTINUOUS_RAD
    return joint.lower, joint.upper


def joint_ends(geometry: ObjectGeometry, joint: Joint) -> tuple[float, float]:
    """Returns the closed and the open position of a joint.

    A joint is closed where the part and the body, which no joint moves, fill the smaller box. If the boxes are equal, a
    part that slides up and down is closed below, where its weight takes it, and any other part at its lower limit. A
    slider that moves only a little is closed at the end that is nearer to the middle of the body, such as a button
    that is pressed. A turning part opens by at most half a circle.
    """
    lower, upper = joint_limits(joint)
    model = geometry.model
    moving = geometry.moving_links(joint)
    # Links that other joints move do not count as body: they may be open themselves.
    body = [name for name in geometry.fixed_links if len(geometry.vertices(name))]
    body = body or [name for name in model.links if name not in moving]
    fixed = geometry.points(body)
    axis = model.link_pose(joint.child).rotate(joint.axis / np.linalg.norm(joint.axis))

    if joint.kind == "prismatic" and len(fixed) and len(moved := geometry.points(moving)):
        extent = float(np.max(np.ptp(np.concatenate([fixed, moved]), axis=0)))
        if upper - lower < _SHORT_SHARE * extent:
            stands_out = float((_box_middle(moved) - _box_middle(fixed)) @ axis) >= 0.0
            return (lower, upper) if stands_out else (upper, lower)
    rises = joint.kind == "prismatic" and abs(axis[2]) > 0.7
    positions = [lower, upper]
    if joint.kind == "prismatic" and not rises and lower < 0.0 < upper:
        positions = [0.0, lower, upper]
    if (
        joint.kind != "prismatic"
        and lower < -_BOTH_WAYS_RAD
        and upper > _BOTH_WAYS_RAD
        and upper - lower >= SMALL_RANGE_RAD
    ):
        # A door that turns both ways may be closed in between, where the data set poses it.
        positions = [0.0, lower, upper]
    closed = positions[0]
    if len(fixed) and len(geometry.points(moving)) and joint.kind != "continuous":
        volumes = {s: _box_volume(fixed, geometry.points(moving, {joint.name: s})) for s in positions}
        closed = min(volumes, key=lambda s: round(volumes[s], 6))
        if joint.kind == "prismatic" and 0.0 in volumes and volumes[0.0] <= (1.0 + _FLUSH) * volumes[closed]:
            closed = 0.0  # the part is flush with the body; any further, it would move into the body
        if rises:
            least, most = sorted(volumes.values())
            if most - least < _SAME_BOX * most:
                closed = lower if axis[2] > 0 else upper
    opened = max((lower, upper), key=lambda s: abs(s - closed))
    if joint.kind == "revolute":
        opened = closed + float(np.clip(opened - closed, -MAX_OPEN_RAD, MAX_OPEN_RAD))
    return closed, opened


def _box_middle(points: np.ndarray) -> np.ndarray:
    return (points.min(axis=0) + points.max(axis=0)) / 2


def _box_volume(fixed: np.ndarray, moved: np.ndarray) -> float:
    return float(np.prod(np.ptp(np.concatenate([fixed, moved]), axis=0)))
