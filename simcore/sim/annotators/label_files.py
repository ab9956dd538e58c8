"""Annotations as files: COCO, DOPE, the outputs of Replicator's nodes, drawings over an image."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from unlatch.simcore.cameras import Fisheye
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.sim.annotators.annotation import AnnotatedFrame, Annotations, Entity, annotate, box_edges


class CocoFile:
    """Collects images; `content` is the resulting file, which pycocotools reads.

    The category of a thing is its label of the first of the frame's semantic types for which it has one. Masks are
    run-length encoded, boxes are those of visible pixels. Keypoints belong to whole bodies: `<part>.<keypoint>`.
    """

    def __init__(self) -> None:
        self._images: list[dict[str, Any]] = []
        self._annotations: list[dict[str, Any]] = []
        self._categories: dict[str, dict[str, Any]] = {}

    def add(self, frame: AnnotatedFrame, file_name: str) -> None:
        """Adds an image and all visible things in it; `file_name` is relative to the folder of the images."""
        found = annotate(frame, ["boxes_2d_tight", "keypoints", "occlusion"])
        number = len(self._images) + 1
        self._images.append(
            {"id": number, "file_name": file_name, "width": frame.optics.width, "height": frame.optics.height}
        )
        for row, entity in enumerate(frame.entities):
            if found["visible_px"][row]:
                self._annotations.append(self._make_annotation(frame, entity, found, row, number))

    @property
    def content(self) -> dict[str, Any]:
        """The content of the JSON file."""
        return {
            "info": {"description": "Unlatch"},
            "images": self._images,
            "annotations": self._annotations,
            "categories": list(self._categories.values()),
        }

    def _make_annotation(
        self, frame: AnnotatedFrame, entity: Entity, found: Annotations, row: int, image: int
    ) -> dict[str, Any]:
        x_min, y_min, x_max, y_max = found["boxes_2d_tight"][row].tolist()
        made: dict[str, Any] = {
            "id": len(self._annotations) + 1,
            "image_id": image,
            "category_id": 0,
            "bbox": [x_min, y_min, x_max - x_min + 1, y_max - y_min + 1],
            "area": int(found["visible_px"][row]),
            "iscrowd": 0,
            "segmentation": _run_lengths(frame.mask(entity)),
            "path": entity.path,
            "occlusion": float(found["occlusion"][row]),
        }
        names, values = _keypoints_of_body(entity, found)
        if names:
            made.update({"keypoints": values, "num_keypoints": sum(1 for v in values[2::3] if v)})
        name = entity.labels[frame.cfg.type_of(entity.labels)]
        key = f"{name}: {', '.join(names)}"  # things of one class may have different keypoints
        if key not in self._categories:
            self._categories[key] = {"id": len(self._categories) + 1, "name": name, "supercategory": name}
            if names:
                self._categories[key].update({"keypoints": names, "skeleton": []})
        made["category_id"] = int(self._categories[key]["id"])
        return made


def _keypoints_of_body(entity: Entity, found: Annotations) -> tuple[list[str], list[float]]:
    """Returns names and x, y, visibility of a body's keypoints; 0, 0, 0 for one outside the image."""
    body = entity.path.removeprefix("/")
    names, values = [], []
    for name, (x, y), seen in zip(
        found["keypoint_names"].tolist(), found["keypoints_px"], found["keypoints_visibility"], strict=True
    ):
        if name.startswith(f"{body}."):
            names.append(name.removeprefix(f"{body}."))
            values += [float(x), float(y), int(seen)] if seen else [0.0, 0.0, 0]
    return names, values


def _run_lengths(mask: Array) -> dict[str, Any]:
    """Returns a mask (height, width) as lengths of runs down its columns, beginning with pixels outside the mask."""
    flat = np.concatenate([[False], mask.ravel(order="F"), [False]])
    edges = np.flatnonzero(flat[1:] != flat[:-1])
    counts = np.diff(np.concatenate([[0], edges, [mask.size]]))
    return {"size": list(mask.shape), "counts": counts.tolist()}


_CM = 100.0


