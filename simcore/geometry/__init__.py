"""Poses, rotations and keypoints; NumPy and SciPy only."""

from unlatch.simcore.geometry.fisheye import Fisheye
from unlatch.simcore.geometry.pinhole import Pinhole
from unlatch.simcore.geometry.pose import Pose
from unlatch.simcore.geometry.rotations import (
    angle_between,
    matrix_from_axis_angle,
    matrix_from_quat_xyzw,
    matrix_from_rpy,
    quat_wxyz_from_xyzw,
    quat_xyzw_from_matrix,
    quat_xyzw_from_rpy,
    quat_xyzw_from_wxyz,
    rpy_from_matrix,
    unit,
)

__all__ = [
    "Fisheye",
    "Pinhole",
    "Pose",
    "angle_between",
    "matrix_from_axis_angle",
    "matrix_from_quat_xyzw",
    "matrix_from_rpy",
    "quat_wxyz_from_xyzw",
    "quat_xyzw_from_matrix",
    "quat_xyzw_from_rpy",
    "quat_xyzw_from_wxyz",
    "rpy_from_matrix",
    "unit",
]
