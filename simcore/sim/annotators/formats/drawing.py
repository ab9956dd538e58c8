"""Draws boxes, axes and keypoints of annotators over an image."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.annotators.annotated_frame import AnnotatedFrame
from unlatch.simcore.sim.annotators.annotations import Annotations, annotate
from unlatch.simcore.sim.annotators.entity import Entity, box_edges

Array = np.ndarray

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