def dope_frame(frame: AnnotatedFrame) -> dict[str, Any]:
    """Returns the content of a frame's JSON file, in centimetres and with quaternions x, y, z, w.

    `camera_data` holds the pose of the camera in the world, its size and intrinsics, and k1 to k4 of a fisheye as
    `fisheye`. Each entry of `objects` has its `class`, `name` (its path), `visibility` (1 minus its occlusion),
    `location` and `quaternion_xyzw` of its frame in the camera frame, `cuboid` and `projected_cuboid` (8 corners in the
    order of `CORNER_SIGNS`), `cuboid_centroid` and `projected_cuboid_centroid`. Things with corners behind the camera
    are left out, since such a corner has no pixel.

    Args:
        frame: The image; `class` is a thing's label of the first of its semantic types for which the thing has one.
    """
    found = annotate(frame, ["boxes_3d", "occlusion", "poses"])
    T_turned_world = (frame.T_world_camera @ frame.cfg.T_camera_turned).inverse()
    objects = []
    for row, path in enumerate(found.paths):
        cuboid_px = found["boxes_3d_corners_px"][row]
        if not (np.isfinite(cuboid_px).all() and np.isfinite(found["occlusion"][row])):
            continue
        pose = Pose.from_matrix(found["poses"][row])
        cuboid = T_turned_world @ found["boxes_3d_corners"][row]
        labels = found.id_to_labels[found.semantic_ids[row]]
        objects.append(
            {
                "class": labels[frame.cfg.type_of(labels)],
                "name": path,
                "visibility": 1.0 - float(found["occlusion"][row]),
                "location": (pose.p * _CM).tolist(),
                "quaternion_xyzw": pose.quat_xyzw.tolist(),
                "cuboid_centroid": (cuboid.mean(axis=0) * _CM).tolist(),
                "projected_cuboid_centroid": found["centers_px"][row].tolist(),
                "cuboid": (cuboid * _CM).tolist(),
                "projected_cuboid": cuboid_px.tolist(),
            }
        )
    return {"camera_data": _camera_data(frame), "objects": objects}


def _camera_data(frame: AnnotatedFrame) -> dict[str, Any]:
    optics, T_world_turned = frame.optics, frame.T_world_camera @ frame.cfg.T_camera_turned
    return {
        "location_worldframe": (T_world_turned.p * _CM).tolist(),
        "quaternion_xyzw_worldframe": T_world_turned.quat_xyzw.tolist(),
        "width": optics.width,
        "height": optics.height,
        "intrinsics": {"fx": optics.fx, "fy": optics.fy, "cx": optics.cx, "cy": optics.cy},
        **({"fisheye": list(optics.k)} if isinstance(optics, Fisheye) else {}),
    }


@dataclass(frozen=True)
class NodeOutput:
    """The outputs of one of these nodes, under the node's own names."""

    data: Array
    """(N,) structured: one entry per thing."""
    idToLabels: str  # noqa: N815 - the node's own name
    """JSON: labels by semantic id and type."""
    primPaths: tuple[str, ...]  # noqa: N815 - the node's own name
    """Path of every thing."""

    @property
    def bufferSize(self) -> int:  # noqa: N802 - the node's own name
        """Size of `data` [bytes]."""
        return int(self.data.nbytes)

    @property
    def height(self) -> int:
        """Rows of `data`: 1."""
        return 1

    @property
    def width(self) -> int:
        """Entries of `data`."""
        return len(self.data)


def pose_output(frame: AnnotatedFrame, *, get_centers: bool = False) -> NodeOutput:
    """Returns the output of the node Pose: transforms from things' frames to the camera's, for row vectors as in USD.

    Args:
        frame: The image; `include_occluded`, `semantic_types` and `camera_rotation_deg` of its settings apply.
        get_centers: Whether the output has the centre of each thing in the image.
    """
    found = annotate(frame, ["poses"])
    fields = [("semanticId", "<u4"), ("pose", "<f4", (4, 4))]
    data: Array = np.zeros(len(found.paths), dtype=[*fields, ("center", "<f4", (2,))] if get_centers else fields)
    data["semanticId"] = found.semantic_ids
    data["pose"] = found["poses"].transpose(0, 2, 1)
    if get_centers:
        data["center"] = found["centers_px"]
    return _make_output(data, found)


def dope_output(frame: AnnotatedFrame) -> NodeOutput:
    """Returns the output of the node Dope: visibility, location [m], rotation (x, y, z, w), box corners in the image.

    The ninth corner is the centre of the box. Invisible things have visibility 0, those outside the image NaN.

    Args:
        frame: The image, as for `pose_output`.
    """
    found = annotate(frame, ["boxes_3d", "occlusion", "poses"])
    data: Array = np.zeros(
        len(found.paths),
        dtype=[
            ("semanticId", "<u4"),
            ("visibility", "<f4"),
            ("location", "<f4", (3,)),
            ("rotation", "<f4", (4,)),
            ("projected_cuboid", "<f4", (9, 2)),
        ],
    )
    data["semanticId"] = found.semantic_ids
    data["visibility"] = 1.0 - found["occlusion"]
    data["location"] = found["poses"][:, :3, 3]
    data["rotation"] = np.array([Pose.from_matrix(T).quat_xyzw for T in found["poses"]]).reshape(-1, 4)
    data["projected_cuboid"] = np.concatenate([found["boxes_3d_corners_px"], found["centers_px"][:, None]], axis=1)
    return _make_output(data, found)


def _make_output(data: Array, found: Annotations) -> NodeOutput:
    labels = {str(number): dict(labels) for number, labels in found.id_to_labels.items()}
    return NodeOutput(data, json.dumps(labels), found.paths)


_COLOURS = ((230, 120, 20), (40, 150, 60), (150, 60, 180), (20, 120, 200), (190, 160, 20), (200, 50, 90))
_AXES = ((220, 30, 30), (20, 170, 20), (40, 60, 230))
_SEEN, _HIDDEN = (20, 200, 60), (230, 40, 40)
_FONT_PX = 13
_DASH_PX = 5
_KEYPOINT_PX = 4


