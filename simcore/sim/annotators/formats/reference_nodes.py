"""Annotations in the output format of Replicator's nodes Pose and Dope."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.annotators.annotated_frame import AnnotatedFrame
from unlatch.simcore.sim.annotators.annotations import Annotations, annotate

Array = np.ndarray


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
