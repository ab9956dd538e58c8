"""The fixed properties of a scene that observations are computed from: objects, bases of the arms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.observed.acted_part import ActedPart
from unlatch.simcore.recording.observed.camera_cloud import CameraCloud
from unlatch.simcore.recording.observed.object_geometry import ObjectGeometry
from unlatch.simcore.recording.observed.point_choice import PointSurface
from unlatch.simcore.recording.observed.point_cloud import SurfaceCloud
from unlatch.simcore.rng import stream


@dataclass(frozen=True)
class ObservedScene:
    """The inputs of observations beside the arrays of a record."""

    bases: Mapping[str, Pose]
    """`T_world_base` of every arm by name."""
    skills: tuple[str, ...]
    """Kinds of skills that move an arm, in the order of the column `skill`."""
    motionless_skills: tuple[str, ...]
    """Skills that move nothing and end at once; the next skill counts in their place."""
    keypoints: tuple[str, ...]
    """Names of the keypoints that every part has."""
    part_kinds: tuple[str, ...]
    """How parts move, in the order of the column `geometry`."""
    grip_types: tuple[str, ...]
    """What fingers hold, in the order of the column `geometry`."""
    seed: int
    """Seed of the episode; draws the points of point clouds."""
    load_object: Callable[[str], ObjectGeometry] = field(repr=False)
    """Returns an object by name; called only where a column needs it."""
    _clouds: dict[tuple[Any, ...], SurfaceCloud] = field(default_factory=dict, init=False, repr=False)

    _camera_clouds: dict[tuple[str, int], CameraCloud] = field(default_factory=dict, init=False, repr=False)

    def cloud(self, part: ActedPart, n: int, surface: PointSurface, part_share: float | None) -> SurfaceCloud:
        """Returns n points on the surface of the object of a part; they are drawn once.

        `part_share`: share of the points that lie on the part; None: the density is the same everywhere.
        """
        name = part.object
        key = (name, n, surface) if part_share is None else (name, n, surface, part.part, part_share)
        if key not in self._clouds:
            rng = stream(self.seed, f"points.{name}")
            self._clouds[key] = SurfaceCloud(
                self.load_object(name),
                n,
                surface=surface,
                rng=rng,
                part=None if part_share is None else part.part,
                part_share=part_share or 0.0,
            )
        return self._clouds[key]

    def camera_cloud(self, name: str, n: int) -> CameraCloud:
        """Returns what makes n points of an object from the images of cameras."""
        if (name, n) not in self._camera_clouds:
            self._camera_clouds[name, n] = CameraCloud(self.load_object(name), name, n, seed=self.seed)
        return self._camera_clouds[name, n]
