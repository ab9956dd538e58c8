"""Finds where a hand from the front holds a panel that slides in its own plane, such as a sliding window or door."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unlatch.objects.annotate.grip.cross_section import heights_in_front
from unlatch.objects.annotate.grip.protrusion import CELLS, find_protrusions
from unlatch.objects.annotate.view import (
    FINGER_DEPTH_M,
    HANDLE_NAMES,
    PROTRUSION_MIN_M,
    Grip,
    NamedMesh,
    PartView,
    named_meshes,
)
from unlatch.objects.annotation import GRIP_MAX_M, GRIP_MIN_M, HandleType
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, sample_surface

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
