"""The annotators: values of each pixel, boxes, keypoints, poses and the hidden share of an entity."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.simcore.cameras import Fisheye, Pinhole
from unlatch.simcore.meshes.silhouette import clip_at_near_plane
from unlatch.simcore.sim.annotators.annotation import AnnotatedFrame, Annotator, Entity, Output

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


class TightBoxes2d(Annotator):
    """Boxes around the pixels that show a thing."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output(
            "boxes_2d_tight",
            ("N", 4),
            "int32",
            "px",
            "First and last column and row that show the thing: x_min, y_min, x_max, y_max; -1 if hidden.",
        ),
        Output("visible_px", ("N",), "int32", "px", "Number of pixels that show the thing."),
    )

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        boxes: Array = np.full((len(frame.entities), 4), -1, dtype=np.int32)
        for row, entity in enumerate(frame.entities):
            if frame.visible_px(entity):
                boxes[row] = _pixel_range(frame.mask(entity))
        counts = np.array([frame.visible_px(entity) for entity in frame.entities], dtype=np.int32)
        return {"boxes_2d_tight": boxes, "visible_px": counts}


class LooseBoxes2d(Annotator):
    """Extents of the projected triangles, clipped to the image."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output(
            "boxes_2d_loose",
            ("N", 4),
            "float32",
            "px",
            "x_min, y_min, x_max, y_max of the outline with hidden parts, cut at the image's edges; NaN outside.",
        ),
    )

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        boxes = [_box_of_entity(frame, entity) for entity in frame.entities]
        return {"boxes_2d_loose": np.array(boxes, dtype=np.float32).reshape(-1, 4)}


def _box_of_entity(frame: AnnotatedFrame, entity: Entity) -> Array:
    if isinstance(frame.optics, Fisheye):  # a fisheye bends straight lines: corners do not bound the projection
        covered = np.isfinite(frame.nearest_triangles(entity.mesh(frame.T_camera_world))[0])
        return np.add(_pixel_range(covered), [-0.5, -0.5, 0.5, 0.5]) if covered.any() else np.full(4, np.nan)
    points = frame.in_camera(entity.hull_points_world)
    if (points[:, 2] < frame.near_m).any():  # the near plane cuts it and makes other points outermost
        points = clip_at_near_plane(entity.mesh(frame.T_camera_world), frame.near_m)[0].vertices
    pixels = frame.optics.project(points)
    outside = np.full(4, np.nan)
    if not len(pixels):
        return outside
    edge = np.array([frame.optics.width, frame.optics.height]) - 0.5  # pixels reach half a pixel beyond their centres
    low, high = pixels.min(axis=0), pixels.max(axis=0)
    if (high < -0.5).any() or (low > edge).any():
        return outside
    return np.concatenate([np.maximum(low, -0.5), np.minimum(high, edge)])


def _pixel_range(mask: Array) -> Array:
    """Returns the first column and row and the last column and row of the true pixels of a mask (height, width)."""
    columns, rows = np.flatnonzero(mask.any(axis=0)), np.flatnonzero(mask.any(axis=1))
    return np.array([columns[0], rows[0], columns[-1], rows[-1]])


class Boxes3d(Annotator):
    """The box around a thing along the axes of its own frame, at the present joint positions."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output("boxes_3d_extents", ("N", 2, 3), "float64", "m", "Lower and upper corner in the thing's frame."),
        Output("boxes_3d_poses", ("N", 4, 4), "float64", "m", "T_world_thing: pose of the thing's frame."),
        Output("boxes_3d_corners", ("N", 8, 3), "float64", "m", "Corners in the world frame, in the order below."),
        Output("boxes_3d_corners_px", ("N", 8, 2), "float64", "px", "Corners in the image; NaN behind the camera."),
    )

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        corners = np.array([entity.corners for entity in frame.entities]).reshape(-1, 8, 3)
        return {
            "boxes_3d_extents": np.array([entity.extents for entity in frame.entities]).reshape(-1, 2, 3),
            "boxes_3d_poses": np.array([e.T_world_entity.matrix for e in frame.entities]).reshape(-1, 4, 4),
            "boxes_3d_corners": corners,
            "boxes_3d_corners_px": frame.optics.project(frame.in_camera(corners).reshape(-1, 3)).reshape(-1, 8, 2),
        }


