"""Finds where two fingers can hold a part: a named handle, what stands out of it, or its free edge."""

from __future__ import annotations

import numpy as np

from unlatch.objects.annotate.grip.cross_section import cut_mesh, heights_in_front, outermost_interval
from unlatch.objects.annotate.grip.edge import door_edge_grip, knob_grip, lever_grip, slider_edge_grip, stub_grip
from unlatch.objects.annotate.grip.front_pull import front_pull
from unlatch.objects.annotate.grip.protrusion import find_protrusions
from unlatch.objects.annotate.view import (
    FINGER_DEPTH_M,
    HANDLE_NAMES,
    PROTRUSION_MIN_M,
    SIDE_MIN_M,
    Grip,
    NamedMesh,
    PartView,
    named_meshes,
)
from unlatch.objects.annotation import GRIP_MAX_M, GRIP_MIN_M, HandleType, PartKind
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, join_meshes, sample_surface

LOCK_NAMES = ("switch", "knob")
"""Lock wheels and dials count as fixed: a hand can pull a door by them if it has no handle."""
_ROUNDING_M = 1e-5
"""Numbers in a mesh file are rounded: a handle may be this much too wide."""
_LEAST_LEVER = 0.1
"""A named handle is nearer to the hinge than this share of the part only on a lid or door that turns about its middle:
then it is on the side that moves into the body, or on the axis."""
_FLOATING_M = 0.005
"""If the gap between a handle and the panel is larger than this, the model lacks the posts of the handle."""


def find_grip(view: PartView) -> Grip:
    """Returns the best grip: from the front if the panel slides in its own plane, else of a named handle, else of a
    protrusion, else of the free edge.
    """
    if view.kind is PartKind.knob:
        return knob_grip(view)
    if view.kind is PartKind.lever:
        return lever_grip(view)
    if (pull := front_pull(view)) is not None:
        return pull
    others = (named_meshes(view, LOCK_NAMES), find_protrusions(view))
    named = _far_from_hinge(view, named_meshes(view, HANDLE_NAMES), share=_LEAST_LEVER)
    for found in (named, *(_far_from_hinge(view, items, share=0.5) for items in others)):
        grips = [grip for item in found if (grip := handle_grip(view, item)) is not None]
        if grips:
            return _best_grip(view, grips)
    if view.slides:
        return stub_grip(view) or slider_edge_grip(view)
    return door_edge_grip(view)


def handle_names(view: PartView) -> set[str]:
    """Returns the names of the meshes that a hand could hold; empty if the part consists only of them."""
    return {item.name for item in named_meshes(view, HANDLE_NAMES + LOCK_NAMES)}


def handle_grip(view: PartView, handle: NamedMesh) -> Grip | None:
    """Returns the grip of a mesh that stands out of the part; None if a hand cannot hold it."""
    mesh = handle.mesh
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    face = _face_behind(view, handle, low, high)
    if high[0] - face < PROTRUSION_MIN_M:
        return None
    # Feet and stray triangles lie on the panel: only what stands out shows how long the handle is.
    points = sample_surface(mesh, spacing_m=0.003, max_points=40_000)
    points = points[points[:, 0] > face + 0.35 * (high[0] - face)]
    low, high = points.min(axis=0), points.max(axis=0)
    extents = high - low
    knob = float(extents[1:].max()) < 1.5 * float(extents[1:].min()) and float(extents[1:].max()) < 0.09
    along = 2 if extents[2] >= extents[1] else 1
    across = 3 - along
    for share in (0.5, 0.42, 0.58, 0.3, 0.7, 0.2, 0.8):
        at = float(low[along] + share * extents[along])
        section = cut_mesh(mesh, axis=along, at=at)
        depth = outermost_interval(section, axis=0)
        if depth is None or depth[1] - face < PROTRUSION_MIN_M:
            continue
        outer = section[section[:, :, 0].max(axis=1) >= depth[0] - 1e-6]
        thin, thick = float(outer[:, :, across].min()), float(outer[:, :, across].max())
        if not GRIP_MIN_M <= thick - thin <= GRIP_MAX_M + _ROUNDING_M:
            continue
        if not handle.name and depth[1] - depth[0] < SIDE_MIN_M:
            continue  # a thin sheet in front of the panel: it has no sides that fingers can press on
        centre = np.zeros(3)
        centre[0] = min(max(depth[1] - min((depth[1] - depth[0]) / 2, FINGER_DEPTH_M), face + 0.012), depth[1] - 0.002)
        centre[along], centre[across] = at, (thin + thick) / 2
        z = np.eye(3)[along]
        return Grip(
            type=HandleType.knob if knob else HandleType.bar,
            centre=centre,
            R_handle=np.column_stack([[1.0, 0.0, 0.0], np.cross(z, [1.0, 0.0, 0.0]), z]),
            size=np.array([depth[1] - depth[0], thick - thin, extents[along]]),
            clearance_m=max(0.0, depth[0] - face),
            name=handle.name,
        )
    return None


def _best_grip(view: PartView, grips: list[Grip]) -> Grip:
    hint = view.hint
    if hint is not None:
        return min(grips, key=lambda grip: float(np.linalg.norm(grip.centre - hint)))
    # Bars come before knobs, and longer ones first.
    return max(grips, key=lambda grip: (grip.type is HandleType.bar, float(grip.size[2])))


def _far_from_hinge(view: PartView, found: list[NamedMesh], *, share: float) -> list[NamedMesh]:
    """Returns the meshes beyond a share of the way from the hinge to the free side: nearer, a pull has no leverage."""
    if view.slides:
        return found
    low, high = view.bounds
    reach = (high[1] - view.origin[1]) if view.free_side > 0.0 else (view.origin[1] - low[1])
    least = share * float(min(reach, high[1] - low[1]))
    middles = [(item.mesh.vertices.min(axis=0) + item.mesh.vertices.max(axis=0)) / 2 for item in found]
    levers = [view.free_side * float(middle[1] - view.origin[1]) for middle in middles]
    return [item for item, lever in zip(found, levers, strict=True) if lever >= least]


def _face_behind(view: PartView, handle: NamedMesh, low: np.ndarray, high: np.ndarray) -> float:
    """Returns where the panel is behind a handle [m along x]; the inner end of the handle if nothing is there."""
    others = [item.mesh for item in (*view.part, *view.body) if not handle.name or item.name != handle.name]
    panel = join_meshes(others) if handle.name else _without_piece(join_meshes(others), handle.mesh)
    middle = (low + high)[1:] / 2
    half = (high - low)[1:] / 2
    points = [middle + half * np.array([u, v]) for u in (-0.8, 0.0, 0.8) for v in (-0.8, 0.0, 0.8)]
    heights = heights_in_front(panel, np.array(points))
    heights = heights[heights > low[0] - 0.05]
    if not handle.name:  # found by its shape: its inner end is on the panel, unless the model lacks its posts
        behind = heights[heights < low[0] - _FLOATING_M]
        return float(np.median(behind)) if len(behind) == len(heights) > 0 else float(low[0])
    return float(np.median(heights)) if len(heights) else float(low[0])


def _without_piece(mesh: TriangleMesh, piece: TriangleMesh) -> TriangleMesh:
    """Returns a mesh without the triangles of a piece of it."""
    low, high = piece.vertices.min(axis=0) - _ROUNDING_M, piece.vertices.max(axis=0) + _ROUNDING_M
    corners = mesh.triangles
    inside = np.all((corners >= low) & (corners <= high), axis=(1, 2))
    return TriangleMesh(mesh.vertices, mesh.faces[~inside])
