"""Finds where a hand can hold and push a part: its handle, a protrusion, a pull in the front, or its free edge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy

from unlatch.objects.annotate.posing import PosedObject, cut_mesh, heights_in_front, outermost_interval
from unlatch.objects.annotate.view import (
    FINGER_DEPTH_M,
    HANDLE_NAMES,
    PROTRUSION_MIN_M,
    SHEET_M,
    SIDE_MIN_M,
    Grip,
    NamedMesh,
    PartView,
    named_meshes,
)
from unlatch.objects.annotation import GRIP_MAX_M, GRIP_MIN_M, HandleType, PartKind
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, join_meshes, sample_surface

CELLS = 48
"""Cells of the grid over the front, along its longer side."""
LARGEST_SHARE = 0.25
"""A piece that covers a larger share of the front is a step of the panel."""


def find_protrusions(view: PartView) -> list[NamedMesh]:
    """Returns the pieces of the part that stand out of its front as far as fingers need; largest first, without names.

    A grid of rays looks at the front along -x. The level of the front is the height of most cells. Connected cells that
    stand out are a piece if they are few, and narrow enough for a hand.
    """
    mesh = view.part_mesh
    low, high = view.bounds
    step = float(max(high[1] - low[1], high[2] - low[2])) / CELLS
    if step <= 0.0:
        return []
    axes = [np.arange(low[k] + step / 2, high[k], step) for k in (1, 2)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)  # (Y, Z, 2)
    heights = heights_in_front(mesh, grid.reshape(-1, 2)).reshape(grid.shape[:2])
    seen = np.isfinite(heights)
    if not seen.any():
        return []
    level = _front_level(heights[seen])
    labels, count = scipy.ndimage.label(seen & (heights > level + PROTRUSION_MIN_M), structure=np.ones((3, 3)))
    found = []
    for label in range(1, count + 1):
        cells = grid[labels == label]
        if len(cells) > LARGEST_SHARE * seen.sum():
            continue
        first, last = cells.min(axis=0) - step, cells.max(axis=0) + step
        if float(np.min(last - first)) > GRIP_MAX_M + 2 * step:
            continue
        piece = _cut_rectangle(mesh, first, last, level + 0.002)
        if len(piece.faces):
            found.append((len(cells), NamedMesh("", piece)))
    return [item for _, item in sorted(found, key=lambda pair: -pair[0])]


def _front_level(heights: np.ndarray) -> float:
    """Returns the height that most cells share, to within the depth that fingers need."""
    levels, level_of, times = np.unique(heights, return_inverse=True, return_counts=True)
    counts = np.array([times[np.abs(levels - level) < PROTRUSION_MIN_M / 2].sum() for level in levels])
    return float(heights[int(np.argmax(counts[level_of]))])


def _cut_rectangle(mesh: TriangleMesh, first: np.ndarray, last: np.ndarray, above: float) -> TriangleMesh:
    """Returns the triangles over a rectangle of the y-z plane whose middle stands out."""
    corners = mesh.triangles
    middle = corners.mean(axis=1)
    inside = np.all((corners[:, :, 1:] >= first) & (corners[:, :, 1:] <= last), axis=(1, 2)) & (middle[:, 0] > above)
    used, faces = np.unique(mesh.faces[inside], return_inverse=True)
    return TriangleMesh(mesh.vertices[used], faces.reshape(-1, 3))


_STILE_MIN_M = 0.009
"""Fingers do not hold a stile that stands out of its pane by less: their tips stay clear of the pane."""


def front_pull(view: PartView) -> Grip | None:
    """Returns the grip of a named handle, else of a pull, else of the upright stile that goes ahead as the panel opens.

    The fingers close along the motion. None: the part does not slide in its plane, or nothing of it can be held so.
    """
    if view.front is None:
        return None
    R = np.column_stack([view.front, np.cross([0.0, 0.0, 1.0], view.front), [0.0, 0.0, 1.0]])
    turned = replace(view, part=_turn_all(view.part, R), body=_turn_all(view.body, R))
    named = named_meshes(turned, HANDLE_NAMES)
    found = [_pull_box(item.mesh) for item in named or find_protrusions(turned)]
    box = next((each for each in found if each is not None), None)
    if box is None and not named:
        box = _stile_box(turned, float(R[0, 1]))
    if box is None:
        return None
    low, high = box
    depth, width, height = high - low
    centre = (low + high) / 2
    centre[0] = high[0] - min(depth / 2, FINGER_DEPTH_M)
    return Grip(
        type=HandleType.knob,
        centre=R @ centre,
        R_handle=np.eye(3),
        size=np.array([width, depth, height]),
    )


def _turn_all(items: list[NamedMesh], R: np.ndarray) -> list[NamedMesh]:
    return [replace(item, mesh=TriangleMesh(item.mesh.vertices @ R, item.mesh.faces)) for item in items]


def _pull_box(mesh: TriangleMesh) -> tuple[np.ndarray, np.ndarray] | None:
    """Returns the box of what stands out of a pull as far as fingers need; None if it is too wide for them."""
    points = sample_surface(mesh, spacing_m=0.003, max_points=40_000)
    back, front = points[:, 0].min(), points[:, 0].max()
    outer = points[points[:, 0] > back + 0.35 * (front - back)]
    low, high = outer.min(axis=0), outer.max(axis=0)
    fits = GRIP_MIN_M <= high[1] - low[1] <= GRIP_MAX_M and front - back >= PROTRUSION_MIN_M
    return (low, high) if fits else None


def _stile_box(view: PartView, opens: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Returns the box of the outermost upright stile on the side to which the panel opens (+1: +y), at half height."""
    low, high = view.bounds
    step = float(high[1] - low[1]) / (4 * CELLS)
    across = np.arange(low[1] + step / 2, high[1], step)
    middle = float(low[2] + high[2]) / 2
    heights = heights_in_front(view.part_mesh, np.column_stack([across, np.full(len(across), middle)]))
    pane = float(np.median(heights[np.isfinite(heights)])) if np.isfinite(heights).any() else np.inf
    if opens > 0.0:
        across, heights = across[::-1], heights[::-1]
    stands = heights >= pane + _STILE_MIN_M
    count = int(np.argmin(stands)) if not stands.all() else 0
    width = count * step
    if not GRIP_MIN_M <= width <= GRIP_MAX_M:
        return None
    near, far = sorted((across[0], across[count - 1]))
    front = float(heights[:count].max())
    half = min(0.25 * float(high[2] - low[2]), GRIP_MAX_M)
    return (
        np.array([pane, near - step / 2, middle - half]),
        np.array([front, far + step / 2, middle + half]),
    )


