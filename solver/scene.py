"""Input of the planner, in the arm's base frame: the arm, the object's keypoints, axes and joint, the freedom of the
hand on the part, and a collision checker with the space that it checks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from unlatch.simcore.errors import ConfigError, unknown_name
from unlatch.simcore.geometry import matrix_from_axis_angle, unit
from unlatch.solver.kinematics import Kinematics, frozen_array

Array = np.ndarray


class Collision(Protocol):
    """One pair of links that touch or come too close; any class with these attributes fits."""

    @property
    def link_a(self) -> str:
        """A link of the robot."""

    @property
    def link_b(self) -> str:
        """A link of the object, another link of the robot, or a body of the environment."""

    @property
    def distance_m(self) -> float:
        """Signed distance, negative when they overlap [m]."""

    @property
    def where(self) -> tuple[float, float, float]:
        """The point between the two, in the checker's world frame [m]."""


def describe_collision(hit: Collision) -> str:
    """Returns the pair and its distance, for a message."""
    return f"{hit.link_a} and {hit.link_b} ({1000.0 * hit.distance_m:.1f} mm)"


@runtime_checkable
class CollisionChecker(Protocol):
    """Checks one arm in one scene, with the object at a given joint position."""

    def deepest_collision(
        self, q: Array, *, s: float | None = None, gripper: float | None = None, clearance_m: float | None = None
    ) -> Collision | None:
        """Returns the deepest collision with the arm at q, or None if nothing collides.

        Args:
            q: (n,) arm joint positions [rad].
            s: Position of the object's joint [rad or m]; None = as in the scene at the start.
            gripper: Opening between the pads [m]; None = fully open.
            clearance_m: Distance to other bodies below which a pair counts [m]; None = the checker's own.
        """

    def allow(self, links: Iterable[str]) -> AbstractContextManager[object]:
        """Returns a context in which the fingers may touch these links of the object."""


@runtime_checkable
class CarryingChecker(CollisionChecker, Protocol):
    """A checker of a scene with a free object that the hand may carry."""

    def carried_from(self, q: Array, *, max_tilt_rad: float | None = None) -> AbstractContextManager[object]:
        """Returns a context in which the object moves with the hand, as if it was grasped with the arm at q (n,) [rad].

        It is then part of the arm: it must keep clear of everything but the hand. With `max_tilt_rad`, an object that
        is tilted further from upright counts as a collision [rad].
        """

    def released_at(self, q: Array) -> AbstractContextManager[object]:
        """Returns a context in which the object stays where the hand at q (n,) [rad] has put it."""


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

    def places(self, to: float, count: int) -> Array:
        """Returns (count + 1,) even positions from the present one to another one [rad or m]."""
        return np.linspace(self.position, to, count + 1)

    def describe_way(self, start: float, reached: float, target: float) -> str:
        """Returns how far the part can be led from a place towards another one [rad or m], for a message."""
        told = f"the part can be led from {start:.3f} to {reached:.3f} of {target:.3f} {self.unit} only"
        degrees = [f"{math.degrees(v):.1f}" for v in (start, reached, target)]
        return told if self.prismatic else f"{told} ({degrees[0]} to {degrees[1]} of {degrees[2]} degrees)"


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


class SlipMode(Enum):
    """Rotations of the hand about the contact point while the part moves."""

    fixed = "fixed"
    """No rotation: the hand moves with the part."""
    bar = "bar"
    """About the bar (the annotation's contact axis), as on a round bar."""
    side = "side"
    """About the line between the fingertips, as on a panel."""
    gimbal = "gimbal"
    """Both: the fingertip line stays at right angles to the bar."""
    cone = "cone"
    """Any rotation with the approach axis inside the cone, as a pushing fingertip."""


class Slide(Enum):
    """Line on the part along which the contact point may slide while the part moves."""

    none = "none"
    """No line: the contact point stays where it is."""
    edge = "edge"
    """Along the edge (the annotation's contact axis)."""
    across = "across"
    """At right angles to the edge, on the front of the part."""


@dataclass(frozen=True)
class Slip:
    """Freedom of the hand to turn about the contact and to slide on the part."""

    mode: SlipMode = SlipMode.fixed
    """Which rotations are free."""
    limit_rad: float = math.radians(75.0)
    """Largest angle between the approach axis and `inward_direction` [rad]; not used by `fixed`."""
    stiffness: float = 2.0
    """Weight of the motion of the hand relative to the part; a squared joint step has weight 1."""
    slide: Slide = Slide.none
    """Line along which the contact point may slide."""
    slide_m: float = 0.05
    """Largest slide to either side of the contact at the goal [m]; not used if `slide` is `none`."""

    @property
    def name(self) -> str:
        """Short name, such as `bar` or `cone, sliding across`."""
        return self.mode.value if self.slide is Slide.none else f"{self.mode.value}, sliding {self.slide.value}"


def bar_axis(scene: PlanningScene) -> Array | None:
    """Returns the (3,) direction of the held bar or edge, base frame: the annotated contact axis; None without one."""
    return scene.axes.get("link0_contact_axis", scene.axes.get("object_link0_contact_axis"))


