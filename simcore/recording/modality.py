"""What images and points of a record may hold: modalities of an image, annotations, and points of which surface."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from unlatch.simcore.catalogs import ANNOTATORS
from unlatch.simcore.registry import DISTRIBUTION

Array = np.ndarray

RGB = "rgb"
DEPTH, DISTANCE = "depth", "distance"
LENGTHS = (DEPTH, DISTANCE)
"""Kinds of images whose values are lengths: along the optical axis, and from the camera's centre."""
LINKS = "instance_id_segmentation"
"""Which link each pixel shows."""
LABELS = ("segmentation", LINKS)
"""Kinds of images whose values are indices into a list of labels."""
NORMALS = "normals"
MODALITIES = (RGB, *LENGTHS, *LABELS, NORMALS)
"""Names of all kinds."""
POINT_CLOUD = "point_cloud"
"""A request for this kind stores `distance` images; `RenderedEpisode.point_clouds` computes the points from them."""
_MAX_STORED = 65535
_NORMAL_ZERO = 32767
_UNIT_STEP_M = 1e-5


@dataclass(frozen=True)
class ImageStream:
    """How the images of one kind of one camera are stored."""

    modality: str
    """One of `MODALITIES`."""
    encoding: str
    """One of `ENCODINGS`."""
    unit_m: float = 0.0
    """Length of one step of the stored values [m]; 0 for images that are not lengths."""

    @classmethod
    def of(cls, modality: str, *, width: int, height: int, farthest_m: float, lossless: bool) -> ImageStream:
        """Makes the stream of one kind of image of a camera.

        Args:
            modality: The kind.
            width: Width of the images [pixels].
            height: Height of the images [pixels].
            farthest_m: Largest length in the images [m], for kinds of `LENGTHS`.
            lossless: Whether colours are stored without loss; else by H.264.
        """
        if modality == RGB:
            even = width % 2 == 0 and height % 2 == 0
            return cls(modality, "ffv1_rgb" if lossless else "h264" if even else "h264_444")
        if modality in LENGTHS:
            unit_m = _UNIT_STEP_M * math.ceil(farthest_m / _MAX_STORED / _UNIT_STEP_M)
            return cls(modality, "ffv1_gray16", round(unit_m, 5))
        return cls(modality, "ffv1_rgb16" if modality == NORMALS else "ffv1_gray16")

    def pack(self, image: Array) -> Array:
        """Returns the stored values of an image.

        Args:
            image: rgb (H, W, 3) uint8; lengths (H, W) [m], infinite where nothing is seen; labels (H, W); normals
                (H, W, 3), zero where nothing is seen.
        """
        if self.modality == RGB:
            return image
        if self.modality in LENGTHS:
            seen = np.isfinite(image)
            steps = np.rint(np.where(seen, image, 0.0) / self.unit_m)
            return np.where(seen, np.clip(steps, 1, _MAX_STORED), 0).astype(np.uint16)
        if self.modality == NORMALS:
            return np.rint(image * _NORMAL_ZERO + _NORMAL_ZERO).astype(np.uint16)
        return image.astype(np.uint16)

    def unpack(self, stored: Array) -> Array:
        """Returns the image from stored values: float32 lengths and normals, int32 labels, uint8 colours."""
        if self.modality in LENGTHS:
            metres: Array = stored.astype(np.float32) * np.float32(self.unit_m)
            metres[stored == 0] = np.inf
            return metres
        if self.modality == NORMALS:
            return (stored.astype(np.float32) - _NORMAL_ZERO) / np.float32(_NORMAL_ZERO)
        return stored if self.modality == RGB else stored.astype(np.int32)


ANNOTATIONS = ("boxes_2d_loose", "boxes_2d_tight", "boxes_3d", "keypoints", "occlusion", "poses")
"""Built-in annotators whose arrays a render set may hold; see docs/annotators.md."""


@dataclass(frozen=True)
class RenderedAnnotations:
    """The annotations of every frame of one camera of an episode."""

    arrays: Mapping[str, np.ndarray]
    """Arrays of T+1 rows by output of the annotators; bodies are in the order of `paths`, visible or not."""
    paths: tuple[str, ...]
    """Path of every body."""
    semantic_ids: tuple[int, ...]
    """Semantic id of every body: its key in `id_to_labels`."""
    id_to_labels: Mapping[int, Mapping[str, str]]
    """Labels by semantic id, then by type."""
    names: Mapping[str, tuple[str, ...]]
    """Outputs that are lists of names, equal in every frame, such as `keypoint_names`."""


def annotation_names() -> tuple[str, ...]:
    """Returns the names of all annotators whose arrays a render set may hold, plugins included."""
    return (*ANNOTATIONS, *(name for name, entry in ANNOTATORS.entries().items() if entry.origin != DISTRIBUTION))


def annotations_file(camera: str) -> str:
    """Returns the name of the file of a camera's annotations."""
    return f"{camera}.annotations.npz"


class PointSurface(Enum):
    """Shapes on whose surface points are drawn."""

    visual = "visual"
    """What a camera sees."""
    collision = "collision"
    """What touches."""


class PointSource(Enum):
    """Where points come from."""

    geometry = "geometry"
    """The whole surface of the object, seen or not."""
    camera = "camera"
    """What cameras see of the object."""
    both = "both"
    """Two clouds, one of each."""
