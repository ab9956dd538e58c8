"""Serial kinematics of a URDF chain: one symbolic CasADi form, from which numbers and derivatives come."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from unlatch.simcore.errors import AssetError, FrameNotFoundError
from unlatch.simcore.geometry import Pose, matrix_from_rpy, unit
from unlatch.simcore.urdf.reader import parse_xml

Array = np.ndarray
T = TypeVar("T")

_MOVING = ("revolute", "continuous", "prismatic")
_FREE_LIMIT_RAD = 2.0 * math.pi
"""Limit given to a continuous joint, so that every joint has a bounded range to sample."""


@dataclass(frozen=True)
class ChainJoint:
    """One moving joint of the chain, with the fixed transform before it."""

    name: str
    prismatic: bool
    T_previous_joint: Array
    """(4, 4) joint frame at position 0 in the frame of the previous moving joint (or the base link) [m]."""
    axis: Array
    """(3,) unit axis in the joint frame."""
    lower: float
    upper: float
    max_velocity: float
    """Joint speed limit of the URDF [rad/s or m/s]; infinite where the URDF gives none."""


class Kinematics:
    """Forward kinematics of the chain from a base link to a tip link.

    `T_base_tip(q)` is the URDF link frame of the tip in the base link's frame, never a centre of mass.

    Note:
        Mimic joints on the chain are not supported; the chains of arms have none.
    """

    def __init__(self, joints: list[ChainJoint], T_last_tip: Array, *, base_link: str, tip_link: str) -> None:
        """Makes a chain from its joints, base to tip, and the tip frame (4, 4) in the last joint's frame.

        Most callers use `Kinematics.from_urdf`.
        """
        self.joints = tuple(joints)
        self.T_last_tip = np.array(T_last_tip, dtype=float)
        self.base_link = base_link
        self.tip_link = tip_link
        self.joint_names = tuple(joint.name for joint in joints)
        self.n_q = len(joints)
        self.lower = frozen_array([joint.lower for joint in joints])
        self.upper = frozen_array([joint.upper for joint in joints])
        self.max_velocity = frozen_array([joint.max_velocity for joint in joints])
        self._programs: dict[Any, Any] = {}
        self._last_q, self._last_pose = np.full((1, self.n_q), np.nan), np.eye(4)

    @property
    def length_m(self) -> float:
        """An upper bound of the distance from the first joint to the tip [m]: all links in one line, slides out."""
        links = [joint.T_previous_joint for joint in self.joints[1:]] + [self.T_last_tip]
        slides = [max(abs(joint.lower), abs(joint.upper)) for joint in self.joints if joint.prismatic]
        return sum(float(np.linalg.norm(T[:3, 3])) for T in links) + sum(slides)

    @classmethod
    def from_urdf(cls, urdf_path: str | Path, *, base_link: str, tip_link: str) -> Kinematics:
        """Reads the chain of a URDF from the link with the arm's base frame to the link whose pose is computed.

        Raises:
            AssetError: The file is missing, too large or no URDF, or the chain has no moving joint.
            FrameNotFoundError: A link does not exist, or no chain connects base and tip.
        """
        root = parse_xml(Path(urdf_path), root_tag="robot")
        links = [element.get("name", "") for element in root.findall("link")]
        for link in (base_link, tip_link):
            if link not in links:
                raise FrameNotFoundError(
                    f"Link '{link}' is not in {urdf_path}. Links: {', '.join(links)}. Name one of them.",
                    link=link,
                    available=links,
                )
        by_child = {_attribute(joint, "child", "link"): joint for joint in root.findall("joint")}
        chain: list[ET.Element] = []
        link = tip_link
        while link != base_link:
            if link not in by_child or len(chain) > len(by_child):
                raise FrameNotFoundError(
                    f"Link '{tip_link}' is not connected to '{base_link}' in {urdf_path}: the chain ends at '{link}'. "
                    "Name a base link between the root and the tip.",
                    link=tip_link,
                    available=links,
                )
            chain.append(by_child[link])
            link = _attribute(by_child[link], "parent", "link")
        joints: list[ChainJoint] = []
        T = np.eye(4)
        for element in reversed(chain):
            T = T @ _read_origin(element)
            if element.get("type") in _MOVING:
                joints.append(_read_joint(element, T, urdf_path=Path(urdf_path)))
                T = np.eye(4)
        if not joints:
            raise AssetError(
                f"The chain '{base_link}' to '{tip_link}' in {urdf_path} has no moving joint. Name another tip link.",
                path=str(urdf_path),
            )
        return cls(joints, T, base_link=base_link, tip_link=tip_link)

    def program(self, key: Any, build: Callable[[], T]) -> T:
        """Returns the object that `build` makes for this chain; it is built once and kept as long as the chain exists.

        The key begins with the class of the object.
        """
        if key not in self._programs:
            self._programs[key] = build()
        return self._programs[key]

    def expressions(self, q: Any) -> tuple[Any, Any, list[Any], list[Any]]:
        """Returns CasADi expressions of the tip pose and of its geometric Jacobian for a column q, SX or MX.

        They are R (3, 3), p (3,), and per joint the columns of the linear and of the angular velocity (3,), base frame.
        """
        R, p = ca.SX.eye(3), ca.SX.zeros(3)
        axes, origins = [], []
        for i, joint in enumerate(self.joints):
            R, p = _compose_symbolic(R, p, joint.T_previous_joint)
            constant = ca.DM(_snap_right_angles(joint.axis))
            world_axis = R @ ca.SX(constant.sparsity(), constant.nonzeros())
            axes.append(world_axis)
            origins.append(p)
            if joint.prismatic:
                p = p + world_axis * q[i]
            else:
                R = R @ _axis_rotation(joint.axis, ca.cos(q[i]), ca.sin(q[i]))
        R, p = _compose_symbolic(R, p, self.T_last_tip)
        linear, angular = [], []
        for joint, axis, origin in zip(self.joints, axes, origins, strict=True):
            if joint.prismatic:
                linear.append(axis)
                angular.append(ca.SX.zeros(3))
            else:
                linear.append(ca.cross(axis, p - origin))
                angular.append(axis)
        return R, p, linear, angular

    def pose_function(self) -> Any:
        """Returns the CasADi Function q -> R (3, 3), p (3,) of the tip; to call it is faster than `expressions`."""
        q = ca.SX.sym("q", self.n_q)
        return ca.Function("pose", [q], self.expressions(q)[:2])

    def fk(self, q: Array) -> Array:
        """Returns the (4, 4) pose of the tip in the base frame at joint positions (n_q,) [rad or m]."""
        joints = np.array(q, dtype=float).reshape(1, -1)
        if not np.array_equal(self._last_q, joints):  # an arm that stands still has the same joints in every frame
            R, p = self.fk_batch(joints)
            self._last_q, self._last_pose = joints, np.eye(4)
            self._last_pose[:3, :3], self._last_pose[:3, 3] = R[0], p[0]
        return self._last_pose.copy()

    def pose(self, q: Array) -> Pose:
        """Returns `T_base_tip` at joint positions (n_q,) [rad or m]."""
        R, p = self.fk_batch(np.asarray(q, dtype=float).reshape(1, -1))
        return Pose(R[0], p[0])

    def fk_batch(self, q: Array) -> tuple[Array, Array]:
        """Returns (B, 3, 3) rotations and (B, 3) positions [m] of the tip, base frame, at joints q (B, n_q)."""
        return self._follow_chain(np.asarray(q, dtype=float), None)

    def sweep(self, q: Array) -> tuple[Array, Array, Array, Array]:
        """Returns the two results of `fk_batch`, then unit axes and origins [m] of the joints, (n_q, B, 3) each."""
        joints = np.empty((2, self.n_q, q.shape[0], 3))
        return *self._follow_chain(q, joints), *joints

    def _follow_chain(self, q: Array, joints: Array | None) -> tuple[Array, Array]:
        """Returns the results of `fk_batch`; writes axes and origins of the joints into (2, n_q, B, 3) `joints`."""
        fixed, sine, cosine, moved = self._turns
        angles = q.T[:, :, None, None]  # (n_q, B, 1, 1)
        turns = fixed + np.sin(angles) * sine + (1.0 - np.cos(angles)) * cosine  # (n_q, B, 3, 3)
        R, p = np.broadcast_to(np.eye(3), (q.shape[0], 3, 3)), np.zeros((q.shape[0], 3))
        for i, joint in enumerate(self.joints):
            offset_and_axis = R @ moved[i]  # (B, 3, 2)
            p = p + offset_and_axis[:, :, 0]
            if joints is not None:
                joints[:, i] = offset_and_axis[:, :, 1], p
            if joint.prismatic:
                p = p + offset_and_axis[:, :, 1] * q[:, i, None]
            R = R @ turns[i]
        return R @ self.T_last_tip[:3, :3], p + R @ self.T_last_tip[:3, 3]

    @cached_property
    def _turns(self) -> tuple[Array, Array, Array, Array]:
        """Rotation of each joint from the one before, as a + sin(q) b + (1 - cos(q)) c, (n_q, 1, 3, 3) each, and
        (n_q, 3, 2) its offset [m] and axis, in the frame before it.
        """
        T = np.array([joint.T_previous_joint for joint in self.joints])
        axes = np.array([joint.axis for joint in self.joints])
        turning = np.array([not joint.prismatic for joint in self.joints], dtype=float)
        K = np.cross(np.eye(3), (axes * turning[:, None])[:, None])  # K v = axis x v
        R = T[:, :3, :3]
        moved = np.concatenate([T[:, :3, 3:], R @ axes[:, :, None]], axis=2)
        return R[:, None], (R @ K)[:, None], (R @ K @ K)[:, None], moved

    def jacobian(self, q: Array) -> Array:
        """Returns the (6, n_q) geometric Jacobian at q: linear, then angular velocity of the tip, base frame."""
        _, p, axes, origins = self.sweep(np.asarray(q, dtype=float).reshape(1, -1))
        J = np.zeros((6, self.n_q))
        for i, joint in enumerate(self.joints):
            if joint.prismatic:
                J[:3, i] = axes[i, 0]
            else:
                J[:3, i] = np.cross(axes[i, 0], p[0] - origins[i, 0])
                J[3:, i] = axes[i, 0]
        return J

    def __repr__(self) -> str:
        return f"Kinematics({self.base_link} -> {self.tip_link}, n_q={self.n_q}: {', '.join(self.joint_names)})"


def frozen_array(values: ArrayLike) -> Array:
    """Returns a read-only copy as an array of floats."""
    array = np.array(values, dtype=float)
    array.setflags(write=False)
    return array


def _attribute(joint: ET.Element, tag: str, attribute: str) -> str:
    child = joint.find(tag)
    return child.get(attribute, "") if child is not None else ""


def _read_triple(text: str | None, default: tuple[float, float, float]) -> list[float]:
    return [float(value) for value in text.split()] if text else list(default)


def _read_origin(joint: ET.Element) -> Array:
    element = joint.find("origin")
    T = np.eye(4)
    if element is not None:
        T[:3, :3] = _snap_right_angles(matrix_from_rpy(_read_triple(element.get("rpy"), (0.0, 0.0, 0.0))))
        T[:3, 3] = _read_triple(element.get("xyz"), (0.0, 0.0, 0.0))
    return T


def _snap_right_angles(values: Array) -> Array:
    """Returns the values; those within 1e-10 of 0 or +-1 become exact, such as the cosine of `rpy=1.57079632679`."""
    snapped = np.round(values)
    return np.where(np.abs(values - snapped) < 1e-10, snapped, values)


def _read_joint(element: ET.Element, T: Array, *, urdf_path: Path) -> ChainJoint:
    name, kind = element.get("name", ""), element.get("type", "")
    axis = element.find("axis")
    limit = element.find("limit")
    if element.find("mimic") is not None:
        raise AssetError(
            f"Joint '{name}' of {urdf_path} is a mimic joint on the arm's chain, which is not supported. "
            "Choose a tip link before it.",
            joint=name,
        )
    if limit is None and kind != "continuous":
        raise AssetError(f"Joint '{name}' of {urdf_path} has no <limit>. Give its lower and upper.", joint=name)
    lower, upper, velocity = -_FREE_LIMIT_RAD, _FREE_LIMIT_RAD, math.inf
    if limit is not None:
        velocity = float(limit.get("velocity", "inf"))
        if kind != "continuous":
            lower, upper = float(limit.get("lower", "0")), float(limit.get("upper", "0"))
    try:
        direction = unit(_read_triple(axis.get("xyz") if axis is not None else None, (1.0, 0.0, 0.0)))
    except ValueError as exc:
        raise AssetError(f"Joint '{name}' of {urdf_path} has no axis: {exc} Mend the file.", joint=name) from exc
    return ChainJoint(name, kind == "prismatic", T, direction, lower, upper, velocity)


def _axis_rotation(axis: Array, c: Any, s: Any) -> Any:
    """Returns the symbolic rotation about a constant axis; CasADi stores no zeros, which halves the program."""
    x, y, z = (float(v) for v in axis)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    KK = K @ K
    R = ca.SX(3, 3)
    for i in range(3):
        for j in range(3):
            value = (1.0 if i == j else 0.0) + s * K[i, j] + (1.0 - c) * KK[i, j]
            if i == j and KK[i, i] == -1.0 and K[i, i] == 0.0:
                value = c
            elif KK[i, j] == 0.0:
                value = (1.0 if i == j else 0.0) + (s * K[i, j] if K[i, j] != 0.0 else 0.0)
            if not (isinstance(value, float) and value == 0.0):
                R[i, j] = value
    return R


def _compose_symbolic(R: Any, p: Any, T: Array) -> tuple[Any, Any]:
    constant = ca.sparsify(ca.DM(_snap_right_angles(T[:3, :3])))
    offset = ca.sparsify(ca.DM(T[:3, 3]))
    return R @ ca.SX(constant), p + R @ ca.SX(offset)
