"""The annotation of an object of one's own, while its keypoints are moved in the scene."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.annotate.annotator import AnnotateCfg
from unlatch.objects.annotate.keypoint_edit import KeypointEdit
from unlatch.objects.annotation import Articulation
from unlatch.objects.config import ObjectCfg, ObjectSource
from unlatch.simcore.errors import ConfigError
from unlatch.workflows.assets.annotate import annotate_target, find_targets

_SAME_M = 1e-6
"""Keypoints of the file and of the scene that are closer than this are the same [m]."""


class ObjectAnnotation:
    """What has been moved, and what is wrong with it."""

    def __init__(self, name: str, edit: KeypointEdit) -> None:
        self.object = name
        """Name of the object in the scene."""
        self.edit = edit
        self.problems: list[str] = []
        self.is_saved = True
        self._checked: Articulation | None = None

    def move(self, part: str, keypoint: str, xyz: Sequence[float] | np.ndarray) -> None:
        """Moves a keypoint to a position (3,) in its own frame [m]."""
        self.edit.move(part, keypoint, np.asarray(xyz, dtype=float))
        self.is_saved = False

    def check(self) -> bool:
        """Finds the problems of what has been moved; returns whether it had changed since the last time."""
        if self._checked is self.edit.articulation:
            return False
        self._checked = self.edit.articulation
        self.problems = self.edit.problems
        return True

    def save(self) -> None:
        """Writes the file.

        Raises:
            AssetError: The annotation does not fit its object.
        """
        self.edit.save()
        self.is_saved = True

    def movable(self, shown: Articulation) -> list[tuple[str, str]]:
        """Returns part and name of the keypoints that are at the same place in the file and in the scene.

        Loading an object may give it another root, and moves what is stated in the frame of the base.
        """
        found = []
        for part in self.edit.loaded.articulation.parts.values():
            for name, point in part.keypoints.items():
                other = shown.parts[part.name].keypoints.get(name) if part.name in shown.parts else None
                if other is not None and other.frame == point.frame and np.allclose(point.xyz, other.xyz, atol=_SAME_M):
                    found.append((part.name, name))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Returns plain values for the page."""
        path = str(self.edit.loaded.path)
        return {"object": self.object, "path": path, "problems": list(self.problems), "is_saved": self.is_saved}


def annotatable(objects: Mapping[str, ObjectCfg]) -> list[str]:
    """Returns the names of the objects whose annotation can be edited: single URDFs of one's own."""
    return [name for name, item in objects.items() if item.source is ObjectSource.urdf and item.root is not None]


def open_annotation(objects: Mapping[str, ObjectCfg], name: str) -> ObjectAnnotation:
    """Opens the annotation of an object; one that is missing is made first.

    Raises:
        ConfigError: It is not a single URDF of one's own.
        AssetError: It cannot be annotated.
    """
    if name not in annotatable(objects):
        raise ConfigError(
            f"The keypoints of '{name}' cannot be moved: its annotation is no file of yours. Expected a URDF, as in "
            "object=cabinet.urdf.",
            key="object",
        )
    targets = find_targets(Path(str(objects[name].root)), out=None)
    if len(targets) != 1:
        raise ConfigError(f"'{name}' is one of {len(targets)} objects. Expected the folder of one.", key="object")
    (target,) = targets
    if not target.file.exists():
        annotate_target(target, AnnotateCfg(), category=None, force=False, picture=False)
    return ObjectAnnotation(name, KeypointEdit(target.load()))
