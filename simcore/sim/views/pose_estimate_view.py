"""The pose estimate error of an object as a view."""

from __future__ import annotations

import numpy as np

from unlatch.simcore.sim.pose_estimate_error import PoseEstimateError
from unlatch.simcore.sim.views.attribute import ViewAttribute
from unlatch.simcore.sim.views.attribute_view import AttributeView

Array = np.ndarray


class PoseEstimateView(AttributeView):
    """Errors of an object's pose, joints and keypoints, in the single environment of an episode."""

    kind = "pose estimate view"

    def __init__(self, pose_error: PoseEstimateError, *, name: str) -> None:
        """Makes a view.

        Args:
            pose_error: Errors of the object's estimated pose.
            name: Name of the object.
        """
        super().__init__(name)
        xyz = "x, y, z"

        def position(_env: int) -> Array:
            return pose_error.position_m.copy()

        def set_position(_env: int, values: Array) -> None:
            pose_error.position_m = np.array(values)

        def orientation(_env: int) -> Array:
            return pose_error.rpy_rad.copy()

        def set_orientation(_env: int, values: Array) -> None:
            pose_error.rpy_rad = np.array(values)

        def keypoints(_env: int) -> Array:
            return pose_error.keypoints_m.ravel()

        def set_keypoints(_env: int, values: Array) -> None:
            pose_error.keypoints_m = np.reshape(values, (-1, 3)).copy()

        def joints(_env: int) -> Array:
            return pose_error.joint_errors.copy()

        def set_joints(_env: int, values: Array) -> None:
            pose_error.joint_errors = np.array(values)

        self._add(ViewAttribute("seen_position", 3, "m", xyz, position, set_position))
        self._add(ViewAttribute("seen_orientation", 3, "rad", "roll, pitch, yaw", orientation, set_orientation))
        if pose_error.joints:
            joint_names = ", ".join(pose_error.joints)
            self._add(ViewAttribute("seen_joints", len(pose_error.joints), "rad or m", joint_names, joints, set_joints))
        names = ", ".join(f"{part}.{keypoint}" for part, keypoint in pose_error.keypoints)
        self._add(
            ViewAttribute(
                "seen_keypoints",
                3 * len(pose_error.keypoints),
                "m",
                f"x, y, z for all keypoints, or one a keypoint: {names}",
                keypoints,
                set_keypoints,
                repeat=3,
            )
        )
