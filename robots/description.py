"""The description of a robot: its model, arms, grippers and their limits, without a simulator."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from unlatch.simcore.errors import MISSING, ConfigError, close_matches
from unlatch.simcore.geometry import Pose, matrix_from_axis_angle
from unlatch.simcore.ranges import NotNegative, Positive, Range, check_ranges

_FREE_HAND = 6
"""Number of joints with which a hand can take any direction."""
_LEAST_TRAVEL = 1e-6


@dataclass
class GripperCfg:
    """A gripper of two fingers that open by one number, the distance between its pads.

    Its joints move together: all are at the same share of the way from `closed` to `opened`. The joints that mimic
    the first one in a URDF belong to them, because Bullet does not simulate `<mimic>`. Without `closed` and `opened`,
    each joint moves from 0 to half the opening.
    """

    joints: list[str] = field(default_factory=list)
    """Finger joints that move together, the one with the motor first."""
    closed: list[float] = field(default_factory=list)
    """Their positions with closed fingers, one a joint [rad or m]; left out: 0."""
    opened: list[float] = field(default_factory=list)
    """Their positions wide open, one a joint [rad or m]; left out: half the width."""
    widths_m: list[float] = field(default_factory=list)
    """Opening at evenly spaced positions from `closed` to `opened`, both included [m]. If you leave it out, the opening
    is proportional to the position. Fingers on levers need this list.
    """
    max_width_m: Positive = MISSING
    """Opening between the pads when fully open [m]."""
    max_force_n: Positive = MISSING
    """Grip force in the maker's data sheet [N]."""
    grip_force_n: Positive = MISSING
    """Largest force used to grip [N]; at most `max_force_n`. The force of an episode lies between `least_force_n` and
    this one and depends on the part, see `unlatch.skills.gripping`.
    """
    least_force_n: NotNegative | None = None
    """Smallest force that the hand can be commanded [N]; null: the hand always grips with `grip_force_n`."""
    max_speed_m_s: Positive = MISSING
    """Speed of one finger [m/s]."""
    finger_force_limit_n: NotNegative = 0.0
    """Largest force that one finger may bear for longer than 20 ms, from whatever it touches [N]. If you leave it out,
    or at 0: twice `max_force_n`, for hands whose maker states none. More fails the attempt (code `overload`).
    """
    armature_kg_m2: float = 0.0
    """Inertia that motor and gears add at each turning joint [kg m^2]. Without it, the coupled light links of a linkage
    drift apart by several degrees.
    """
    finger_links: list[str] = field(default_factory=list)
    """Links that may touch the part."""
    friction: Positive = 1.0
    """Friction coefficient of the finger pads (Bullet multiplies it with the object's)."""
    spinning_friction: NotNegative = 0.005
    """Coefficient of the pads' friction about the normal of a contact (ours): it keeps a part from turning freely about
    a single contact point; 0: none.
    """
    friction_anchor: bool = True
    """Whether a contact of a pad that sticks is held at its place against drift. Bullet's friction alone creeps."""
    pad_stiffness_n_m: NotNegative = 0.0
    """Stiffness of a pad at each contact point [N/m]; 0: rigid. With rigid pads, only one of two coupled fingers
    presses on a part that is 0.2 mm off the middle. It presses with the force of both.
    """
    pad_damping_n_s_m: NotNegative = 0.0
    """Damping of a soft pad at each contact point [N s/m]."""
    symmetric: bool = True
    """Whether turning the hand by pi about its approach axis gives the same grasp."""

    def __post_init__(self) -> None:
        if MISSING in (self.max_width_m, self.max_force_n, self.grip_force_n, self.max_speed_m_s):
            return  # a schema without values yet; missing values are refused where they are read
        check_ranges(self, "gripper")
        self.finger_force_limit_n = self.finger_force_limit_n or 2.0 * self.max_force_n
        for key in ("joints", "finger_links"):
            if not getattr(self, key):
                raise ConfigError(f"gripper.{key} is empty. Expected at least one name. Add it.", key=key)
        if self.grip_force_n > self.max_force_n:
            raise ConfigError(
                f"gripper.grip_force_n={self.grip_force_n} is above the maker's {self.max_force_n} N. Lower it.",
                key="grip_force_n",
            )
        if self.least_force_n is not None and self.grip_force_n < self.least_force_n:
            raise ConfigError(
                f"gripper.grip_force_n={self.grip_force_n} is below the smallest force that the hand can be commanded, "
                f"gripper.least_force_n={self.least_force_n} N. Raise it.",
                key="grip_force_n",
            )
        self._check_travel()
        self._check_widths()

    def _check_travel(self) -> None:
        for key in ("closed", "opened"):
            values = getattr(self, key)
            if (self.closed or self.opened) and len(values) != len(self.joints):
                raise ConfigError(
                    f"gripper.{key} has {len(values)} values, expected {len(self.joints)} (one for each of joints "
                    f"{list(self.joints)}), or neither closed nor opened. Give one value a joint.",
                    key=key,
                )
        for joint, a, b in zip(self.joints, self.closed, self.opened, strict=False):
            if abs(b - a) < _LEAST_TRAVEL:
                raise ConfigError(
                    f"gripper.opened of {joint} is {b}, as is gripper.closed. Expected two positions between which it "
                    "travels. Change one, or take the joint out.",
                    key="opened",
                )

    def _check_widths(self) -> None:
        widths = list(self.widths_m)
        if not widths:
            return
        rising = all(a < b for a, b in pairwise(widths))
        if len(widths) < 2 or not rising or widths[0] < 0.0 or abs(widths[-1] - self.max_width_m) > 1e-9:
            raise ConfigError(
                f"gripper.widths_m={widths} is not a sequence from closed to open. Expected at least two openings "
                f"that rise, the last one max_width_m={self.max_width_m}. Change it.",
                key="widths_m",
            )
        if not self.opened:
            raise ConfigError(
                "gripper.widths_m is set, and gripper.opened is not. Expected the joint positions between which the "
                "fingers travel beside it. Add closed and opened, or remove widths_m.",
                key="widths_m",
            )

    def positions(self, width_m: float) -> list[float]:
        """Returns the positions of `joints` at an opening [rad or m]; an opening out of range gives the nearest end."""
        if not self.opened:
            return [width_m / len(self.joints)] * len(self.joints)
        share = float(np.interp(width_m, self._widths(), np.linspace(0.0, 1.0, len(self._widths()))))
        return [a + share * (b - a) for a, b in zip(self.closed, self.opened, strict=True)]

    def width(self, positions: ArrayLike) -> float:
        """Returns the opening between the pads [m] at (n,) positions of `joints` [rad or m]."""
        return float(self.widths(np.asarray(positions, dtype=float)[None])[0])

    def widths(self, positions: np.ndarray) -> np.ndarray:
        """Returns the openings between the pads (N,) [m] at (N, n) positions of `joints` [rad or m]."""
        if not self.opened:
            total: np.ndarray = np.add.reduce(positions, axis=1)
            return total
        shares = np.add.reduce((positions - self.closed) / self.travel(), axis=1) / len(self.joints)
        return np.interp(shares, np.linspace(0.0, 1.0, len(self._widths())), self._widths())

    @property
    def on_levers(self) -> bool:
        """Whether the fingers swing: they then also move back and forth, and a push at a tip moves them."""
        return bool(self.widths_m)

    def travel(self) -> list[float]:
        """Returns how far each of `joints` moves from closed to open, with its sign [rad or m]."""
        if not self.opened:
            return [self.max_width_m / len(self.joints)] * len(self.joints)
        return [b - a for a, b in zip(self.closed, self.opened, strict=True)]

    def opening_range(self) -> tuple[float, float]:
        """Returns the smallest and the largest opening [m]: fingers on levers may leave a gap when closed."""
        return self._widths()[0], self.max_width_m

    def offsets(self) -> list[float]:
        """Returns the position of each of `joints` with closed fingers [rad or m]."""
        return list(self.closed) if self.opened else [0.0] * len(self.joints)

    def commanded_force(self, wanted_n: float) -> float:
        """Returns the force nearest to a wanted one that the hand may be commanded [N]."""
        least_n = self.grip_force_n if self.least_force_n is None else self.least_force_n
        return min(max(wanted_n, least_n), self.grip_force_n)

    def efforts(self) -> list[float]:
        """Returns the effort of each of `joints`; together they press with `grip_force_n` on each side [N m or N].

        By virtual work, at the mean lever of a finger: the work of all joints over their travel equals the work of the
        force over the opening.
        """
        if not self.opened:
            return [self.grip_force_n] * len(self.joints)
        stroke_m = self.max_width_m - self._widths()[0]
        return [self.grip_force_n * stroke_m / (len(self.joints) * abs(travel)) for travel in self.travel()]

    def speeds(self) -> list[float]:
        """Returns the speed of each of `joints` while a finger moves at `max_speed_m_s` [rad/s or m/s]."""
        if not self.opened:
            return [self.max_speed_m_s] * len(self.joints)
        stroke_m = self.max_width_m - self._widths()[0]
        return [self.max_speed_m_s * abs(travel) / (0.5 * stroke_m) for travel in self.travel()]

    def _widths(self) -> list[float]:
        return list(self.widths_m) or [0.0, self.max_width_m]


