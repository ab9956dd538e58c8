"""A view of the errors of an object's estimated pose, through which they are randomized."""

from __future__ import annotations

from unlatch.simcore.sim.pose_estimate_error import PoseEstimateError
from unlatch.simcore.sim.views.attribute_view import AttributeView


class PoseEstimateView(AttributeView):
    """Errors of an object's pose, joints and keypoints, in the single environment of an episode."""

    kind = "pose estimate view"

    def __init__(self, pose_error: PoseEstimateError, *, name: str) -> None:
        super().__init__(name)
        xyz, rpy = "x, y, z", "roll, pitch, yaw"
        self._add_array("seen_position", pose_error, "position_m", "m", xyz)
        self._add_array("seen_orientation", pose_error, "rpy_rad", "rad", rpy)
        if pose_error.joints:
            self._add_array("seen_joints", pose_error, "joint_errors", "rad or m", ", ".join(pose_error.joints))
        names = ", ".join(f"{part}.{keypoint}" for part, keypoint in pose_error.keypoints)
        words = f"{xyz} for all keypoints, or one per keypoint: {names}"
        self._add_array("seen_keypoints", pose_error, "keypoints_m", "m", words, repeat=3)
