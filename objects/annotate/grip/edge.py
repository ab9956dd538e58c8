"""Finds where to hold a part without a handle: its free edge, its tip, or the part itself."""

from __future__ import annotations

import numpy as np

from unlatch.objects.annotate.grip.cross_section import cut_mesh, heights_in_front
from unlatch.objects.annotate.view import FINGER_DEPTH_M, PROTRUSION_MIN_M, SHEET_M, SIDE_MIN_M, Grip, PartView
from unlatch.objects.annotation import GRIP_MAX_M, HandleType
from unlatch.simcore.meshes.triangle_mesh import sample_surface

_TIP_SHARE = 0.9
"""The tip of a lever begins at this share of its reach."""
_STUB_M = 0.08
"""A slider that is narrower than this is held as a whole."""
_SURFACE_SHARE = 0.75
"""A button ends in the last quarter of the body, on the side to which it comes out."""


def door_edge_grip(view: PartView) -> Grip:
    """Returns the grip at the free edge of a hinged part: at the height of `view.hint`, or else at half height."""
    mesh = view.part_mesh
    low, high = view.bounds
    away = view.free_side
    middle = (low[2] + high[2]) / 2
    wanted = middle if view.hint is None else float(view.hint[2])
    span = 0.35 * (high[2] - low[2])
    heights = [float(np.clip(wanted, middle - span, middle + span)), middle, middle + span / 2, middle - span / 2]
    for z in heights:
        section = cut_mesh(mesh, axis=2, at=z + 1e-5)
        if not len(section):
            continue
        edge = float((section[:, :, 1] * away).max()) * away
        rim = section[(section[:, :, 1] * away).max(axis=1) >= edge * away - 0.02]
        back, front = float(rim[:, :, 0].min()), float(rim[:, :, 0].max())
        thickness = max(front - back, SHEET_M)
        inset = min(FINGER_DEPTH_M, 0.2 * float(np.ptp(section[:, :, 1])))
        return Grip(
            type=HandleType.edge if thickness <= GRIP_MAX_M else HandleType.none,
            centre=np.array([max((front + back) / 2, front - GRIP_MAX_M / 2), edge - away * inset, z]),
            R_handle=np.column_stack([[0.0, away, 0.0], [-away, 0.0, 0.0], [0.0, 0.0, 1.0]]),
            size=np.array([2 * inset, thickness, high[2] - low[2]]),
        )
    return Grip(HandleType.none, (low + high) / 2, np.eye(3), np.zeros(3))


