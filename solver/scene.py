"""Input of the planner, in the arm's base frame: the object's keypoints, axes and joint, and the arm."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from unlatch.simcore.errors import ConfigError, unknown_name
from unlatch.simcore.geometry import matrix_from_axis_angle, unit
from unlatch.solver.kinematics import Kinematics, frozen_array

Array = np.ndarray


@dataclass(frozen=True)
class JointGeometry:
    """The joint of the moving part, in the arm's base frame."""

    prismatic: bool
    """Whether the joint is a slider; False = a hinge."""
    origin: Array
    """(3,) a point on the axis [m]."""
    axis: Array
    """(3,) unit axis; positive `s` turns about it right-handed, or moves along it."""
    position: float
    """Joint position `s` of the scene [rad or m]."""
    lower: float
    """Lower limit [rad or m]."""
    upper: float
    """Upper limit [rad or m]."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "origin", frozen_array(self.origin))
        object.__setattr__(self, "axis", frozen_array(unit(self.axis)))

    @property
    def unit(self) -> str:
        """Unit of the joint position, `m` or `rad`."""
        return "m" if self.prismatic else "rad"

    def motion(self, delta: float) -> tuple[Array, Array]:
        """Returns how the part moves, `p_moved = R p + t`, when its joint moves by `delta` [rad or m].

        Returns:
            Rotation R (3, 3) and translation t (3,) [m], base frame.
        """
        if self.prismatic:
            return np.eye(3), self.axis * delta
        R = matrix_from_axis_angle(self.axis, delta)
        return R, self.origin - R @ self.origin


@dataclass(frozen=True)
class PlanningScene:
    """Keypoints, axes and the joint of the object at one joint position, in the arm's base frame."""

    keypoints: Mapping[str, Array]
    """Object keypoints by name, (3,) each [m]."""
    axes: Mapping[str, Array]
    """Axes of the annotation by name, unit (3,) each, turned into the base frame."""
    R_base_link: Array
    """(3, 3) rotation of the moving part's frame."""
    R_base_world: Array
    """(3, 3) rotation of the world frame."""
    joint: JointGeometry
    s_closed: float
    """Joint position when closed [rad or m]."""
    s_open: float
    """Joint position when open [rad or m]."""
    moving_names: frozenset[str] = field(default_factory=frozenset)
    """Names of the keypoints and axes that move with the part."""
    R_base_object: Array | None = None
    """(3, 3) rotation of the frame in which GenSim2 states axes: z up and x into the front of an object that stands;
    None: that of the world frame."""
    cross_sign: float = 1.0
    """-1 where cross products of a setting change their sign: it is written for the mirror image of the part."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "keypoints", {name: frozen_array(p) for name, p in self.keypoints.items()})
        for kind, entries in (("keypoint", self.keypoints), ("axis", self.axes)):
            for name, vector in entries.items():
                if np.shape(vector) != (3,) or not np.all(np.isfinite(vector)):
                    raise ConfigError(
                        f"The {kind} '{name}' of the object is {np.asarray(vector).tolist()}, expected three finite "
                        "numbers. Correct the annotation.",
                        key=name,
                    )
        axes = {name: frozen_array(unit(a)) for name, a in self.axes.items()}
        object.__setattr__(self, "axes", axes)
        object.__setattr__(self, "R_base_link", frozen_array(self.R_base_link).reshape(3, 3))
        object.__setattr__(self, "R_base_world", frozen_array(self.R_base_world).reshape(3, 3))
        R_base_object = self.R_base_world if self.R_base_object is None else self.R_base_object
        object.__setattr__(self, "R_base_object", frozen_array(R_base_object).reshape(3, 3))
        object.__setattr__(self, "moving_names", frozenset(self.moving_names))

    @property
    def s(self) -> float:
        """Joint position of this scene [rad or m]."""
        return self.joint.position

    def at(self, s: float) -> PlanningScene:
        """Returns the scene with the part at joint position `s` [rad or m]."""
        R, t = self.joint.motion(s - self.joint.position)
        return replace(
            self,
            keypoints={n: R @ p + t if n in self.moving_names else p for n, p in self.keypoints.items()},
            axes={n: R @ a if n in self.moving_names else a for n, a in self.axes.items()},
            R_base_link=R @ self.R_base_link,
            joint=replace(self.joint, position=float(s)),
        )

    def keypoint(self, name: str) -> Array:
        """Returns the (3,) position of an object keypoint [m].

        Raises:
            ConfigError: The keypoint does not exist.
        """
        if name not in self.keypoints:
            raise unknown_name(name, "a keypoint of the object", where="keypoint", known=sorted(self.keypoints))
        return self.keypoints[name]

    def axis(self, name: str) -> Array:
        """Returns a (3,) unit axis of the annotation; `link0_x_axis` and `object_link0_x_axis` name the same axis.

        Raises:
            ConfigError: The axis does not exist.
        """
        short = axis_name(name)
        known = {axis_name(n): a for n, a in self.axes.items()}
        if short in known:
            return known[short]
        if short == "link0_vertical_axis" and {"link0_move_axis", "link0_contact_axis"} <= set(known):
            return unit(np.cross(known["link0_move_axis"], known["link0_contact_axis"]))
        raise unknown_name(name, "an axis of the object", where="axis", known=sorted(known))


def checked_joints(key: str, values: ArrayLike, n: int) -> Array:
    """Returns n joint positions as a read-only array; `key` names them in the message.

    Raises:
        ConfigError: The values are not n finite numbers.
    """
    q = frozen_array(values)
    if q.shape != (n,) or not np.all(np.isfinite(q)):
        raise ConfigError(f"{key} must hold {n} finite joint positions, got {q.tolist()}.", key=key)
    return q


def axis_name(name: str) -> str:
    """Returns the short form of an axis name: `object_link0_move_axis` becomes `link0_move_axis`."""
    return name[len("object_") :] if name.startswith("object_link0_") else name


@dataclass(frozen=True)
class ArmModel:
    """The arm as the planner sees it; its limits include safety margins."""

    kinematics: Kinematics
    """Chain from the arm's base link to its ee link."""
    tool_keypoints: Mapping[str, Array]
    """`tool_head`, `tool_tail`, `tool_side` in the ee frame, (3,) each [m]."""
    q_lower: Array
    """(n,) lower joint limits with margin [rad]."""
    q_upper: Array
    """(n,) upper joint limits with margin [rad]."""
    max_velocity: Array
    """(n,) joint speed limits [rad/s]."""
    max_acceleration: Array
    """(n,) joint acceleration limits [rad/s^2]."""
    workspace: Array
    """(2, 3) lower and upper corner of the box of the ee origin, base frame [m]."""
    q_home: Array
    """(n,) home position [rad]."""
    symmetric_gripper: bool = True
    """Whether turning the hand by pi about its approach axis gives the same grasp."""

    def __post_init__(self) -> None:
        n = self.kinematics.n_q
        points = {name: frozen_array(p) for name, p in self.tool_keypoints.items()}
        object.__setattr__(self, "tool_keypoints", points)
        for key in ("q_lower", "q_upper", "max_velocity", "max_acceleration", "q_home"):
            value = frozen_array(getattr(self, key))
            if value.shape != (n,) or not np.all(np.isfinite(value)):
                raise ConfigError(
                    f"arm.{key} must hold {n} finite numbers (one for each of "
                    f"{', '.join(self.kinematics.joint_names)}), got {value.tolist()}.",
                    key=f"arm.{key}",
                )
            object.__setattr__(self, key, value)
        object.__setattr__(self, "workspace", frozen_array(self.workspace).reshape(2, 3))
        if not np.all(np.isfinite(self.workspace)):
            raise ConfigError(
                f"arm.workspace={self.workspace.tolist()} must hold two corners of finite numbers.", key="arm.workspace"
            )
        if np.any(self.q_lower >= self.q_upper) or np.any(self.workspace[0] >= self.workspace[1]):
            raise ConfigError(
                f"arm: every lower bound must lie below its upper bound, got q_lower={self.q_lower.tolist()}, "
                f"q_upper={self.q_upper.tolist()}, workspace={self.workspace.tolist()}.",
                key="arm.q_lower",
            )

    @property
    def n_q(self) -> int:
        """Number of joints."""
        return self.kinematics.n_q

    def tool_variants(self) -> list[tuple[str, dict[str, Array]]]:
        """Returns the labelled sets of tool keypoints, ee frame: `+`, and for a symmetric gripper also `-`.

        The set `-` is turned by pi about the approach axis. A goal for it is the same grasp with exchanged fingers.
        """
        variants = [("+", dict(self.tool_keypoints))]
        if self.symmetric_gripper and {"tool_head", "tool_tail"} <= set(self.tool_keypoints):
            head, tail = self.tool_keypoints["tool_head"], self.tool_keypoints["tool_tail"]
            R = matrix_from_axis_angle(head - tail, math.pi)
            variants.append(("-", {n: head + R @ (p - head) for n, p in self.tool_keypoints.items()}))
        return variants

    def variant_rotation(self, variant: str) -> Array:
        """Returns the (3, 3) turn of the hand, ee frame, that exchanges the fingers as a set of tool keypoints does."""
        if variant == "+":
            return np.eye(3)
        return matrix_from_axis_angle(self.approach_axis(), math.pi)

    def side_axis(self) -> Array:
        """Returns the (3,) unit vector between the fingertips, ee frame; the ee y axis if a keypoint is missing."""
        if {"tool_head", "tool_side"} <= set(self.tool_keypoints):
            return unit(self.tool_keypoints["tool_side"] - self.tool_keypoints["tool_head"])
        return np.array([0.0, 1.0, 0.0])

    def approach_axis(self) -> Array:
        """Returns the (3,) unit vector tool_tail -> tool_head, ee frame; the ee z axis if a keypoint is missing."""
        if {"tool_head", "tool_tail"} <= set(self.tool_keypoints):
            return unit(self.tool_keypoints["tool_head"] - self.tool_keypoints["tool_tail"])
        return np.array([0.0, 0.0, 1.0])