def draw_annotations(frame: AnnotatedFrame, *, scale: int = 2) -> Array:
    """Returns the enlarged image with the labels of everything in it.

    Each thing has a colour: its tight box is solid, its loose box dashed, its 3D box thin, its path and
    occlusion beside it. The axes of its frame are red (x), green (y) and blue (z). Visible keypoints are filled green,
    hidden ones are red rings.

    Args:
        frame: The image (height, width).
        scale: Pixels of the picture per pixel of the image, along a side.

    Returns:
        (scale * height, scale * width, 3) uint8.
    """
    found = annotate(frame, ["boxes_2d_loose", "boxes_2d_tight", "boxes_3d", "keypoints", "occlusion"])
    size = (scale * frame.optics.width, scale * frame.optics.height)
    picture = Image.fromarray(frame.images.rgb).resize(size, Image.Resampling.NEAREST)
    pencil = _Pencil(picture, scale)
    for row, entity in enumerate(frame.entities):
        pencil.draw_thing(found, row, _COLOURS[row % len(_COLOURS)])
        pencil.draw_axes(frame, entity)
    for pixel, seen in zip(found["keypoints_px"], found["keypoints_visibility"].tolist(), strict=True):
        if seen:
            pencil.draw_keypoint(pixel, visible=seen == 2)
    return np.asarray(picture)


class _Pencil:
    """Draws in pixel coordinates of the image; whole numbers are centres of pixels."""

    def __init__(self, picture: Image.Image, scale: int) -> None:
        self._draw = ImageDraw.Draw(picture)
        self._scale = scale
        self._font = ImageFont.load_default(_FONT_PX)

    def _to_picture(self, pixel: Array) -> tuple[float, float]:
        x, y = (np.asarray(pixel, dtype=float) + 0.5) * self._scale
        return float(x), float(y)

    def draw_thing(self, found: Annotations, row: int, colour: tuple[int, int, int]) -> None:
        """Draws boxes and name of one thing."""
        corners = found["boxes_3d_corners_px"][row]
        for i, j in box_edges():
            if np.isfinite(corners[[i, j]]).all():
                self._draw.line([self._to_picture(corners[i]), self._to_picture(corners[j])], fill=colour, width=1)
        loose = found["boxes_2d_loose"][row]
        if np.isfinite(loose).all():
            self._draw_dashed(loose, colour)
        tight = found["boxes_2d_tight"][row]
        if tight[2] >= 0:
            low, high = self._to_picture(tight[:2] - 0.5), self._to_picture(tight[2:] + 0.5)
            self._draw.rectangle([low, high], outline=colour, width=2)
            text = f"{found.paths[row]} {100.0 * found['occlusion'][row]:.0f} % hidden"
            place = (low[0] + 3, max(0.0, low[1] - _FONT_PX - 4))
            self._draw.rectangle(self._draw.textbbox(place, text, font=self._font), fill=(255, 255, 255))
            self._draw.text(place, text, fill=colour, font=self._font)

    def draw_axes(self, frame: AnnotatedFrame, entity: Entity) -> None:
        """Draws the axes of a thing's frame, a quarter of its size long."""
        length = 0.25 * float(np.linalg.norm(np.diff(entity.extents, axis=0)))
        T_camera_entity: Pose = frame.T_camera_world @ entity.T_world_entity
        ends = frame.optics.project(T_camera_entity @ np.vstack([np.zeros(3), length * np.eye(3)]))
        for end, colour in zip(ends[1:], _AXES, strict=True):
            if np.isfinite([ends[0], end]).all():
                self._draw.line([self._to_picture(ends[0]), self._to_picture(end)], fill=colour, width=3)

    def draw_keypoint(self, pixel: Array, *, visible: bool) -> None:
        """Draws a keypoint."""
        x, y = self._to_picture(pixel)
        box = [x - _KEYPOINT_PX, y - _KEYPOINT_PX, x + _KEYPOINT_PX, y + _KEYPOINT_PX]
        fill, outline, width = (_SEEN, (0, 0, 0), 1) if visible else (None, _HIDDEN, 2)
        self._draw.ellipse(box, fill=fill, outline=outline, width=width)

    def _draw_dashed(self, box: Array, colour: tuple[int, int, int]) -> None:
        corners = [self._to_picture(box[[i, j]]) for i, j in ((0, 1), (2, 1), (2, 3), (0, 3), (0, 1))]
        for (x, y), (to_x, to_y) in pairwise(corners):
            pieces = max(1, round(np.hypot(to_x - x, to_y - y) / _DASH_PX))
            for piece in range(0, pieces, 2):
                start, end = piece / pieces, min(1.0, (piece + 1) / pieces)
                ends = [(x + t * (to_x - x), y + t * (to_y - y)) for t in (start, end)]
                self._draw.line(ends, fill=colour, width=1)
