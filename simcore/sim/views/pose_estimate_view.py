"""What a planner is told of an object, as a view."""

from __future__ import annotations

import numpy as np

from unlatch.simcore.sim.pose_estimate_error import Sighting
from unlatch.simcore.sim.views.attribute import ViewAttribute
from unlatch.simcore.sim.views.attribute_view import AttributeView

Array = np.ndarray


class SightingView(AttributeView):
    """Errors of an object's pose, joints and keypoints, in the one environment of an episode."""

    kind = "sighting view"

    def __init__(self, sighting: Sighting, *, name: str) -> None:
        """Makes a view.

        Args:
            sighting: What is told of the object.
            name: Name of the object.
        """
        super().__init__(name)
        xyz = "x, y, z"

        def position(_env: int) -> Array:
            return sighting.position_m.copy()

        def set_position(_env: int, values: Array) -> None:
            sighting.position_m = np.array(values)

        def orientation(_env: int) -> Array:
            return sighting.rpy_rad.copy()

        def set_orientation(_env: int, values: Array) -> None:
            sighting.rpy_rad = np.array(values)

        def keypoints(_env: int) -> Array:
            return sighting.keypoints_m.ravel()

        def set_keypoints(_env: int, values: Array) -> None:
            sighting.keypoints_m = np.reshape(values, (-1, 3)).copy()

        def joints(_env: int) -> Array:
            return sighting.joint_errors.copy()

        def set_joints(_env: int, values: Array) -> None:
            sighting.joint_errors = np.array(values)

        self._add(ViewAttribute("seen_position", 3, "m", xyz, position, set_position))
        self._add(ViewAttribute("seen_orientation", 3, "rad", "roll, pitch, yaw", orientation, set_orientation))
        if sighting.joints:
            joint_names = ", ".join(sighting.joints)
            self._add(ViewAttribute("seen_joints", len(sighting.joints), "rad or m", joint_names, joints, set_joints))
        names = ", ".join(f"{part}.{keypoint}" for part, keypoint in sighting.keypoints)
        self._add(
            ViewAttribute(
                "seen_keypoints",
                3 * len(sighting.keypoints),
                "m",
                f"x, y, z for all keypoints, or one a keypoint: {names}",
                keypoints,
                set_keypoints,
                repeat=3,
            )
        )
