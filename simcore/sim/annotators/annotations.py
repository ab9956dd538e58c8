"""Runs annotators on one image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unlatch.simcore.sim.annotators.annotated_frame import AnnotatedFrame
from unlatch.simcore.sim.annotators.catalog import ANNOTATORS

Array = np.ndarray


@dataclass(frozen=True)
class Annotations:
    """The labels of one image."""

    values: Mapping[str, Array]
    """Arrays by the names of the annotators' outputs."""
    paths: tuple[str, ...]
    """Path of every thing; row i of an array with one row per thing belongs to path i."""
    semantic_ids: tuple[int, ...]
    """Key in `id_to_labels` of every thing."""
    id_to_labels: Mapping[int, Mapping[str, str]]
    """Labels by type."""

    def __getitem__(self, name: str) -> Array:
        return self.values[name]


def annotate(frame: AnnotatedFrame, names: Sequence[str]) -> Annotations:
    """Runs annotators on an image, by their names in the catalog.

    Raises:
        UnknownEntryError: No such annotator.
    """
    values: dict[str, Array] = {}
    for name in names:
        values.update(ANNOTATORS.load(name)().annotate(frame))
    return Annotations(
        values,
        tuple(entity.path for entity in frame.entities),
        tuple(frame.semantic_id(entity) for entity in frame.entities),
        frame.id_to_labels,
    )
