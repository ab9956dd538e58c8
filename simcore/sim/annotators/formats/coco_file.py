"""Boxes, masks and keypoints of many images in COCO's JSON format."""

from __future__ import annotations

from typing import Any

import numpy as np

from unlatch.simcore.sim.annotators.annotated_frame import AnnotatedFrame
from unlatch.simcore.sim.annotators.annotations import Annotations, annotate
from unlatch.simcore.sim.annotators.entity import Entity

Array = np.ndarray


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
        made["category_id"] = self._get_category(entity.labels[frame.cfg.type_of(entity.labels)], names)
        return made

    def _get_category(self, name: str, keypoints: list[str]) -> int:
        key = f"{name}: {', '.join(keypoints)}"  # things of one class may have different keypoints
        if key not in self._categories:
            self._categories[key] = {"id": len(self._categories) + 1, "name": name, "supercategory": name}
            if keypoints:
                self._categories[key].update({"keypoints": keypoints, "skeleton": []})
        return int(self._categories[key]["id"])


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
