"""Annotations of one episode for a render set: every frame of every camera, in arrays of one shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unlatch.simcore.recording.images.rendered_annotations import annotations_file
from unlatch.simcore.recording.state_file import encode_state
from unlatch.simcore.sim.annotators.annotations import Annotations, annotate
from unlatch.simcore.sim.annotators.config import AnnotationCfg
from unlatch.simcore.sim.annotators.shot import shot_of

if TYPE_CHECKING:
    from unlatch.simcore.sim.sensors.camera import Camera
    from unlatch.workflows.viewing.scene_picture import RecordedWorld

Array = np.ndarray


class EpisodeAnnotations:
    """Collects what annotators say, frame by frame; things that are not seen have a row too, so that all are alike."""

    def __init__(self, shown: RecordedWorld, asked: Mapping[str, Any]) -> None:
        """Begins.

        Args:
            shown: The record.
            asked: `annotators`, by name, and fields of `AnnotationCfg`.
        """
        self._shown = shown
        self._names: Sequence[str] = asked["annotators"]
        self._cfg = AnnotationCfg(
            semantic_types=asked["semantic_types"],
            leave_out=asked["leave_out"],
            camera_rotation_deg=asked["camera_rotation_deg"],
            include_occluded=True,
        )
        self._rows: dict[str, dict[str, list[Array]]] = {}
        self._about: dict[str, dict[str, Any]] = {}

    def add(self, camera: Camera) -> None:
        """Takes what a camera sees, once it has been updated.

        Args:
            camera: A camera with images of depth switched on.
        """
        scene = self._shown.episode.scene.scene
        scene.keypoints.update_state()
        shot = shot_of(
            self._shown.world,
            camera.raw_images(),
            camera.optics,
            camera.T_world_sensor,
            near_m=camera.cfg.near_m,
            cfg=self._cfg,
            keypoints=scene.keypoints.state_dict(),
        )
        found = annotate(shot, self._names)
        name = camera.cfg.name
        self._about.setdefault(name, _about(found))
        rows = self._rows.setdefault(name, {})
        for key, value in found.values.items():
            if value.dtype.kind != "U":  # names are the same in every frame
                rows.setdefault(key, []).append(value)

    def write(self, folder: Path) -> dict[str, Any]:
        """Writes one file a camera, and returns what `frames.json` holds of them.

        Args:
            folder: The episode's folder.
        """
        for name, rows in self._rows.items():
            arrays = {key: np.stack(values) for key, values in rows.items()}
            (folder / annotations_file(name)).write_bytes(encode_state(arrays))
        return self._about


def _about(found: Annotations) -> dict[str, Any]:
    return {
        "paths": list(found.paths),
        "semantic_ids": list(found.semantic_ids),
        "id_to_labels": {str(number): dict(labels) for number, labels in found.id_to_labels.items()},
        "names": {key: value.tolist() for key, value in found.values.items() if value.dtype.kind == "U"},
    }
