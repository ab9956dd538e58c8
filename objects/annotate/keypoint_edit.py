"""The keypoints of an annotation while a person moves them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unlatch.objects.annotate.storage import AnnotatedUrdf, write_annotation_file
from unlatch.objects.annotation import FramedVector
from unlatch.objects.validation import articulation_problems
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose

Array = np.ndarray

HEAD, TAIL = "articulated_object_head", "articulated_object_tail"


class KeypointEdit:
    """Moves keypoints and writes the file. Moving the head moves the tail and the handle too, which keeps the direction
    in which the fingers close. A saved file counts as made by hand.
    """

    def __init__(self, loaded: AnnotatedUrdf) -> None:
        self.loaded = loaded
        self.articulation = loaded.articulation
        """The annotation with what has been moved so far."""

    @property
    def problems(self) -> list[str]:
        """Problems of the current annotation, one line each."""
        return articulation_problems(self.articulation, self.loaded.model, size_m=self.loaded.size_m)

    def move(self, part: str, keypoint: str, xyz: Array) -> None:
        """Moves a keypoint to a position (3,) in its own frame [m].

        Raises:
            AssetError: There is no such part or keypoint.
        """
        entry = self.articulation.part(part)
        old = entry.keypoint(keypoint)
        moved = FramedVector.of(old.frame, xyz)
        keypoints = {**entry.keypoints, keypoint: moved}
        handle = entry.handle
        if keypoint == HEAD:
            shift = moved.xyz - old.xyz
            keypoints[TAIL] = FramedVector.of(old.frame, entry.keypoints[TAIL].xyz + shift)
            if handle.T_link_handle is not None and old.frame == "link":
                pose = handle.T_link_handle
                handle = replace(handle, T_link_handle=Pose(pose.R, pose.p + shift))
        changed = replace(entry, keypoints=keypoints, handle=handle)
        self.articulation = replace(self.articulation, parts={**self.articulation.parts, part: changed})

    def save(self) -> None:
        """Writes the annotation and marks it as made by hand.

        Raises:
            AssetError: It does not fit its object, or cannot be written. The file is unchanged.
        """
        problems = self.problems
        if problems:
            raise AssetError(f"{self.loaded.path}: {problems[0]} Not saved.", path=str(self.loaded.path))
        extra = {key: value for key, value in self.articulation.extra.items() if key != "made_by"}
        articulation = replace(self.articulation, extra={**extra, "made_by": {"tool": "by hand"}})
        write_annotation_file(self.loaded.path, articulation.to_yaml().encode())
        self.articulation = articulation
