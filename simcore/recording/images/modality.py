"""Kinds of images in a render set: what a reader gets, and the numbers that lie in its files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray

RGB = "rgb"
METRES = ("depth", "distance")
"""Kinds of images whose values are lengths: to the image plane, and to the camera's centre."""
LABELS = ("segmentation", "instance_id_segmentation")
"""Kinds of images whose values are places in a list of labels."""
NORMALS = "normals"
MODALITIES = (RGB, *METRES, *LABELS, NORMALS)
"""Names of all kinds."""
POINT_CLOUD = "point_cloud"
"""Stands for `distance`, which points follow from: `RenderedEpisode.point_clouds`."""
_MOST = 65535
_NORMAL_ZERO = 32767
_UNIT_STEP_M = 1e-5


@dataclass(frozen=True)
class Stream:
    """How the images of one kind of one camera are kept."""

    modality: str
    """One of `MODALITIES`."""
    encoding: str
    """One of `ENCODINGS`."""
    unit_m: float = 0.0
    """Of lengths: so many metres are one step of what is kept."""

    @classmethod
    def of(cls, modality: str, *, width: int, height: int, farthest_m: float, lossless: bool) -> Stream:
        """The stream of a camera.

        Args:
            modality: One of `MODALITIES`.
            width: Pixels across.
            height: Pixels down.
            farthest_m: The largest length that there may be [m].
            lossless: Whether colours are kept as they are.
        """
        if modality == RGB:
            even = width % 2 == 0 and height % 2 == 0
            return cls(modality, "ffv1_rgb" if lossless else "h264" if even else "h264_444")
        if modality in METRES:
            unit_m = _UNIT_STEP_M * math.ceil(farthest_m / _MOST / _UNIT_STEP_M)
            return cls(modality, "ffv1_gray16", round(unit_m, 5))
        return cls(modality, "ffv1_rgb16" if modality == NORMALS else "ffv1_gray16")

    @classmethod
    def read(cls, content: dict[str, Any]) -> Stream:
        """The stream that `to_json` wrote."""
        return cls(str(content["modality"]), str(content["encoding"]), float(content["unit_m"]))

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return {"modality": self.modality, "encoding": self.encoding, "unit_m": self.unit_m}

    def pack(self, image: Array) -> Array:
        """What is kept of an image.

        Args:
            image: rgb (H, W, 3) uint8; lengths (H, W) [m], infinite where nothing is seen; labels (H, W); normals
                (H, W, 3), zero where nothing is seen.
        """
        if self.modality == RGB:
            return image
        if self.modality in METRES:
            seen = np.isfinite(image)
            steps = np.rint(np.where(seen, image, 0.0) / self.unit_m)
            return np.where(seen, np.clip(steps, 1, _MOST), 0).astype(np.uint16)
        if self.modality == NORMALS:
            return np.rint(image * _NORMAL_ZERO + _NORMAL_ZERO).astype(np.uint16)
        return image.astype(np.uint16)

    def unpack(self, kept: Array) -> Array:
        """The image of what is kept: float32 lengths and normals, int32 labels, uint8 colours."""
        if self.modality in METRES:
            metres: Array = kept.astype(np.float32) * np.float32(self.unit_m)
            metres[kept == 0] = np.inf
            return metres
        if self.modality == NORMALS:
            return (kept.astype(np.float32) - _NORMAL_ZERO) / np.float32(_NORMAL_ZERO)
        return kept if self.modality == RGB else kept.astype(np.int32)
