"""Annotators with one value per pixel."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.simcore.geometry import Pinhole
from unlatch.simcore.sim.annotators.annotated_frame import AnnotatedFrame
from unlatch.simcore.sim.annotators.annotator import Annotator, Output

Array = np.ndarray

_DEPTH_TOLERANCE_M = 2e-3
"""Largest difference at 1 m between the depth of the image and that of the triangle that a pixel shows [m]. It grows
with the square of the distance, as the steps of depth buffers do."""


class Rgb(Annotator):
    """Colours without noise."""

    outputs: ClassVar[tuple[Output, ...]] = (Output("rgb", ("H", "W", 3), "uint8", "-", "Red, green and blue."),)

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        return {"rgb": frame.images.rgb}


class DistanceToImagePlane(Annotator):
    """Distance along the camera's z axis."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output(
            "distance_to_image_plane", ("H", "W"), "float32", "m", "Depth along z; infinite if the pixel shows nothing."
        ),
    )

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        return {"distance_to_image_plane": frame.images.depth_m}


class DistanceToCamera(Annotator):
    """Distance to the camera's centre along the ray of each pixel."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output(
            "distance_to_camera",
            ("H", "W"),
            "float32",
            "m",
            "Distance from the camera's centre; infinite if the pixel shows nothing.",
        ),
    )

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        return {"distance_to_camera": frame.distance_m}


class PointCloud(Annotator):
    """The visible point of each pixel, in the same order as colours and segmentation."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output("point_cloud", ("H", "W", 3), "float32", "m", "World frame; NaN if the pixel shows nothing."),
    )

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        points = frame.T_world_camera @ frame.points_camera()
        return {"point_cloud": points.astype(np.float32)}


class SemanticSegmentation(Annotator):
    """Segmentation by labels: things with the same labels share a number."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output(
            "semantic_segmentation",
            ("H", "W"),
            "int32",
            "-",
            "Key of `id_to_labels`; 0: nothing, 1: no label of these types.",
        ),
    )

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        id_of_link: Array = np.full(len(frame.link_names) + 1, 1, dtype=np.int32)
        id_of_link[0] = 0
        for entity in frame.all_entities:  # bodies come before their links, which are more specific
            id_of_link[list(entity.link_ids)] = frame.semantic_id(entity)
        return {"semantic_segmentation": id_of_link[frame.images.link_ids]}


class InstanceSegmentation(Annotator):
    """Segmentation by link of each body."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output("instance_segmentation", ("H", "W"), "int32", "-", "Index in `instance_labels`; 0: nothing."),
        Output("instance_labels", ("L",), "text", "-", "`nothing`, then `<body>/<link>` of every link."),
    )

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        return {
            "instance_segmentation": frame.images.link_ids,
            "instance_labels": np.array(["nothing", *frame.link_names]),
        }


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
        lengths, which = frame.nearest_triangles(mesh)
        with np.errstate(invalid="ignore"):
            known = (which >= 0) & (
                np.abs(lengths - frame.lengths_m) < _DEPTH_TOLERANCE_M * np.maximum(lengths, 1.0) ** 2
            )
        normals = _normals_from_image(frame)
        normals[known] = _visible_normals(mesh.vertices[mesh.faces[which[known]]])
        return {"normals": frame.T_world_camera.rotate(normals).astype(np.float32)}


def _normals_from_image(frame: AnnotatedFrame) -> Array:
    """(height, width, 3) normals in the camera frame from the image alone, for pixels without a fitting triangle."""
    if frame.images.normals is not None:
        return frame.images.normals.astype(float)
    if isinstance(frame.optics, Pinhole):
        return frame.optics.normals(frame.images.depth_m)
    return np.zeros((*frame.images.link_ids.shape, 3))


def _visible_normals(triangles: Array) -> Array:
    """(P, 3) unit normals of triangles (P, 3, 3) in the camera frame, on the side that the camera sees."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    away = np.einsum("ij,ij->i", normals, triangles[:, 0]) > 0.0
    unit: Array = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    return np.where(away[:, None], -unit, unit)
