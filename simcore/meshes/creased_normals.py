"""Normals for smooth shading."""

from __future__ import annotations

import numpy as np

from unlatch.simcore.meshes.triangle_mesh import TriangleMesh

Array = np.ndarray


def creased_normals(mesh: TriangleMesh, *, crease_rad: float) -> Array:
    """(F, 3, 3) unit normals at the corners for smooth shading, with sharp edges kept.

    The normal at a corner is the mean over the faces at its vertex that bend from its own face by less than a crease
    [rad], weighted by their areas.
    """
    places, merged = np.unique(np.round(mesh.vertices, 7), axis=0, return_inverse=True)
    corners = merged.reshape(-1)[mesh.faces]  # (F, 3)
    weighted = mesh.area_normals
    unit = weighted / np.maximum(np.linalg.norm(weighted, axis=1, keepdims=True), 1e-30)
    order = np.argsort(corners, axis=None, kind="stable")
    at, of = corners.ravel()[order], order // 3
    counts = np.bincount(at, minlength=len(places))
    starts = np.cumsum(counts) - counts
    repeats = counts[at]  # every corner meets all corners at its vertex
    first: Array = np.repeat(np.arange(len(at)), repeats)
    second = (
        np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats) + np.repeat(starts[at], repeats)
    )
    near = np.einsum("ij,ij->i", unit[of[first]], unit[of[second]]) >= np.cos(crease_rad)
    total = np.stack(
        [np.bincount(first[near], weights=weighted[of[second[near]], axis], minlength=len(at)) for axis in range(3)],
        axis=-1,
    )
    made = np.empty((len(at), 3))
    made[order] = total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-30)
    return made.reshape(-1, 3, 3)