_LIMITS = ("max_velocity", "max_acceleration", "max_effort", "stiffness")
_YIELD_RAD = 0.1
"""Deflection of a joint under its largest effort, for arms whose maker states no stiffness [rad]; a Panda's first four
joints yield by 0.145 rad."""
_MAX_HOME_STD_RAD = 0.5
_MAX_ARMATURE_KG_M2 = 100.0
_LEAST_APART_M = 1e-3
_MAX_BASE_M = 5.0


@dataclass
class ArmCfg:
    """One arm with its gripper."""

    name: str = MISSING
    """`left` or `right`."""
    base_link: str = MISSING
    """Link whose frame is the arm's base frame."""
    ee_link: str = MISSING
    """Link that carries the gripper; poses of commands are poses of its frame."""
    joints: list[str] = field(default_factory=list)
    """Arm joints from base to ee."""
    home: list[float] = field(default_factory=list)
    """Joint positions at episode start [rad]."""
    home_std: Annotated[float, Range(0.0, _MAX_HOME_STD_RAD, unit="rad")] = 0.0
    """Standard deviation of the normal noise on `home`, drawn from the layout stream [rad]."""
    lower: list[float] = field(default_factory=list)
    """Lower joint limits of the maker's data sheet [rad]."""
    upper: list[float] = field(default_factory=list)
    """Upper joint limits of the maker's data sheet [rad]."""
    max_velocity: list[Positive] = field(default_factory=list)
    """Joint speed limits of the maker's data sheet [rad/s]."""
    max_acceleration: list[Positive] = field(default_factory=list)
    """Joint acceleration limits [rad/s^2]."""
    max_effort: list[Positive] = field(default_factory=list)
    """Joint effort limits of the maker's data sheet [N m]."""
    stiffness: list[Positive] = field(default_factory=list)
    """Stiffness of each joint's impedance control [N m/rad, or N/m for a sliding joint]. If you leave it out, each
    joint yields by 0.1 rad or 0.1 m under its largest effort. The damping is critical.
    """
    armature: list[Annotated[float, Range(0.0, _MAX_ARMATURE_KG_M2, unit="kg m^2")]] = field(default_factory=list)
    """Inertia that the motor's rotor, behind its gear, adds at each turning joint [kg m^2]. If you leave it out: 0, and
    a light wrist then bounces off at every touch. The model's inertia must have the joint's axis as a principal axis;
    see `unlatch.robots.models.align_inertias`.
    """
    keypoints: dict[str, list[float]] = field(default_factory=dict)
    """Tool keypoints by name, (3,) each, in the ee frame [m]."""
    forbidden_links: list[str] = field(default_factory=list)
    """Links that may never touch the object."""
    workspace: list[list[float]] = field(default_factory=lambda: [[-0.2, -1.0, -0.5], [1.0, 1.0, 1.2]])
    """Box (lower, upper) of the ee origin in the base frame [m]."""
    gripper: GripperCfg = field(default_factory=GripperCfg)
    """The gripper at the end of the arm."""
    counterbalance: dict[str, float] = field(default_factory=dict)
    """Springs at turning joints, by joint: the effort at position 0 [N m]. At other positions, the effort is this value
    times the cosine of the position.
    """

    @property
    def turns_freely(self) -> bool:
        """Whether the arm has joints enough for any direction of its hand at a place."""
        return len(self.joints) >= _FREE_HAND

    def __post_init__(self) -> None:
        n = len(self.joints)
        self.stiffness = list(self.stiffness) or [effort / _YIELD_RAD for effort in self.max_effort]
        if not n:
            raise ConfigError("arm.joints is empty. Expected the joints from base to ee. Add them.", key="arm.joints")
        self.armature = list(self.armature) or [0.0] * n
        for key in ("home", "lower", "upper", *_LIMITS, "armature"):
            if len(getattr(self, key)) != n:
                raise ConfigError(
                    f"arm.{key} has {len(getattr(self, key))} values, expected {n} "
                    f"(one for each of joints {list(self.joints)}). Give one value a joint.",
                    key=f"arm.{key}",
                )
        self._check_values()
        self._check_shapes()

    def _check_values(self) -> None:
        check_ranges(self, "arm")
        for index, (low, home, high) in enumerate(zip(self.lower, self.home, self.upper, strict=True)):
            if not low <= home <= high or low == high:
                raise ConfigError(
                    f"arm.home[{index}]={home} of {self.joints[index]} is not between arm.lower {low} and arm.upper "
                    f"{high}. Change one of them.",
                    key="arm.home",
                )
        for joint in self.counterbalance:
            if joint not in self.joints:
                raise ConfigError(
                    f"arm.counterbalance names '{joint}', which is not a joint of the arm."
                    f"{close_matches(joint, self.joints)} Expected some of {', '.join(self.joints)}. Change it.",
                    key="arm.counterbalance",
                )

    def _check_shapes(self) -> None:
        box = [list(corner) for corner in self.workspace]
        if [len(corner) for corner in box] != [3, 3] or not all(a < b for a, b in zip(*box, strict=True)):
            raise ConfigError(
                f"arm.workspace={box} is not a box. Expected [[x, y, z], [x, y, z]], each lower value below the upper "
                "one [m]. Change it.",
                key="arm.workspace",
            )
        for name, xyz in self.keypoints.items():
            if len(xyz) != 3:
                raise ConfigError(
                    f"arm.keypoints.{name}={list(xyz)} has {len(xyz)} values, expected 3: x, y, z in the ee frame [m]. "
                    "Change it.",
                    key=f"arm.keypoints.{name}",
                )
        if "tool_head" not in self.keypoints:
            raise ConfigError(
                f"arm.keypoints.tool_head is missing. Expected the point between the fingertips; there are "
                f"{', '.join(self.keypoints) or 'none'}. Add it.",
                key="arm.keypoints.tool_head",
            )
        head = self.keypoints["tool_head"]
        for name in ("tool_tail", "tool_side"):
            if name in self.keypoints and math.dist(head, self.keypoints[name]) < _LEAST_APART_M:
                raise ConfigError(
                    f"arm.keypoints.{name}={list(self.keypoints[name])} is where tool_head is. Expected at least "
                    f"{1e3 * _LEAST_APART_M:g} mm from it: the two give a direction of the hand. Change one of them.",
                    key=f"arm.keypoints.{name}",
                )


