"""Errors of the poses with which a planner works."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unlatch.simcore.geometry import Array, Pose


class PoseEstimateError:
    """Errors of one object's estimated pose, joints and keypoints, such as a perception system makes; 0 at first.

    A randomization writes the attributes, and skills read them when they plan. Contacts and success are judged on the
    true poses.
    """

    def __init__(self, keypoints: Sequence[tuple[str, str]], *, joints: Sequence[str] = ()) -> None:
        """Makes an estimate without errors; keypoints are pairs (part, keypoint)."""
        self.joints = tuple(joints)
        """Names of the movable joints, in the order of `joint_errors`."""
        self.joint_errors: Array = np.zeros(len(self.joints))
        """(D,) errors of their positions [rad or m]."""
        self.keypoints = tuple(keypoints)
        """(part, keypoint) in the order of `keypoints_m`."""
        self.position_m: Array = np.zeros(3)
        """(3,) error of the root link's position, world frame [m]."""
        self.rpy_rad: Array = np.zeros(3)
        """(3,) error of its orientation: roll, pitch, yaw about the world's axes at the root's origin [rad]."""
        self.keypoints_m: Array = np.zeros((len(self.keypoints), 3))
        """(K, 3) errors of the keypoints, each in the frame that its annotation names [m]."""

    def estimate_root(self, T_world_root: Pose) -> Pose:
        """Returns the estimated pose of the root link from its true pose."""
        if not (self.position_m.any() or self.rpy_rad.any()):
            return T_world_root
        return Pose(Pose.from_rpy(np.zeros(3), self.rpy_rad).R @ T_world_root.R, T_world_root.p + self.position_m)

    def estimate_frame(self, T_world_root: Pose, T_world_frame: Pose) -> Pose:
        """Returns the estimated pose of any frame of the object from true poses; the object is displaced as a whole."""
        T_world_seen = self.estimate_root(T_world_root)
        return T_world_frame if T_world_seen is T_world_root else T_world_seen @ T_world_root.inverse() @ T_world_frame

    def joint_error(self, joint: str) -> float:
        """Returns the error of a joint's position [rad or m]."""
        return float(self.joint_errors[self.joints.index(joint)])

    def joint_positions(self, positions: Array) -> Array:
        """Returns the estimated positions (D,) of all movable joints from the true ones [rad or m]."""
        return positions + self.joint_errors if self.joint_errors.any() else positions

    def keypoint_error(self, part: str, keypoint: str) -> Array:
        """(3,) error of a keypoint of a part in the frame that its annotation names [m]."""
        return self.keypoints_m[self.keypoints.index((part, keypoint))]
