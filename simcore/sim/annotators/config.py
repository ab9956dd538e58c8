"""Settings of all annotators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from unlatch.simcore.errors import ConfigError, unknown_name
from unlatch.simcore.geometry import Pose
from unlatch.simcore.ranges import Fraction, check_ranges
from unlatch.simcore.sim.annotators.entity import SEMANTIC_TYPES


@dataclass
class AnnotationCfg:
    """Selects the annotated things and the camera frame of poses."""

    semantic_types: list[str] = field(default_factory=lambda: ["class"])
    """Types of labels. A thing is annotated if it has its own label of one of them. Whole bodies have `class` and
    `body`, parts that an annotation names have `part`, and every link has `link`."""
    include_occluded: bool = False
    """Whether things without a visible pixel are annotated, too."""
    leave_out: list[str] = field(default_factory=list)
    """Classes of bodies that are not annotated, such as `table`; they still hide others."""
    camera_rotation_deg: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    """Rotation from our camera frame to that of poses, about the fixed axes x, then y, then z [degrees]. Ours has x to
    the right of the image, y down, z forward; [180, 0, 0] gives OpenGL's and USD's, with y up and z backward."""
    keypoint_tolerance_m: Fraction = 0.01
    """A keypoint up to this far behind the visible surface counts as visible [m]."""

    def __post_init__(self) -> None:
        for name in self.semantic_types:
            if name not in SEMANTIC_TYPES:
                raise unknown_name(name, "a type of label", where="semantic_types", known=SEMANTIC_TYPES)
        if not self.semantic_types:
            raise ConfigError(
                f"semantic_types is empty. Expected some of {', '.join(SEMANTIC_TYPES)}. Name one.",
                key="semantic_types",
            )
        if len(self.camera_rotation_deg) != 3:
            raise ConfigError(
                f"camera_rotation_deg has {len(self.camera_rotation_deg)} numbers. Expected 3. Change it.",
                key="camera_rotation_deg",
            )
        check_ranges(self)

    def type_of(self, labels: Mapping[str, str]) -> str:
        """Returns the first of the semantic types that occurs in labels, which have at least one."""
        return next(kind for kind in self.semantic_types if kind in labels)

    @property
    def T_camera_turned(self) -> Pose:
        """Pose of the rotated camera frame in the camera's frame."""
        return Pose.from_rpy(np.zeros(3), np.radians(self.camera_rotation_deg))