def slider_edge_grip(view: PartView) -> Grip:
    """Returns the grip at the upper edge of a drawer's front panel, in its middle."""
    mesh = view.part_mesh
    low, high = view.bounds
    middle = (low[1] + high[1]) / 2
    wanted = middle if view.hint is None else float(np.clip(view.hint[1], low[1], high[1]))
    for y in (wanted, middle, low[1] + 0.35 * (high[1] - low[1])):
        section = cut_mesh(mesh, axis=1, at=y + 1e-5)
        front = section[section[:, :, 0].min(axis=1) >= high[0] - 0.04] if len(section) else section
        if not len(front):
            continue
        top = float(front[:, :, 2].max())
        rim = front[front[:, :, 2].max(axis=1) >= top - 0.02]
        back, face = float(rim[:, :, 0].min()), float(rim[:, :, 0].max())
        thickness = max(face - back, SHEET_M)
        return Grip(
            type=HandleType.edge,
            centre=np.array([(face + back) / 2, y, top - FINGER_DEPTH_M]),
            R_handle=np.column_stack([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
            size=np.array([2 * FINGER_DEPTH_M, thickness, high[1] - low[1]]),
        )
    return Grip(HandleType.none, np.array([high[0], middle, (low[2] + high[2]) / 2]), np.eye(3), np.zeros(3))


def stub_grip(view: PartView) -> Grip | None:
    """Returns the grip of a small slider, such as the lever of a toaster, held as a whole; None for a large one.

    Much of such a part may run inside the body: only what stands clear of it can be held.
    """
    low, high = view.bounds
    if not view.rises and float(np.min((high - low)[1:])) > _STUB_M:
        return None  # a drawer: the piece of it that stands out of its cabinet is too flat to be a handle
    points = sample_surface(view.part_mesh, spacing_m=0.004, max_points=20_000)
    if len(view.body_mesh.faces):
        clear = points[_is_clear_of_body(view, points)]
        points = clear if len(clear) >= 0.02 * len(points) else points
    low, high = points.min(axis=0), points.max(axis=0)
    extents = high - low
    if float(np.min(extents[1:])) > _STUB_M or float(np.max(extents[1:])) > 2 * _STUB_M or extents[0] < SIDE_MIN_M:
        return None
    along = 2 if extents[2] >= extents[1] else 1
    across = 3 - along
    depth = min(FINGER_DEPTH_M, extents[0] / 2)
    centre = (low + high) / 2
    centre[0] = high[0] - depth
    # the middle of the bounding box of a curved piece may be off the piece; then its nearest surface point is taken
    centre = _keep_near(centre, points, float(np.min(extents)) / 2 + 0.005)
    z = np.eye(3)[along]
    return Grip(
        type=HandleType.knob if extents[across] <= GRIP_MAX_M else HandleType.none,
        centre=centre,
        R_handle=np.column_stack([[1.0, 0.0, 0.0], np.cross(z, [1.0, 0.0, 0.0]), z]),
        size=np.array([extents[0], max(extents[across], SHEET_M), extents[along]]),
    )


def is_small_stud(view: PartView, travel_m: float) -> bool:
    """Returns whether a slider is a small piece in the surface of the body, with nothing in front of it.

    Args:
        view: The closed part.
        travel_m: How far it moves out of the body [m].
    """
    low, high = view.bounds
    if float(np.max((high - low)[1:])) > _STUB_M or not len(view.body_mesh.faces):
        return False
    back, front = (float(view.body_mesh.vertices[:, 0].min()), float(view.body_mesh.vertices[:, 0].max()))
    before = float(heights_in_front(view.body_mesh, ((low + high) / 2)[None, 1:])[0])
    if high[0] < back + _SURFACE_SHARE * (front - back) or before > high[0] + travel_m:
        return False
    return high[0] - before < PROTRUSION_MIN_M  # else fingers hold it


def button_grip(view: PartView) -> Grip:
    """Returns the middle of the face of a button, which a hand presses and cannot hold.

    On a switch, it is the middle of the side that rises when the switch opens.
    """
    low, high = view.bounds
    _, y, z = (low + high) / 2
    if view.is_switch:
        y = (view.origin[1] + (high if view.free_side > 0.0 else low)[1]) / 2
    return Grip(HandleType.none, np.array([high[0], y, z]), np.eye(3), np.zeros(3))


def knob_grip(view: PartView) -> Grip:
    """Returns the grip of a knob, across its outer end, or across its blade."""
    points = sample_surface(view.part_mesh, spacing_m=0.002, max_points=40_000)
    front = float(points[:, 0].max())
    depth = min(FINGER_DEPTH_M, 0.5 * float(np.ptp(points[:, 0])))
    head = points[points[:, 0] >= front - 2 * depth - 1e-6]
    flat = head[:, 1:] - view.origin[1:]
    angles = np.arange(36) * np.pi / 36
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)  # (36, 2)
    widths = np.array([np.ptp(flat @ d) for d in directions])
    # if several widths are equal, the first one is taken; the first direction is y of the work frame
    best = int(np.argmin(np.round(widths, 3)))
    y = np.array([0.0, *directions[best]])
    z = np.cross([1.0, 0.0, 0.0], y)
    middle = (flat @ y[1:]).min() / 2 + (flat @ y[1:]).max() / 2
    centre = np.array([front - depth, *view.origin[1:]]) + y * float(middle)
    return Grip(
        type=HandleType.knob if widths[best] <= GRIP_MAX_M else HandleType.none,
        centre=centre,
        R_handle=np.column_stack([[1.0, 0.0, 0.0], y, z]),
        size=np.array([2 * depth, max(float(widths[best]), SHEET_M), float(np.ptp(flat @ z[1:]))]),
    )


def lever_grip(view: PartView) -> Grip:
    """Returns the grip at the far end of a lever, across its motion."""
    points = sample_surface(view.part_mesh, spacing_m=0.003, max_points=40_000)
    relative = points - view.origin
    # a bail, whose axis is z, points along x of the work frame; any other lever points along z
    far = relative[:, 0] if abs(view.axis[2]) > 0.9 else relative[:, 2]
    tip = points[far >= _TIP_SHARE * float(far.max())]
    low, high = tip.min(axis=0), tip.max(axis=0)
    centre = (low + high) / 2
    thickness = float(high[1] - low[1])
    centre = _keep_near(centre, tip, 0.5 * max(thickness, float(high[0] - low[0])) + 0.002)
    return Grip(
        type=HandleType.bar if thickness <= GRIP_MAX_M else HandleType.none,
        centre=centre,
        R_handle=np.eye(3),
        size=np.array([high[0] - low[0], max(thickness, SHEET_M), high[2] - low[2]]),
    )


def _is_clear_of_body(view: PartView, points: np.ndarray) -> np.ndarray:
    """Returns (N,) whether points of the part are clear of the body: outside its box, or in front of it along x."""
    low, high = view.body_mesh.vertices.min(axis=0), view.body_mesh.vertices.max(axis=0)
    outside = np.any((points < low - 1e-4) | (points > high + 1e-4), axis=1)
    if outside.any():
        return outside
    return points[:, 0] > heights_in_front(view.body_mesh, points[:, 1:])


def _keep_near(centre: np.ndarray, points: np.ndarray, distance_m: float) -> np.ndarray:
    """Returns (3,) a centre, or the nearest one of the points (N, 3) if all are farther away than a distance."""
    distances = np.linalg.norm(points - centre, axis=1)
    nearest = int(np.argmin(distances))
    return points[nearest] if distances[nearest] > distance_m else centre
