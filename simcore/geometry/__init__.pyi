from .cube_faces import CubeFace
from .fisheye import Fisheye
from .pinhole import Pinhole
from .pose import Pose
from .rotations import (
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
    "CubeFace",
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
