"""Rotations and rigid transforms: `T_a_b` is the pose of frame b in frame a."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import ArrayLike

from unlatch.old_paths import old_names
from unlatch.simcore.errors import GeometryError

if not TYPE_CHECKING:
    __getattr__ = old_names(__name__)

Array = np.ndarray


def unit(vector: ArrayLike) -> Array:
    """Returns a vector (3,) scaled to length 1.

    Raises:
        GeometryError: The vector has no direction.
    """
    v = np.asarray(vector, dtype=float)
    length = math.sqrt(v.dot(v))
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
    numbers = np.asarray(quat_xyzw, dtype=float).tolist()
    x, y, z, w = numbers if isinstance(numbers, list) and len(numbers) == 4 else [math.nan] * 4
    n = math.nan if isinstance(x, list) else math.sqrt(x * x + y * y + z * z + w * w)
    if not 1e-12 <= n < math.inf:
        raise GeometryError(
            f"A rotation needs a quaternion of 4 finite numbers and a length above 1e-12, got {numbers}. "
            "Give x, y, z, w.",
            quat_xyzw=numbers,
        )
    x, y, z, w = x / n, y / n, z / n, w / n
    return np.array(  # nested lists take four times as long
        [
            *(1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
            *(2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
            *(2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
        ]
    ).reshape(3, 3)


def matrices_from_quats_xyzw(quats_xyzw: ArrayLike) -> Array:
    """Returns the rotations (n, 3, 3) of unit quaternions (n, 4): those of `matrix_from_quat_xyzw`, to the bit."""
    quats = np.asarray(quats_xyzw, dtype=float)
    x, y, z, w = quats.T
    x, y, z, w = quats.T / np.sqrt(x * x + y * y + z * z + w * w)
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
        q = [m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1], 1 + trace]
    else:
        i, j, l = k, (k + 1) % 3, (k + 2) % 3  # noqa: E741 - cyclic indices of the matrix
        q = [0.0] * 4
        q[i] = 1 + m[i][i] - m[j][j] - m[l][l]
        q[j] = m[j][i] + m[i][j]
        q[l] = m[l][i] + m[i][l]
        q[3] = m[l][j] - m[j][l]
    x, y, z, w = q
    n = math.sqrt(x * x + y * y + z * z + w * w)
    n = -n if w < 0.0 else n
    return np.array([x / n, y / n, z / n, w / n])


def multiply_in_order(A: Array, B: Array) -> Array:
    """Returns a matrix (3, 3) times (3,) or (3, 3) numbers, summed in one order, whatever the processor is."""
    rows, numbers = A.tolist(), B.tolist()  # single numbers are faster than arrays of three
    if B.ndim == 1:
        x, y, z = numbers
        return np.array([a * x + b * y + c * z for a, b, c in rows])
    columns = list(zip(*numbers, strict=True))
    return np.array([a * x + b * y + c * z for a, b, c in rows for x, y, z in columns]).reshape(3, 3)


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


class Pose:
    """An immutable rigid transform, `p_a = T_a_b @ p_b` and `T_a_c = T_a_b @ T_b_c`."""

    __slots__ = ("R", "_quat_xyzw", "p")

    R: Array
    """(3, 3) rotation."""
    p: Array
    """(3,) position [m]."""
    _quat_xyzw: Array

    def __init__(self, R: ArrayLike, p: ArrayLike) -> None:
        """Makes a pose from a rotation matrix (3, 3) and a position (3,) [m].

        Raises:
            GeometryError: The matrix does not have 9 numbers, or the position 3.

        Note:
            It does not check whether the matrix is a rotation.
        """
        rotation = np.array(R, dtype=float)
        position = np.array(p, dtype=float)
        if rotation.size != 9 or position.size != 3:
            raise GeometryError(
                f"A pose needs a (3, 3) rotation and a (3,) position, got shapes {list(rotation.shape)} and "
                f"{list(position.shape)}. Give 9 and 3 numbers.",
                shapes=(rotation.shape, position.shape),
            )
        self._hold(rotation.reshape(3, 3), position.reshape(3))

    def _hold(self, R: Array, p: Array) -> None:
        """Takes over a rotation (3, 3) and a position (3,) [m]."""
        R.setflags(write=False)
        p.setflags(write=False)
        object.__setattr__(self, "R", R)
        object.__setattr__(self, "p", p)

    @classmethod
    def _of(cls, R: Array, p: Array) -> Pose:
        """Returns the pose of a new rotation (3, 3) and a new position (3,) [m], without copying them."""
        pose = cls.__new__(cls)
        pose._hold(R, p)
        return pose

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A Pose cannot be changed (tried to set '{name}'); make a new one.")

    def __reduce__(self) -> tuple[type[Pose], tuple[Array, Array]]:
        return (Pose, (self.R, self.p))

    @classmethod
    def identity(cls) -> Pose:
        """Returns the identity pose."""
        return cls(np.eye(3), np.zeros(3))

    @classmethod
    def from_matrix(cls, T: ArrayLike) -> Pose:
        """Returns the pose of a homogeneous matrix (4, 4)."""
        m = np.asarray(T, dtype=float)
        return cls(m[:3, :3], m[:3, 3])

    @classmethod
    def from_quat_xyzw(cls, p: ArrayLike, quat_xyzw: ArrayLike) -> Pose:
        """Returns the pose of a position (3,) [m] and a quaternion (x, y, z, w)."""
        return cls(matrix_from_quat_xyzw(quat_xyzw), p)

    @classmethod
    def from_recorded(cls, p: ArrayLike, quat_xyzw: Array) -> Pose:
        """Returns `from_quat_xyzw` of what `quat_xyzw` of a pose gave: it gives the same numbers again, to the bit."""
        pose = cls.from_quat_xyzw(p, quat_xyzw)
        kept = np.array(quat_xyzw, dtype=float)
        kept.setflags(write=False)
        object.__setattr__(pose, "_quat_xyzw", kept)
        return pose

    @classmethod
    def from_rpy(cls, p: ArrayLike, rpy: ArrayLike) -> Pose:
        """Returns the pose of a position (3,) [m] and URDF roll, pitch, yaw [rad]."""
        return cls(matrix_from_rpy(rpy), p)

    @classmethod
    def from_translation(cls, p: ArrayLike) -> Pose:
        """Returns a pure translation (3,) [m]."""
        return cls(np.eye(3), p)

    @property
    def matrix(self) -> Array:
        """(4, 4) homogeneous matrix."""
        T = np.eye(4)
        T[:3, :3] = self.R
        T[:3, 3] = self.p
        return T

    @property
    def quat_xyzw(self) -> Array:
        """(4,) unit quaternion (x, y, z, w), w >= 0; computed once, read-only."""
        try:
            return self._quat_xyzw
        except AttributeError:
            quat_xyzw = quat_xyzw_from_matrix(self.R)
            quat_xyzw.setflags(write=False)
            object.__setattr__(self, "_quat_xyzw", quat_xyzw)
            return quat_xyzw

    @property
    def quat_wxyz(self) -> Array:
        """(4,) unit quaternion (w, x, y, z), w >= 0."""
        return quat_wxyz_from_xyzw(self.quat_xyzw)

    def inverse(self) -> Pose:
        """Returns `T_b_a` of `T_a_b`."""
        return Pose._of(self.R.T, -self.R.T @ self.p)

    @overload
    def __matmul__(self, other: Pose) -> Pose: ...
    @overload
    def __matmul__(self, other: Array) -> Array: ...
    def __matmul__(self, other: Pose | Array) -> Pose | Array:
        """Composes with a pose, or transforms points (3,) or (K, 3) [m]."""
        if isinstance(other, Pose):
            return Pose._of(self.R @ other.R, self.R @ other.p + self.p)
        points = np.asarray(other, dtype=float)
        return points @ self.R.T + self.p

    def rotate(self, vectors: ArrayLike) -> Array:
        """Rotates directions (3,) or (K, 3) into the outer frame, without the translation."""
        return np.asarray(vectors, dtype=float) @ self.R.T

    def is_close(self, other: Pose, *, atol_m: float = 1e-9, atol_rad: float = 1e-9) -> bool:
        """Returns whether two poses agree within a distance [m] and an angle [rad]."""
        R = self.R.T @ other.R
        sine = 0.5 * np.linalg.norm([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
        angle = float(np.arctan2(sine, 0.5 * (np.trace(R) - 1.0)))
        return bool(np.linalg.norm(self.p - other.p) <= atol_m and angle <= atol_rad)

    def __repr__(self) -> str:
        return f"Pose(p={np.round(self.p, 4).tolist()}, quat_xyzw={np.round(self.quat_xyzw, 4).tolist()})"
