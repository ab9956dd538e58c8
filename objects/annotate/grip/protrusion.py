"""Finds handles without a name: what stands out of a panel."""

from __future__ import annotations

import numpy as np
import scipy

from unlatch.objects.annotate.grip.cross_section import heights_in_front
from unlatch.objects.annotate.view import PROTRUSION_MIN_M, NamedMesh, PartView
from unlatch.objects.annotation import GRIP_MAX_M
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh

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
