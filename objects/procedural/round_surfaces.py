"""Smooth surfaces in place of what colliders need of round things: discs on each other, rings of staves, bent rods."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unlatch.objects.procedural.mesh_makers import Surface, TexturedMesh, circle, lathe, loft, rounded
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.urdf.model import Shape, ShapeKind

_NUMBERED = re.compile(r"(.+)_\d+")
_CLOSE_M = 1e-5
_OFF_M = 0.002
"""What is seen is at most so far from the colliders where rods meet [m]."""
_LEAST_STAVES = 8
"""A ring of fewer boxes may be meant to have corners."""


def round_surfaces(
    shapes: Sequence[Shape], *, size_m: tuple[float, float], sides: int
) -> list[tuple[list[int], TexturedMesh]]:
    """Returns the places of numbered shapes of one name that are parts of something round, and what is seen of them.

    Discs that lie on each other, each smaller than the one below, become a slope through the middles of their sides.
    Staves about an axis become a tube, and rods from one point to the next in a plane a bent rod, without the balls at
    its joints.

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
        profile, joints = _stack_profile(group) or _ring_profile(group), _joints_of_rods(group)
        if profile is not None:
            pose, outline = profile
            surface, radius, line = lathe(outline, sides=sides).moved(pose), max(outline)[0], np.array(outline)
        elif joints is not None:
            radius = group[0].size[0]
            line, surface = joints, _bend_rod(joints, radius, sides=sides // 2)
            places += [place for place, shape in enumerate(shapes) if _is_ball_at(shape, joints, radius)]
        else:
            continue
        length = float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum())
        repeats = np.array([max(1, round(2.0 * np.pi * radius / size_m[0])), length / size_m[1]])  # whole ones around
        mesh = surface.textured()
        found.append((places, replace(mesh, uvs=mesh.uvs * repeats)))
    return found


def _joints_of_rods(group: list[Shape]) -> Array | None:
    """Returns the points (K, 3) at which rods of one radius in a plane meet, with both ends; None if they do not."""
    if len(group) < 3 or len({shape.size[0] for shape in group}) > 1:
        return None
    if any(shape.kind is not ShapeKind.cylinder for shape in group):
        return None
    half = np.array([0.5 * shape.size[1] * shape.T_link_shape.R[:, 2] for shape in group])
    middles = np.array([shape.T_link_shape.p for shape in group])
    starts, ends = middles - half, middles + half
    if np.abs(starts[1:] - ends[:-1]).max() > _CLOSE_M:
        return None
    joints: Array = np.concatenate([starts, ends[-1:]])
    normal = _plane_normal(joints)
    return None if normal is None or np.abs((joints - joints[0]) @ normal).max() > _CLOSE_M else joints


def _plane_normal(joints: Array) -> Array | None:
    """Returns the unit normal (3,) of the plane in which rods bend; None if they are straight."""
    along = np.diff(joints, axis=0)
    across = np.cross(along[:-1], along[1:])
    lengths = np.linalg.norm(across, axis=1)
    sharpest = int(lengths.argmax())
    return across[sharpest] / lengths[sharpest] if lengths[sharpest] > _CLOSE_M**2 else None


def _is_ball_at(shape: Shape, points: Array, radius: float) -> bool:
    apart = np.linalg.norm(points - shape.T_link_shape.p, axis=1).min()
    return shape.kind is ShapeKind.sphere and shape.size[0] == radius and bool(apart < _CLOSE_M)


def _bend_rod(joints: Array, radius: float, *, sides: int) -> Surface:
    """Returns the surface of a rod along points (K, 3) in a plane, rounded between them; it may be closed to a ring."""
    if np.linalg.norm(joints[0] - joints[-1]) < _CLOSE_M:  # it starts in the middle of a rod, so that no corner is left
        middle = 0.5 * (joints[:1] + joints[1:2])
        joints = np.concatenate([middle, joints[1:], middle])
    along = np.diff(joints, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    sharpest = float(np.sqrt(0.5 * (1.0 - (along[1:] * along[:-1]).sum(axis=1).min())))  # sine of half of its turn
    path = np.array(rounded(joints.tolist(), 2.0 * _OFF_M / max(sharpest, 1e-3), 3))
    path = path[np.concatenate([[True], np.linalg.norm(np.diff(path, axis=0), axis=1) > 1e-6])]
    tangent = np.gradient(path, axis=0)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    aside = _plane_normal(joints)
    ring = radius * circle(sides)
    return loft(path[:, None] + ring[None, :, :1] * np.cross(aside, tangent)[:, None] + ring[None, :, 1:] * aside)


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
