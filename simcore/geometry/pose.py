"""Rigid transforms: `T_a_b` is the pose of frame b in frame a."""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from unlatch.simcore.errors import GeometryError
from unlatch.simcore.geometry.rotations import (
    matrix_from_quat_xyzw,
    matrix_from_rpy,
    quat_wxyz_from_xyzw,
    quat_xyzw_from_matrix,
)

Array = np.ndarray


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
        rotation = rotation.reshape(3, 3)
        position = position.reshape(3)
        rotation.setflags(write=False)
        position.setflags(write=False)
        object.__setattr__(self, "R", rotation)
        object.__setattr__(self, "p", position)

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
        return Pose(self.R.T, -self.R.T @ self.p)

    @overload
    def __matmul__(self, other: Pose) -> Pose: ...
    @overload
    def __matmul__(self, other: Array) -> Array: ...
    def __matmul__(self, other: Pose | Array) -> Pose | Array:
        """Composes with a pose, or transforms points (3,) or (K, 3) [m]."""
        if isinstance(other, Pose):
            return Pose(self.R @ other.R, self.R @ other.p + self.p)
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
