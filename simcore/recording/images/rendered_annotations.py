"""Annotations in a render set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from unlatch.simcore.extras import DISTRIBUTION
from unlatch.simcore.sim.annotators.catalog import ANNOTATORS

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