_TIP_SHARE = 0.9
"""The tip of a lever begins at this share of its reach."""
STUB_M = 0.08
"""A slider that is narrower than this is held as a whole, or pressed [m]."""
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
    if not view.rises and float(np.min((high - low)[1:])) > STUB_M:
        return None  # a drawer: the piece of it that stands out of its cabinet is too flat to be a handle
    points = sample_surface(view.part_mesh, spacing_m=0.004, max_points=20_000)
    if len(view.body_mesh.faces):
        clear = points[_is_clear_of_body(view, points)]
        points = clear if len(clear) >= 0.02 * len(points) else points
    low, high = points.min(axis=0), points.max(axis=0)
    extents = high - low
    if float(np.min(extents[1:])) > STUB_M or float(np.max(extents[1:])) > 2 * STUB_M or extents[0] < SIDE_MIN_M:
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


def is_uncovered(view: PartView, travel_m: float) -> bool:
    """Returns whether nothing is in front of a closed slider that moves out by `travel_m` [m]."""
    return _body_before(view) <= float(view.bounds[1][0]) + travel_m


def is_small_stud(view: PartView, *, stands_out: bool = False) -> bool:
    """Returns whether a slider is a small piece in the surface of the body, too flat for fingers to hold.

    With `stands_out`, it may also stand far out of the surface.
    """
    low, high = view.bounds
    if float(np.max((high - low)[1:])) > STUB_M or not len(view.body_mesh.faces):
        return False
    back, front = (float(view.body_mesh.vertices[:, 0].min()), float(view.body_mesh.vertices[:, 0].max()))
    is_in_front = high[0] >= back + _SURFACE_SHARE * (front - back)
    return bool(is_in_front and (stands_out or high[0] - _body_before(view) < PROTRUSION_MIN_M))


def _body_before(view: PartView) -> float:
    """Returns where the body ends on the line to the hand through the part's middle, along x [m]; -inf: not there."""
    low, high = view.bounds
    return float(heights_in_front(view.body_mesh, ((low + high) / 2)[None, 1:])[0])


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
    outward = (flat.min(axis=0) + flat.max(axis=0)) / 2
    if np.any((flat.min(axis=0) > 0.0) | (flat.max(axis=0) < 0.0)):
        # a small knob on a plate is beside the axis: fingers that close towards the axis do not turn the plate
        best = int(np.argmax(np.where(widths <= GRIP_MAX_M, np.abs(directions @ outward), -1.0)))
    else:
        outward = np.zeros(2)
    y = np.array([0.0, *directions[best]])
    z = np.cross([1.0, 0.0, 0.0], y)
    middle = (flat @ y[1:]).min() / 2 + (flat @ y[1:]).max() / 2
    centre = np.array([front - depth, *view.origin[1:]]) + y * float(middle) + z * float(outward @ z[1:])
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