def slide_line(scene: PlanningScene, slip: Slip, inward: Array) -> Array | None:
    """Returns the (3,) unit direction in which the contact may slide, base frame; None if it may not slide.

    `inward` (3,) is the inward direction of the part: a part without a front is slid on at right angles to it. On the
    front, a hand that comes over the edge or from inside slides as one from outside: a line along the normal would lead
    it off the part.
    """
    bar = bar_axis(scene)
    if slip.slide is Slide.none or slip.slide_m <= 0.0 or bar is None:
        return None
    if slip.slide is Slide.edge:
        return bar
    normal = front_normal(scene)
    across = np.cross(bar, inward if normal is None else normal)
    return unit(across) if float(np.linalg.norm(across)) > 1e-6 else None


def front_normal(scene: PlanningScene) -> Array | None:
    """Returns the (3,) outward normal of the front of the part, base frame; None if the annotation lacks a name.

    By the convention of the annotation, it is `cross(tail - head, contact_axis)`.
    """
    names = ("articulated_object_head", "articulated_object_tail")
    contact = bar_axis(scene)
    if contact is None or any(name not in scene.keypoints for name in names):
        return None
    normal = np.cross(scene.keypoints[names[1]] - scene.keypoints[names[0]], contact)
    return unit(normal) if float(np.linalg.norm(normal)) > 1e-6 else None


def inward_direction(scene: PlanningScene, approaches: Array) -> Array:
    """Returns the (3,) direction in which the hand comes to the part, base frame.

    It points into the front of the part or, if every hand comes from another side, over its edge. The first approach
    axis is returned if the annotation lacks a name.

    Args:
        scene: The part.
        approaches: (3,) or (G, 3) approach axes of the hand at its goals, base frame.
    """
    axes = np.atleast_2d(approaches)
    contact, normal = bar_axis(scene), front_normal(scene)
    if contact is None or normal is None:
        return unit(axes[0])
    inward, over_edge = -normal, unit(np.cross(contact, normal))
    if np.any(axes @ inward >= np.abs(axes @ over_edge)):
        return inward
    return over_edge if float(np.sum(axes @ over_edge)) >= 0.0 else -over_edge


RESOLUTION_RAD = 0.05
"""Largest joint distance (norm) between two collision queries along an edge [rad]."""
FINE_RESOLUTION_RAD = RESOLUTION_RAD / 4
"""The same near obstacles. At the coarse resolution a stretched arm moves its hand by up to 4 cm between queries; a
board is 15 mm thick."""
_NEAR_M = 0.018
"""If an obstacle is nearer than this to a checked configuration, the path around it is checked more finely [m]."""


@dataclass
class CheckedSpace:
    """The checker at one state of the object and the gripper, with a budget."""

    checker: CollisionChecker
    s: float | None
    gripper: float | None
    budget: int
    queries: int = 0
    resolution: float = RESOLUTION_RAD
    clearance_m: float | None = None

    def check(self, q: Array) -> Collision | None:
        """Returns the deepest collision at joints q (n,) [rad], and counts the query."""
        self.queries += 1
        return self.checker.deepest_collision(q, s=self.s, gripper=self.gripper, clearance_m=self.clearance_m)

    @property
    def spent(self) -> bool:
        """Whether the budget of queries is spent."""
        return self.queries >= self.budget

    def check_all(self, configurations: Iterable[Array]) -> Collision | None:
        """Returns the first collision; the configurations after it are not checked."""
        hits = (self.check(q) for q in configurations)
        return next((hit for hit in hits if hit is not None), None)

    def check_edge(self, start: Array, end: Array) -> Collision | None:
        """Returns the first collision strictly between two configurations, halves first."""
        return self.check_all(_inner_points(start, end, self.resolution))

    def check_closely(self, path: Array) -> Collision | None:
        """Returns the first collision between checked configurations of a free path, where obstacles are near."""
        if self.resolution <= FINE_RESOLUTION_RAD:
            return None
        points = sample_path(path, self.resolution)
        near = [self._is_near(q) for q in points]
        edges = [edge for edge, about in zip(pairwise(points), pairwise(near), strict=True) if any(about)]
        return self.check_all(q for edge in edges for q in _inner_points(*edge, FINE_RESOLUTION_RAD))

    def _is_near(self, q: Array) -> bool:
        self.queries += 1
        return self.checker.deepest_collision(q, s=self.s, gripper=self.gripper, clearance_m=_NEAR_M) is not None


def _inner_points(start: Array, end: Array, resolution: float) -> Array:
    """Returns (K, n) inner points of an edge, in bisection order: an early hit saves the others."""
    count = math.ceil(float(np.linalg.norm(end - start)) / resolution)
    if count < 2:
        return np.empty((0, len(start)))
    order = sorted(range(1, count), key=lambda i: (-((i & -i).bit_length()), i))
    fractions = np.array(order, dtype=float)[:, None] / count
    return start + fractions * (end - start)


def sample_path(path: Array, resolution: float) -> list[Array]:
    """Returns the rows of a path, and between them as many points as the resolution requires, in order."""
    points = [path[0]]
    for start, end in pairwise(path):
        count = max(1, math.ceil(float(np.linalg.norm(end - start)) / resolution))
        points.extend(start + k / count * (end - start) for k in range(1, count + 1))
    return points
