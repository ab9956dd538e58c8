"""Approximates any mesh by hollow boxes: slower in collisions than hulls, but without filled cavities."""

from __future__ import annotations

import numpy as np

from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, sample_surface


def voxel_boxes(mesh: TriangleMesh, *, cells: int, thickness_m: float) -> list[np.ndarray]:
    """Covers the surface of a mesh, watertight or not, with axis-parallel boxes; returns the corners (8, 3) of each.

    The surface is sampled, cells of a grid that hold samples are merged greedily into boxes, and each box shrinks to
    the samples in it: a wall that is parallel to an axis becomes one box of its true thickness. The grid has `cells`
    cells along the longest side; no box is thinner than `thickness_m`.
    """
    pitch = float(np.max(mesh.extents)) / cells
    points = sample_surface(mesh, spacing_m=pitch / 2)
    origin = mesh.vertices.min(axis=0) - pitch * 0.25
    cell = np.floor((points - origin) / pitch).astype(int)
    grid = np.zeros(cell.max(axis=0) + 1, dtype=bool)
    grid[tuple(cell.T)] = True
    owner = np.full(grid.shape, -1)
    spans = _merge_cells(grid, owner)
    member = owner[tuple(cell.T)]
    order = np.argsort(member, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(member, minlength=len(spans)))])
    boxes = []
    for number in range(len(spans)):
        inside = points[order[starts[number] : starts[number + 1]]]
        low, high = inside.min(axis=0), inside.max(axis=0)
        missing = np.maximum(thickness_m - (high - low), 0.0) / 2
        low, high = low - missing, high + missing
        boxes.append(
            np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])
        )
    return boxes


def _merge_cells(grid: np.ndarray, owner: np.ndarray) -> list[tuple[slice, slice, slice]]:
    """Merges occupied cells greedily into boxes; fills `owner` with the number of each cell's box."""
    free = grid.copy()
    spans: list[tuple[slice, slice, slice]] = []
    for cell in zip(*np.nonzero(grid), strict=True):
        if not free[cell]:
            continue
        start = np.array(cell, dtype=int)
        end = start + 1
        # Grow along each axis in turn, the longest run first, so that walls become plates.
        runs = [_count_free_layers(free, start, end, axis) for axis in range(3)]
        for axis in sorted(range(3), key=lambda k: -runs[k]):
            end[axis] += _count_free_layers(free, start, end, axis)
        span = tuple(slice(int(a), int(b)) for a, b in zip(start, end, strict=True))
        owner[span] = len(spans)
        free[span] = False
        spans.append((span[0], span[1], span[2]))
    return spans


def _count_free_layers(free: np.ndarray, start: np.ndarray, end: np.ndarray, axis: int) -> int:
    """Returns the number of further free layers along an axis."""
    count = 0
    window = [slice(int(a), int(b)) for a, b in zip(start, end, strict=True)]
    while int(end[axis]) + count < free.shape[axis]:
        window[axis] = slice(int(end[axis]) + count, int(end[axis]) + count + 1)
        if not free[tuple(window)].all():
            break
        count += 1
    return count
