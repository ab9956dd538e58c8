"""Conversions between forms of rotations; names of quaternions state their order."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from unlatch.simcore.errors import GeometryError

Array = np.ndarray


def unit(vector: ArrayLike) -> Array:
    """Returns a vector (3,) scaled to length 1.

    Raises:
        GeometryError: The vector has no direction.
    """
    v = np.asarray(vector, dtype=float)
    length = float(np.linalg.norm(v))
    if not math.isfinite(length) or length < 1e-12:
        raise GeometryError(
            f"A direction must have a finite length above 1e-12, got {v.tolist()}. Give it a direction.",
            vector=v.tolist(),
        )
    return v / length


def angle_between(a: ArrayLike, b: ArrayLike) -> float:
    """Returns the angle between two vectors (3,) of one frame [rad], exact near 0 and pi (atan2 form)."""
    u, v = unit(a), unit(b)
    return float(np.arctan2(np.linalg.norm(np.cross(u, v)), np.dot(u, v)))


def matrix_from_quat_xyzw(quat_xyzw: ArrayLike) -> Array:
    """Returns the rotation (3, 3) of a quaternion (x, y, z, w) of any length above 0.

    Raises:
        GeometryError: It does not have four finite components, or its length is 0.
    """
    quat = np.asarray(quat_xyzw, dtype=float)
    n = math.sqrt(float(quat.ravel() @ quat.ravel()))
    if quat.shape != (4,) or not math.isfinite(n) or n < 1e-12:
        raise GeometryError(
            f"A rotation needs a quaternion of 4 finite numbers and a length above 1e-12, got {quat.tolist()}. "
            "Give x, y, z, w.",
            quat_xyzw=quat.tolist(),
        )
    x, y, z, w = quat.tolist()
    x, y, z, w = x / n, y / n, z / n, w / n
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def matrices_from_quats_xyzw(quats_xyzw: ArrayLike) -> Array:
    """Returns the rotations (n, 3, 3) of unit quaternions (n, 4): those of `matrix_from_quat_xyzw`, to the bit."""
    quats = np.asarray(quats_xyzw, dtype=float)
    lengths = np.sqrt(quats[:, None, :] @ quats[:, :, None])[:, 0]  # (n, 1)
    x, y, z, w = (quats / lengths).T
    xx, yy, zz, xy, xz, yz, xw, yw, zw = x * x, y * y, z * z, x * y, x * z, y * z, x * w, y * w, z * w
    rotations = np.empty((len(quats), 3, 3))
    rotations[:, 0, 0], rotations[:, 0, 1], rotations[:, 0, 2] = 1 - 2 * (yy + zz), 2 * (xy - zw), 2 * (xz + yw)
    rotations[:, 1, 0], rotations[:, 1, 1], rotations[:, 1, 2] = 2 * (xy + zw), 1 - 2 * (xx + zz), 2 * (yz - xw)
    rotations[:, 2, 0], rotations[:, 2, 1], rotations[:, 2, 2] = 2 * (xz - yw), 2 * (yz + xw), 1 - 2 * (xx + yy)
    return rotations


def quat_xyzw_from_matrix(R: ArrayLike) -> Array:
    """Returns the unit quaternion (x, y, z, w), w >= 0, of a rotation (3, 3)."""
    m: list[list[float]] = np.asarray(R, dtype=float).tolist()  # single numbers are faster than elements of an array
    trace = m[0][0] + m[1][1] + m[2][2]
    # the largest of the four is never small: no division by nearly zero
    candidates = (m[0][0], m[1][1], m[2][2], trace)
    k = candidates.index(max(candidates))
    if k == 3:
        q = np.array((m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1], 1 + trace))
    else:
        i, j, l = k, (k + 1) % 3, (k + 2) % 3  # noqa: E741 - cyclic indices of the matrix
        q = np.empty(4)
        q[i] = 1 + m[i][i] - m[j][j] - m[l][l]
        q[j] = m[j][i] + m[i][j]
        q[l] = m[l][i] + m[i][l]
        q[3] = m[l][j] - m[j][l]
    q /= math.sqrt(float(q @ q))
    return -q if q[3] < 0 else q


def matrix_from_rpy(rpy: ArrayLike) -> Array:
    """Returns the rotation (3, 3) of URDF roll, pitch, yaw [rad]: Rz(yaw) Ry(pitch) Rx(roll)."""
    r, p, y = (float(c) for c in np.asarray(rpy, dtype=float))
    cr, sr, cp, sp, cy, sy = math.cos(r), math.sin(r), math.cos(p), math.sin(p), math.cos(y), math.sin(y)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rpy_from_matrix(R: ArrayLike, *, gimbal_lock_rad: float = 1e-9) -> Array:
    """Returns URDF roll, pitch, yaw (3,) [rad] of a rotation (3, 3); with a pitch of +-pi/2, the roll is 0.

    A pitch less than `gimbal_lock_rad` from +-pi/2 counts as +-pi/2 [rad].
    """
    m = np.asarray(R, dtype=float)
    pitch = math.atan2(-m[2, 0], math.hypot(m[0, 0], m[1, 0]))
    if math.hypot(m[0, 0], m[1, 0]) < gimbal_lock_rad:
        return np.array([0.0, pitch, math.atan2(-m[0, 1], m[1, 1])])
    return np.array([math.atan2(m[2, 1], m[2, 2]), pitch, math.atan2(m[1, 0], m[0, 0])])


def matrix_from_axis_angle(axis: ArrayLike, angle_rad: float) -> Array:
    """Returns the rotation (3, 3) by a right-handed angle [rad] about an axis (3,) of any length (Rodrigues)."""
    x, y, z = unit(axis)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle_rad) * K + (1.0 - math.cos(angle_rad)) * (K @ K)


def quat_wxyz_from_xyzw(quat_xyzw: ArrayLike) -> Array:
    """Returns the quaternion (4,) with w first."""
    return np.roll(np.asarray(quat_xyzw, dtype=float), 1)


def quat_xyzw_from_wxyz(quat_wxyz: ArrayLike) -> Array:
    """Returns the quaternion (4,) with w last."""
    return np.roll(np.asarray(quat_wxyz, dtype=float), -1)


def turn_to_x(quarters: int) -> np.ndarray:
    """Returns (3, 3) the exact rotation about z that turns a direction, `quarters` quarter turns from +x, to +x."""
    c, s = [(1, 0), (0, 1), (-1, 0), (0, -1)][quarters % 4]
    return np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])


def third_side_range(low: float, high: float, side: float) -> tuple[float, float]:
    """Returns the range of the third side of a spherical triangle whose first side lies between low and high, and whose
    second is `side`; all sides are 0 to pi [rad].
    """
    smallest = max(0.0, low - side, side - high)
    turn = math.pi - side  # the third side is at most pi - |turn - first|
    largest = math.pi - max(0.0, low - turn, turn - high)
    return smallest, largest
