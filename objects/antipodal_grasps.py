"""Antipodal pairs: two opposite spots of an object that two fingers can press, from its colliders alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import scipy

from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.meshes.solids import ConvexSolid, Solids, convex_solid
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, draw_surface_points

Array = np.ndarray

_SAMPLES = 900
_FACING_RAD = 0.3
"""Largest angle between the normals of the two spots and the line between them; pads stick up to 0.76 rad."""
_LEAST_WIDTH_M = 0.002
_OUTSIDE_M = 5e-4
_PAD_M = 0.004
"""Half of the least extent of the surface that a pad presses [m]."""
_WIDE_PAD_M = 0.008
"""The same of the surface that a pad presses if the object is large enough [m]."""
_PAD_DEPTH_M = 0.0015
"""Depth below the surface at which that is looked up: a round surface curves away [m]."""
_PAD_SPOTS = 3
"""Number of the four spots around each one that must lie in the object."""
_SAME_M = 0.012
_SAME_RAD = 0.35
"""Pairs nearer to each other than both are one."""
_MOST_PAIRS = 240


@dataclass(frozen=True)
class AntipodalPair:
    """Two opposite spots, in the root frame of the object."""

    middle: Array
    """(3,) point halfway between them [m]."""
    axis: Array
    """(3,) unit direction from one to the other; fingers close along it."""
    width_m: float
    """Distance between them."""
    to_com: Array
    """(3,) from the middle to the centre of mass [m]."""
    covered: float
    """Share of the surface under the pads that is there: less at an edge, from which pads slip."""


def antipodal_pairs(asset: ObjectAsset, *, max_width_m: float) -> tuple[AntipodalPair, ...]:
    """Returns pairs that fingers can span, those whose line passes nearest to the centre of mass first.

    It is a function of the colliders alone: the samples of the surface come from a fixed seed.

    Args:
        asset: A rigid object.
        max_width_m: Largest distance between the two spots [m].
    """
    return _find_pairs(asset.urdf_path, asset.urdf_path.stat().st_mtime_ns, max_width_m, tuple(asset.centre_of_mass))


@lru_cache(maxsize=64)
def _find_pairs(urdf: Path, changed_ns: int, max_width_m: float, com: tuple[float, ...]) -> tuple[AntipodalPair, ...]:
    del changed_ns  # part of the key: a changed file is read again
    loaded = Solids.from_urdf(urdf)
    solids = [
        convex_solid(loaded.model.link_pose(link) @ solid.vertices)
        for link in loaded.model.links
        for solid in loaded.of_link(link)
    ]
    if not solids:
        return ()
    points, normals = _sample_surface(solids)
    found = [_pairs_through_material(solids, points, normals, max_width_m)]
    found.append(_pairs_around(solids, points, normals, max_width_m))
    ends, axes, widths = (np.concatenate(each) for each in zip(*found, strict=True))  # (N, 3), (N, 3), (N,)
    on_object, blocked = _surface_under_pads(solids, ends, axes, widths, _PAD_M)
    wide = (on_object >= _PAD_SPOTS) & ~blocked
    ends, axes, widths, on_object = ends[wide], axes[wide], widths[wide], on_object[wide]
    covered = (on_object + _surface_under_pads(solids, ends, axes, widths, _WIDE_PAD_M)[0]) / 8.0
    middles = ends - 0.5 * widths[:, None] * axes
    to_com = np.array(com) - middles
    levers = np.linalg.norm(np.cross(to_com, axes), axis=1)
    left, chosen = np.argsort(levers, kind="stable"), list[int]()
    while left.size and len(chosen) < _MOST_PAIRS:
        first = int(left[0])
        chosen.append(first)
        near = np.linalg.norm(middles[left] - middles[first], axis=1) < _SAME_M
        left = left[~(near & (np.abs(axes[left] @ axes[first]) > np.cos(_SAME_RAD)))]
    return tuple(AntipodalPair(middles[i], axes[i], float(widths[i]), to_com[i], float(covered[i])) for i in chosen)


def _pairs_through_material(
    solids: list[ConvexSolid], points: Array, normals: Array, max_width_m: float
) -> tuple[Array, Array, Array]:
    """Returns pairs with nothing but material between their spots, such as the two sides of the wall of a cup.

    Returns:
        (N, 3) the first spots [m], (N, 3) unit directions to them from the others, and (N,) widths [m].
    """
    exits, exit_normals = _cross(solids, points, -normals)
    keep = (exits >= _LEAST_WIDTH_M) & (exits <= max_width_m)
    keep &= np.einsum("ik,ik->i", exit_normals, -normals) >= np.cos(_FACING_RAD)
    return points[keep], normals[keep], exits[keep]


def _pairs_around(
    solids: list[ConvexSolid], points: Array, normals: Array, max_width_m: float
) -> tuple[Array, Array, Array]:
    """Returns pairs with free space between their spots, such as two sides of a cup; see `_pairs_through_material`.

    The line between the spots halves the angle between their normals: the wall of a cup may be inclined.
    """
    first, _ = _cross(solids, points, -normals)
    last, exit_normals = _cross(solids, points, -normals, over_gaps=True)
    hollow = last > first + _LEAST_WIDTH_M
    points, normals, exit_normals = points[hollow], normals[hollow], exit_normals[hollow]
    facing = np.einsum("ik,ik->i", normals, exit_normals) < 0.0
    points, normals, exit_normals = points[facing], normals[facing], exit_normals[facing]
    directions = exit_normals - normals
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    widths, exit_normals = _cross(solids, points, directions, over_gaps=True)
    keep = (widths >= _LEAST_WIDTH_M) & (widths <= max_width_m)
    for ends in (exit_normals, -normals):
        keep &= np.einsum("ik,ik->i", ends, directions) >= np.cos(_FACING_RAD)
    return points[keep], -directions[keep], widths[keep]


def _surface_under_pads(
    solids: list[ConvexSolid], points: Array, normals: Array, widths: Array, reach_m: float
) -> tuple[Array, Array]:
    """Returns (N,) of how many of four spots around each end of a pair the surface goes on, at the worse end, and (N,)
    whether something is before one of them. A pad holds no edge and no sliver, and it must come to lie on the surface.
    """
    least = np.argmin(np.abs(normals), axis=1)
    first = np.cross(normals, np.eye(3)[least])
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    second = np.cross(normals, first)
    depth = np.minimum(_PAD_DEPTH_M, 0.5 * widths)[:, None]
    counts: list[Array] = []
    blocked: Array = np.zeros(len(points), dtype=bool)
    for side, inward in ((points, -normals), (points - widths[:, None] * normals, normals)):
        around = [side + sign * reach_m * along for along in (first, second) for sign in (1.0, -1.0)]
        counts.append(np.stack([_are_inside(solids, each + depth * inward) for each in around]).sum(axis=0))
        blocked |= np.stack([_are_inside(solids, each - _PAD_DEPTH_M * inward) for each in around]).any(axis=0)
    return np.minimum(*counts), blocked


def _are_inside(solids: list[ConvexSolid], points: Array) -> Array:
    """Returns (N,) whether points are in the union of solids."""
    inside: Array = np.zeros(len(points), dtype=bool)
    for solid in solids:
        inside |= (points @ solid.normals.T <= solid.offsets).all(axis=1)
    return inside


def _sample_surface(solids: list[ConvexSolid]) -> tuple[Array, Array]:
    """Returns (N, 3) points and outward normals of the surface of the union of solids [m]."""
    corners, normals = [], []
    for solid in solids:
        hull = scipy.spatial.ConvexHull(solid.vertices)
        corners.append(solid.vertices[hull.simplices])
        normals.append(hull.equations[:, :3])
    vertices = np.concatenate(corners).reshape(-1, 3)
    mesh = TriangleMesh(vertices, np.arange(len(vertices)).reshape(-1, 3))
    points, chosen = draw_surface_points(mesh, _SAMPLES, np.random.default_rng(0))
    outward = np.concatenate(normals)[chosen]
    buried = _are_inside(solids, points + _OUTSIDE_M * outward)
    return points[~buried], outward[~buried]


def _cross(
    solids: list[ConvexSolid], points: Array, directions: Array, *, over_gaps: bool = False
) -> tuple[Array, Array]:
    """Returns how far rays run inside the union of solids [m], and (N, 3) the outward normals where they leave it.

    With `over_gaps` a ray runs on through free space between solids, to where it leaves the last one.
    """
    enters, leaves, faces = [], [], []
    for solid in solids:
        along, room = directions @ solid.normals.T, solid.offsets - points @ solid.normals.T  # (N, P)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = room / along
        out = np.where(along > 1e-9, t, np.inf)
        into = np.where(along < -1e-9, t, -np.inf)
        missed = ((np.abs(along) <= 1e-9) & (room < -1e-6)).any(axis=1)
        enter, leave = into.max(axis=1), out.min(axis=1)
        missed |= leave <= np.maximum(enter, 0.0)
        enters.append(np.where(missed, np.inf, enter))
        leaves.append(np.where(missed, -np.inf, leave))
        faces.append(solid.normals[out.argmin(axis=1)])
    first, last, normals = np.stack(enters), np.stack(leaves), np.stack(faces)  # (S, N), (S, N), (S, N, 3)
    reached = np.full(len(points), 1e-5)
    exit_normals = np.zeros_like(points)
    for _ in range(len(solids)):
        joined = np.where((first <= reached + 1e-5) | over_gaps, last, -np.inf)
        best = joined.argmax(axis=0)
        farther = joined.max(axis=0) > reached + 1e-9
        if not farther.any():
            break
        reached = np.where(farther, joined.max(axis=0), reached)
        exit_normals = np.where(farther[:, None], normals[best, np.arange(len(points))], exit_normals)
    return reached, exit_normals
