"""Input of the planner: keypoints, axes and the joint of the object, and the arm, in the arm's base frame."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from unlatch.simcore.errors import ConfigError, close_matches
from unlatch.simcore.geometry import matrix_from_axis_angle, unit
from unlatch.solver.kinematics import Kinematics, frozen_array

Array = np.ndarray


@dataclass(frozen=True)
class JointGeometry:
    """The joint of the moving part, in the arm's base frame."""

    prismatic: bool
    """Slider (True) or hinge."""
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

    def motion(self, delta: float) -> tuple[Array, Array]:
        """Returns rotation (3, 3) and translation (3,) [m] of the part, `p_moved = R p + t` in the base frame, when its
        joint moves by `delta` [rad or m].
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
    link_frame: frozenset[str] = field(default_factory=frozenset)
    """Names of the keypoints and axes that move with the part."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "keypoints", {name: frozen_array(p) for name, p in self.keypoints.items()})
        for kind, entries in (("keypoint", self.keypoints), ("axis", self.axes)):
            for name, vector in entries.items():
                if np.shape(vector) != (3,) or not np.all(np.isfinite(vector)):
                    raise ConfigError(
                        f"The {kind} '{name}' of the object is {np.asarray(vector).tolist()}, expected three finite "
                        "numbers. Mend the annotation.",
                        key=name,
                    )
        axes = {name: frozen_array(unit(a)) for name, a in self.axes.items()}
        object.__setattr__(self, "axes", axes)
        object.__setattr__(self, "R_base_link", frozen_array(self.R_base_link).reshape(3, 3))
        object.__setattr__(self, "R_base_world", frozen_array(self.R_base_world).reshape(3, 3))
        object.__setattr__(self, "link_frame", frozenset(self.link_frame))

    @property
    def s(self) -> float:
        """Joint position of this scene [rad or m]."""
        return self.joint.position

    def at(self, s: float) -> PlanningScene:
        """Returns the scene with the part at joint position `s` [rad or m]."""
        R, t = self.joint.motion(s - self.joint.position)
        return replace(
            self,
            keypoints={n: R @ p + t if n in self.link_frame else p for n, p in self.keypoints.items()},
            axes={n: R @ a if n in self.link_frame else a for n, a in self.axes.items()},
            R_base_link=R @ self.R_base_link,
            joint=replace(self.joint, position=float(s)),
        )

    def moved(self, R: ArrayLike, t: ArrayLike) -> PlanningScene:
        """Returns the scene moved rigidly, `p -> R p + t`, base frame; for tests of invariance."""
        turn, shift = np.asarray(R, dtype=float), np.asarray(t, dtype=float)
        return replace(
            self,
            keypoints={n: turn @ p + shift for n, p in self.keypoints.items()},
            axes={n: turn @ a for n, a in self.axes.items()},
            R_base_link=turn @ self.R_base_link,
            R_base_world=turn @ self.R_base_world,
            joint=replace(self.joint, origin=turn @ self.joint.origin + shift, axis=turn @ self.joint.axis),
        )

    def keypoint(self, name: str) -> Array:
        """Returns the (3,) position of an object keypoint [m].

        Raises:
            ConfigError: No such keypoint.
        """
        if name not in self.keypoints:
            raise ConfigError(
                f"Object keypoint '{name}' does not exist.{close_matches(name, self.keypoints)} "
                f"Keypoints of the object: {', '.join(sorted(self.keypoints))}. Name one of them.",
                keypoint=name,
                available=sorted(self.keypoints),
            )
        return self.keypoints[name]

    def axis(self, name: str) -> Array:
        """Returns a (3,) unit axis of the annotation; `link0_x_axis` and `object_link0_x_axis` are the same.

        Raises:
            ConfigError: No such axis.
        """
        short = axis_name(name)
        known = {axis_name(n): a for n, a in self.axes.items()}
        if short in known:
            return known[short]
        if short == "link0_vertical_axis" and {"link0_move_axis", "link0_contact_axis"} <= set(known):
            return unit(np.cross(known["link0_move_axis"], known["link0_contact_axis"]))
        raise ConfigError(
            f"Axis '{name}' does not exist on the object.{close_matches(short, known)} "
            f"Axes of the annotation: {', '.join(sorted(known))}. Name one of them or give three numbers.",
            axis=name,
            available=sorted(known),
        )


def axis_name(name: str) -> str:
    """Returns the short form of an axis name: `object_link0_move_axis` and `link0_move_axis` are the same."""
    return name[len("object_") :] if name.startswith("object_link0_") else name


@dataclass(frozen=True)
class ArmModel:
    """The arm for the planner; limits include their margins."""

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
        """Returns labels and tool keypoints, ee frame: `+`, and for a symmetric gripper `-`, turned by pi about the
        approach axis. A goal for the second set is the same grasp with the two fingers exchanged.
        """
        variants = [("+", dict(self.tool_keypoints))]
        if self.symmetric_gripper and {"tool_head", "tool_tail"} <= set(self.tool_keypoints):
            head, tail = self.tool_keypoints["tool_head"], self.tool_keypoints["tool_tail"]
            R = matrix_from_axis_angle(head - tail, math.pi)
            variants.append(("-", {n: head + R @ (p - head) for n, p in self.tool_keypoints.items()}))
        return variants

    def approach_axis(self) -> Array:
        """Returns the (3,) unit vector tool_tail -> tool_head in the ee frame; the ee z axis if one is missing."""
        if {"tool_head", "tool_tail"} <= set(self.tool_keypoints):
            return unit(self.tool_keypoints["tool_head"] - self.tool_keypoints["tool_tail"])
        return np.array([0.0, 0.0, 1.0])
