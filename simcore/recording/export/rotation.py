"""Converts orientations of many frames at once into the forms that data sets use."""

from __future__ import annotations

import numpy as np
import scipy

from unlatch.simcore.recording.export.config import RotationForm

Array = np.ndarray

COMPONENTS: dict[RotationForm, tuple[str, ...]] = {
    RotationForm.quat_xyzw: ("qx", "qy", "qz", "qw"),
    RotationForm.rotvec: ("rx", "ry", "rz"),
    RotationForm.rot6d: ("r11", "r21", "r31", "r12", "r22", "r32"),
    RotationForm.euler_xyz: ("roll", "pitch", "yaw"),
}
"""Names of the numbers of each form, in their order."""


def convert_rotations(quat_xyzw: Array, form: RotationForm) -> Array:
    """Converts unit quaternions (N, 4) into a form: (N, k) numbers, named by `COMPONENTS`."""
    if form is RotationForm.quat_xyzw:
        return quat_xyzw
    rotations = scipy.spatial.transform.Rotation.from_quat(quat_xyzw)
    if form is RotationForm.rotvec:
        return rotations.as_rotvec()
    if form is RotationForm.euler_xyz:
        return rotations.as_euler("xyz")
    return rotations.as_matrix()[:, :, :2].transpose(0, 2, 1).reshape(len(quat_xyzw), 6)


def rotation_changes(old_quat_xyzw: Array, new_quat_xyzw: Array) -> Array:
    """Returns the quaternions (N, 4) of R_change with R_new = R_change R_old and w >= 0."""
    change = (
        scipy.spatial.transform.Rotation.from_quat(new_quat_xyzw)
        * scipy.spatial.transform.Rotation.from_quat(old_quat_xyzw).inv()
    ).as_quat()
    return np.where(change[:, 3:] < 0, -change, change)
