"""Smooth surfaces in place of what colliders need of round things: discs on each other, and rings of staves."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unlatch.objects.procedural.mesh_makers import TexturedMesh, lathe, rounded
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import Shape, ShapeKind

_NUMBERED = re.compile(r"(.+)_\d+")
_CLOSE_M = 1e-5
_LEAST_STAVES = 8
"""A ring of fewer boxes may be meant to have corners."""


def round_surfaces(
    shapes: Sequence[Shape], *, size_m: tuple[float, float], sides: int
) -> list[tuple[list[int], TexturedMesh]]:
    """Returns the places of numbered shapes of one name that are parts of something round, and what is seen of them.

    Discs that lie on each other, each smaller than the one below, become a slope through the middles of their sides.
    Staves about an axis become a tube.

    Args:
        shapes: Shapes of one colour.
        size_m: Size of their picture, around and along the profile [m].
        sides: Number of sides of a circle.
    """
    groups: dict[str, list[int]] = defaultdict(list)
    for place, shape in enumerate(shapes):
        if match := _NUMBERED.fullmatch(shape.name):
            groups[match[1]].append(place)
    found = []
    for places in groups.values():
        group = [shapes[place] for place in places]
        profile = _stack_profile(group) or _ring_profile(group)
        if profile is not None:
            pose, line = profile
            mesh = lathe(line, sides=sides).moved(pose).textured()
            length = float(np.linalg.norm(np.diff(np.array(line), axis=0), axis=1).sum())
            around = 2.0 * np.pi * max(radius for radius, _ in line)
            repeats = np.array([max(1, round(around / size_m[0])), length / size_m[1]])  # whole ones around
            found.append((places, replace(mesh, uvs=mesh.uvs * repeats)))
    return found


_Profile = tuple[Pose, list[tuple[float, float]]]
"""The frame of a solid of revolution, and its radii and heights there [m]."""


def _stack_profile(group: list[Shape]) -> _Profile | None:
    """Returns the slope over discs of one axis; None if these are something else."""
    if len(group) < 2 or any(shape.kind is not ShapeKind.cylinder for shape in group):
        return None
    base = group[0].T_link_shape
    places = [base.inverse() @ shape.T_link_shape for shape in group]
    radii, heights = (np.array([shape.size[k] for shape in group]) for k in (0, 1))
    middles = np.array([place.p[2] for place in places])
    turned = any(np.hypot(*place.p[:2]) > _CLOSE_M or place.R[2, 2] < 1.0 - _CLOSE_M for place in places)
    apart = np.abs(np.diff(middles) - 0.5 * (heights[1:] + heights[:-1])).max() > _CLOSE_M
    if turned or apart or np.any(np.diff(radii) >= 0.0):
        return None
    low, high = middles[0] - 0.5 * heights[0], middles[-1] + 0.5 * heights[-1]
    slope = [(radii[0], low), *zip(radii, middles, strict=True), (radii[-1], high), (0.0, high)]
    line = rounded(slope, 0.5 * float(heights.min()), 2)
    return base, [(float(radius), float(height)) for radius, height in line]


def _ring_profile(group: list[Shape]) -> _Profile | None:
    """Returns the profile of a tube of boxes whose x axes point away from its axis; None if they are something else."""
    if len(group) < _LEAST_STAVES or any(shape.kind is not ShapeKind.box for shape in group):
        return None
    if len({shape.size for shape in group}) > 1:
        return None
    wall, width, height = group[0].size
    places = np.array([shape.T_link_shape.p for shape in group])
    axes = np.array([shape.T_link_shape.R for shape in group])  # (N, 3, 3)
    middle = places.mean(axis=0)
    away = places - middle
    radius = float(np.linalg.norm(away, axis=1).mean())
    if np.abs(away - radius * axes[:, :, 0]).max() > _CLOSE_M or np.abs(np.ptp(axes[:, :, 2], axis=0)).max() > _CLOSE_M:
        return None
    inner, outer, low, high = radius - wall / 2, radius + wall / 2, -height / 2, height / 2
    if len(group) * width < 2.0 * np.pi * inner:  # they stand apart
        return None
    # it starts in the middle of the inside, so that its edges are rounded alike
    corners = [(inner, 0.0), (inner, low), (outer, low), (outer, high), (inner, high), (inner, 0.0)]
    return Pose(axes[0], middle), rounded(corners, 0.4 * wall, 2)