@dataclass
class RobotCfg:
    """A robot: one model, one or more arms."""

    name: str = MISSING
    """Name of the robot, as in the catalog."""
    arms: list[ArmCfg] = field(default_factory=list)
    """Its arms."""
    self_collision_ignored: list[list[str]] = field(default_factory=list)
    """Pairs of links that always touch or cannot meet."""
    base_height_m: Annotated[float, Range(-_MAX_BASE_M, _MAX_BASE_M)] = 0.0
    """Height of the robot's base above the table [m]."""
    base_x_m: Annotated[float, Range(-_MAX_BASE_M, _MAX_BASE_M)] = 0.0
    """x of the robot's base in the world frame [m]. Objects stand where a Panda at the origin reaches them."""
    base_yaw_deg: Annotated[float, Range(-180.0, 180.0)] = 0.0
    """Turn of the robot's base about the vertical, for a model that does not look along its x axis [deg]."""
    scale: Annotated[float, Range(0.05, 5.0)] = 1.0
    """Size of what the robot acts on, relative to what a Panda does: its tasks have objects, places and distances of
    this size."""
    urdf: str | None = None
    """URDF of a robot that is in no catalog: a path, or `distribution://NAME/PATH` for a file of an installed package;
    `PATH` is as in the package's list of files.
    """

    def __post_init__(self) -> None:
        check_ranges(self, "robot")
        for index, pair in enumerate(self.self_collision_ignored):
            if len(pair) != 2:
                raise ConfigError(
                    f"robot.self_collision_ignored[{index}]={list(pair)} has {len(pair)} names, expected the names of "
                    "two links. Change it.",
                    key=f"robot.self_collision_ignored[{index}]",
                )
        names = [arm.name for arm in self.arms]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(
                    f"robot.arms has {names.count(name)} arms of the name '{name}'. Expected one name an arm. Rename "
                    "them.",
                    key="robot.arms",
                )


def base_pose(cfg: RobotCfg) -> Pose:
    """Returns `T_world_root`: the robot stands at the origin or before it and looks along +x."""
    place = (cfg.base_x_m, 0.0, cfg.base_height_m)
    if cfg.base_yaw_deg == 0.0:
        return Pose.from_translation(place)
    return Pose(matrix_from_axis_angle(np.array([0.0, 0.0, 1.0]), math.radians(cfg.base_yaw_deg)), np.array(place))
