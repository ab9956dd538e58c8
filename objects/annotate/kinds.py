"""Finds the kind of a part, by names if there are some, else by shape and axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unlatch.objects.annotation import PartKind
from unlatch.simcore.urdf.model import Joint

UPRIGHT = 0.8
"""An axis counts as upright from this cosine to the vertical."""
_BALANCED = 0.3
"""The middle of a knob is nearer to its axis than this share of its reach."""
_FAR = 0.7
"""Points beyond this share of the part's reach are far from the axis."""
_SLENDER = 2.2
"""A lever reaches this many times farther from its axis than it is thick."""

KNOB_NAMES = ("knob", "dial", "wheel")
LEVER_NAMES = ("lever", "switch", "faucet", "tap", "lock", "latch")
PANEL_NAMES = ("door", "lid", "screen", "cover", "flap", "window", "gate", "leaf")


@dataclass(frozen=True)
class Spread:
    """The extents of a part about the axis of its joint; lengths in the units of the source."""

    reach: float
    """Largest distance from the axis."""
    offset: float
    """Distance of the part's middle from the axis."""
    along: float
    """Extent along the axis."""
    along_far: float
    """Extent along the axis of the points far from it."""
    length: float
    """Larger extent at right angles to the axis."""
    thickness: float
    """Smaller extent at right angles to the axis."""
    radial: np.ndarray
    """(3,) unit direction from the axis to the part's far end, at right angles to the axis."""


def measure_spread(points: np.ndarray, origin: np.ndarray, axis: np.ndarray) -> Spread:
    """Measures points (N, 3) about an axis through `origin` (3,) along the unit vector `axis` (3,)."""
    relative = points - origin
    heights = relative @ axis
    across = relative - np.outer(heights, axis)  # (N, 3)
    distances = np.linalg.norm(across, axis=1)
    low, high = across.min(axis=0), across.max(axis=0)
    middle = (low + high) / 2
    middle -= axis * float(middle @ axis)
    _, _, directions = np.linalg.svd(across - across.mean(axis=0), full_matrices=False)
    extents = [float(np.ptp(across @ d)) for d in directions if abs(float(d @ axis)) < 0.5][:2]
    far = across[int(np.argmax(distances))]
    offset = float(np.linalg.norm(middle))
    radial = middle if offset > 0.1 * float(distances.max()) else far
    return Spread(
        reach=float(distances.max()),
        offset=offset,
        along=float(np.ptp(heights)),
        along_far=float(np.ptp(heights[distances >= _FAR * distances.max()])),
        length=max(extents, default=0.0),
        thickness=min(extents, default=0.0),
        radial=radial / max(float(np.linalg.norm(radial)), 1e-12),
    )


def part_kind(
    joint: Joint, names: str, spread: Spread, axis: np.ndarray, outward: np.ndarray, *, is_pressed: bool = False
) -> PartKind:
    """Returns the kind of a part.

    Args:
        joint: The joint that moves it.
        names: What its files call it, in lower case, words separated by blanks.
        spread: How it lies about the axis, closed.
        axis: (3,) unit axis of the joint in the root frame, z up.
        outward: (3,) unit direction in which its far end leaves the closed pose.
        is_pressed: Whether it is a switch that a finger presses on one side: no hand turns it.
    """
    if joint.kind == "prismatic":
        return PartKind.slider
    turner = None if is_pressed else _turned_kind(joint, names, spread)
    if turner is not None:
        return turner
    if abs(float(axis[2])) > UPRIGHT:
        return PartKind.hinge_vertical
    # A flap that covers from above is a lid; a flap in the front is a door with a horizontal hinge.
    return PartKind.lid if abs(float(outward[2])) > 0.7 else PartKind.hinge_horizontal


def _turned_kind(joint: Joint, names: str, spread: Spread) -> PartKind | None:
    """Returns knob or lever for a part that a hand turns instead of opening; None for other parts."""
    if any(word in names for word in PANEL_NAMES):
        return None
    is_balanced = spread.offset < _BALANCED * spread.reach
    if any(word in names for word in KNOB_NAMES):
        return PartKind.knob
    if any(word in names for word in LEVER_NAMES):
        is_slender = spread.length > _SLENDER * spread.thickness
        return PartKind.knob if is_balanced and not is_slender else PartKind.lever
    if names.split() and all(word == "handle" for word in names.split()):
        return PartKind.lever  # the part is only a handle: a bail, or the lever of a door
    if joint.kind == "continuous" or is_balanced:
        return PartKind.knob
    # A stick beside its axis is a lever; a panel is thin in one direction only.
    stick = max(spread.along, spread.thickness)
    return PartKind.lever if spread.reach > _SLENDER * stick else None