class Keypoints(Annotator):
    """Positions of keypoints in the image, and their visibility."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output("keypoint_names", ("K",), "text", "-", "`<object>.<part>.<keypoint>`."),
        Output("keypoints_px", ("K", 2), "float64", "px", "Column and row; NaN behind the camera."),
        Output(
            "keypoints_camera",
            ("K", 3),
            "float64",
            "m",
            "Position in the camera frame, rotated by camera_rotation_deg.",
        ),
        Output("keypoints_in_image", ("K",), "bool", "-", "Whether it is in front of the camera and inside the image."),
        Output(
            "keypoints_visibility",
            ("K",),
            "int32",
            "-",
            "0: outside of the image; 1: hidden; 2: seen, at most keypoint_tolerance_m behind the surface.",
        ),
    )

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        points = np.array(list(frame.keypoints.values()), dtype=float).reshape(-1, 3)
        in_camera = frame.in_camera(points)
        pixels = frame.optics.project(in_camera)
        nearest = np.rint(np.nan_to_num(pixels, nan=-1.0))
        inside = ((nearest >= 0) & (nearest < [frame.optics.width, frame.optics.height])).all(axis=1)
        columns, rows = np.where(inside[:, None], nearest, 0).astype(int).T
        lengths = np.linalg.norm(in_camera, axis=1) if isinstance(frame.optics, Fisheye) else in_camera[:, 2]
        seen = lengths <= frame.lengths_m[rows, columns] + frame.cfg.keypoint_tolerance_m
        return {
            "keypoint_names": np.array(list(frame.keypoints), dtype=str),
            "keypoints_px": pixels,
            "keypoints_camera": frame.cfg.T_camera_turned.inverse() @ in_camera,
            "keypoints_in_image": inside,
            "keypoints_visibility": np.where(inside, np.where(seen, 2, 1), 0).astype(np.int32),
        }


class Poses(Annotator):
    """Poses of things in the camera frame."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output(
            "poses",
            ("N", 4, 4),
            "float64",
            "m",
            "T_camera_thing, with the camera frame rotated by camera_rotation_deg.",
        ),
        Output("centers_px", ("N", 2), "float64", "px", "Centre of the thing's 3D box; NaN behind the camera."),
        Output("origins_px", ("N", 2), "float64", "px", "Origin of the thing's frame; NaN behind the camera."),
    )

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        T_turned_world = (frame.T_world_camera @ frame.cfg.T_camera_turned).inverse()
        poses = [(T_turned_world @ entity.T_world_entity).matrix for entity in frame.entities]
        centres = np.array([entity.centre for entity in frame.entities]).reshape(-1, 3)
        origins = np.array([entity.T_world_entity.p for entity in frame.entities]).reshape(-1, 3)
        return {
            "poses": np.array(poses).reshape(-1, 4, 4),
            "centers_px": frame.optics.project(frame.in_camera(centres)),
            "origins_px": frame.optics.project(frame.in_camera(origins)),
        }


class Occlusion(Annotator):
    """The share of a thing's pixels that something else hides."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output("occlusion", ("N",), "float64", "-", "0: fully visible, 1: fully hidden; NaN: outside of the image."),
        Output("alone_px", ("N",), "int32", "px", "Number of pixels that it would cover without other things."),
    )

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        found = [_count_hidden_and_alone(frame, entity) for entity in frame.entities]
        counts = np.array(found, dtype=np.int32).reshape(-1, 2)
        with np.errstate(invalid="ignore"):
            share = counts[:, 0] / counts[:, 1]
        return {"occlusion": share, "alone_px": counts[:, 1]}


def _count_hidden_and_alone(frame: AnnotatedFrame, entity: Entity) -> tuple[int, int]:
    alone_m, _ = frame.nearest_triangles(entity.mesh(frame.T_camera_world))
    # a surface hides a thing only if it is this much closer, since outlines are rounded differently [m]
    hidden = ~frame.mask(entity) & (frame.lengths_m < alone_m - 1e-3)
    covered = np.isfinite(alone_m)
    return int(np.count_nonzero(hidden & covered)), int(np.count_nonzero(covered))
