"""Segmentation images."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.simcore.sim.annotators.annotated_frame import AnnotatedFrame
from unlatch.simcore.sim.annotators.annotator import Annotator, Output

Array = np.ndarray

_UNLABELLED = 1


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
        id_of_link: Array = np.full(len(frame.link_names) + 1, _UNLABELLED, dtype=np.int32)
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
