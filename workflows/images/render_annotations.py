"""Annotations of one episode for a render set: one array per camera and key, one row per frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.recording.images.rendered_annotations import annotations_file
from unlatch.simcore.recording.state_file import encode_npz
from unlatch.simcore.sim.annotators.annotated_frame import AnnotatedFrame, take_annotated_frame
from unlatch.simcore.sim.annotators.annotations import annotate
from unlatch.simcore.sim.annotators.config import AnnotationCfg
from unlatch.simcore.sim.renderers.renderer import RawImages
from unlatch.simcore.sim.sensors.camera import Camera
from unlatch.workflows.viewing.scene_picture import RecordedWorld

Array = np.ndarray


class EpisodeAnnotations:
    """Collects annotations frame by frame; things that are not visible have rows too, so all frames have one shape."""

    def __init__(self, recorded: RecordedWorld, request: Mapping[str, Any]) -> None:
        """Starts with no frames; the request has the names of `annotators` and fields of `AnnotationCfg`."""
        self._recorded = recorded
        self._names: Sequence[str] = request["annotators"]
        self._cfg = AnnotationCfg(
            **{key: value for key, value in request.items() if key != "annotators"}, include_occluded=True
        )
        self._rows: dict[str, dict[str, list[Array]]] = {}
        self._descriptions: dict[str, dict[str, Any]] = {}

    def add(self, camera: Camera) -> None:
        """Annotates the current image of an updated camera whose depth images are switched on."""
        frame = take_camera_frame(self._recorded, camera, self._cfg, images=camera.raw_images())
        found = annotate(frame, self._names)
        description = {
            "paths": list(found.paths),
            "semantic_ids": list(found.semantic_ids),
            "id_to_labels": {str(number): dict(labels) for number, labels in found.id_to_labels.items()},
            "names": {key: value.tolist() for key, value in found.values.items() if value.dtype.kind == "U"},
        }
        self._descriptions.setdefault(camera.cfg.name, description)
        rows = self._rows.setdefault(camera.cfg.name, {})
        for key, value in found.values.items():
            if value.dtype.kind != "U":  # names are the same in every frame
                rows.setdefault(key, []).append(value)

    def write(self, folder: Path) -> dict[str, Any]:
        """Writes one file per camera; returns their descriptions for `frames.json`."""
        for name, rows in self._rows.items():
            arrays = {key: np.stack(values) for key, values in rows.items()}
            (folder / annotations_file(name)).write_bytes(encode_npz(arrays))
        return self._descriptions


def take_camera_frame(
    recorded: RecordedWorld, camera: Camera, cfg: AnnotationCfg, *, images: RawImages | None = None
) -> AnnotatedFrame:
    """Returns what a camera sees of the shown state, with what is needed to annotate it; None: it takes its images."""
    keypoints = recorded.episode.scene.state_tree.keypoints
    keypoints.update_state()
    return take_annotated_frame(
        recorded.world,
        camera.optics,
        camera.T_world_sensor,
        near_m=camera.cfg.near_m,
        far_m=camera.cfg.far_m,
        cfg=cfg,
        keypoints=keypoints.state_dict(),
        images=images,
    )