_SPOT_M = 0.025
"""Half the side of the clear square that a push needs."""
_RIM_M = 0.06
"""Distance of a push from the rim: a fingertip may slide by 5 cm, and beyond the rim it loses the part."""
_RIM_SHARE = 0.3
"""Distance of a push from the rim of a small part, as a share of its size."""
_PALM_M = 0.1
"""Half the width of a hand; a leaning palm touches things this near to the spot if they stand out too far."""
_STANDING_OUT_M = 0.012
"""A thing that stands out by less than this does not touch the palm."""


def push_point(view: PartView, grip: Grip) -> np.ndarray:
    """Returns (3,) a clear spot on the part, far from the hinge or central on a drawer [m], work frame."""
    if view.kind in (PartKind.knob, PartKind.lever):
        return _surface_point(view.part_mesh, grip.centre)
    handles = handle_names(view)
    panel = join_meshes([p.mesh for p in view.part if p.name not in handles] or [view.part_mesh])
    obstacles = join_meshes([p.mesh for p in view.part if p.name in handles]) if handles else None
    low, high = panel.vertices.min(axis=0)[1:], panel.vertices.max(axis=0)[1:]
    counts = np.clip(((high - low) / 0.012).astype(int), 5, 40)
    axes = [np.linspace(a, b, n + 2)[1:-1] for a, b, n in zip(low, high, counts, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)  # (Y, Z, 2)
    heights = heights_in_front(panel, grid.reshape(-1, 2)).reshape(grid.shape[:2])
    steps = [max(float(axis[1] - axis[0]), 1e-6) for axis in axes]
    spot = {"size": [2 * max(1, round(_SPOT_M / step)) + 1 for step in steps], "mode": "nearest"}
    palm = {"size": [2 * round(_PALM_M / step) + 1 for step in steps], "mode": "nearest"}
    rim = np.minimum(_RIM_M, _RIM_SHARE * (high - low))
    with np.errstate(invalid="ignore"):  # where a ray misses, the height is -inf, and differences may be NaN
        relief = scipy.ndimage.maximum_filter(heights, **spot) - scipy.ndimage.minimum_filter(heights, **spot)
        standing_out = scipy.ndimage.maximum_filter(heights, **palm) - heights
    uneven = np.minimum(relief, 0.05)
    off_rim = np.max(rim - np.minimum(grid - low, high - grid), axis=-1)
    near = 0.0 if obstacles is None else np.maximum(0.0, 0.06 - _gaps_to_box(obstacles, grid))
    scores = (
        _leverage(view, grid, low, high)
        - 40.0 * np.maximum(0.0, uneven - 0.004)
        - 20.0 * near
        - 10.0 * np.maximum(0.0, off_rim)
        - 15.0 * np.maximum(0.0, standing_out - _STANDING_OUT_M)
    )
    scores = np.where(np.isfinite(heights), scores, -np.inf)
    i, j = np.unravel_index(int(np.argmax(scores)), scores.shape)
    if not np.isfinite(scores[i, j]):
        return _surface_point(view.part_mesh, grip.centre)
    return np.array([heights[i, j], *grid[i, j]])


def body_point(posed: PosedObject) -> np.ndarray | None:
    """Returns (3,) the point of the body nearest to its upper front edge [m], root frame; None without a body."""
    mesh = join_meshes([p.mesh for p in posed.body_collisions])
    if not len(mesh.vertices):
        return None
    high, low = mesh.vertices.max(axis=0), mesh.vertices.min(axis=0)
    return _surface_point(mesh, np.array([high[0] - 0.05, (low[1] + high[1]) / 2, high[2]]))


def _surface_point(mesh: TriangleMesh, point: np.ndarray) -> np.ndarray:
    """Returns (3,) the vertex or the middle of a triangle that is nearest to a point."""
    points = np.concatenate([mesh.vertices, mesh.triangles.mean(axis=1)])
    return points[int(np.argmin(np.linalg.norm(points - point, axis=1)))]


def _leverage(view: PartView, points: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Returns how well a push at points (..., 2) moves the part, 0 to 1.

    For a hinged part, the value grows with the distance from the hinge, and towards the middle of the hinge. For a
    drawer, it grows towards the middle.
    """
    width, height = (max(float(v), 1e-6) for v in high - low)
    off_y, off_z = np.moveaxis(np.abs(points - (low + high) / 2), -1, 0)
    if view.slides:
        return 1.0 - off_y / width - 0.5 * off_z / height
    levers = view.free_side * (points[..., 0] - view.origin[1])
    return levers / width - 0.5 * off_z / height


def _gaps_to_box(mesh: TriangleMesh, points_yz: np.ndarray) -> np.ndarray:
    """Returns the distances of points (..., 2) from the bounding box of a mesh in the y-z plane [m]."""
    low, high = mesh.vertices.min(axis=0)[1:], mesh.vertices.max(axis=0)[1:]
    return np.linalg.norm(np.maximum(np.maximum(low - points_yz, points_yz - high), 0.0), axis=-1)
