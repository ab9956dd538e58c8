"""Surface normals."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.simcore.geometry import Pinhole
from unlatch.simcore.sim.annotators.annotated_frame import AnnotatedFrame
from unlatch.simcore.sim.annotators.annotator import Annotator, Output

Array = np.ndarray

_SAME_M = 2e-3
"""A triangle is what a pixel shows if its depth is that of the image within this at 1 m; depth buffers get coarser with
the square of the distance."""


class Normals(Annotator):
    """Unit normals of visible triangles; if none fits the image, computed from the depth around the pixel."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output(
            "normals", ("H", "W", 3), "float32", "-", "World frame, towards the camera; 0 if the pixel shows nothing."
        ),
    )

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        mesh = frame.seen_mesh()
        lengths, which = frame.nearest(mesh)
        with np.errstate(invalid="ignore"):
            known = (which >= 0) & (np.abs(lengths - frame.lengths_m) < _SAME_M * np.maximum(lengths, 1.0) ** 2)
        normals = _without_triangles(frame)
        normals[known] = _towards_camera(mesh.vertices[mesh.faces[which[known]]])
        return {"normals": frame.T_world_camera.rotate(normals).astype(np.float32)}


def _without_triangles(frame: AnnotatedFrame) -> Array:
    """(height, width, 3) normals in the camera frame from the image alone, for pixels without a fitting triangle."""
    if frame.images.normals is not None:
        return frame.images.normals.astype(float)
    if isinstance(frame.optics, Pinhole):
        return frame.optics.normals(frame.images.depth_m)
    return np.zeros((*frame.images.link_ids.shape, 3))


def _towards_camera(triangles: Array) -> Array:
    """(P, 3) unit normals of triangles (P, 3, 3) in the camera frame, on the side that the camera sees."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    away = np.einsum("ij,ij->i", normals, triangles[:, 0]) > 0.0
    unit: Array = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    return np.where(away[:, None], -unit, unit)
