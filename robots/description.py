"""The description of a robot: its model, arms, grippers and their limits, without a simulator."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated

from unlatch.robots.gripper import GripperCfg
from unlatch.simcore.errors import ConfigError, close_matches
from unlatch.simcore.geometry import Pose
from unlatch.simcore.missing_value import MISSING
from unlatch.simcore.ranges import Positive, Range, check_ranges

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
    see `unlatch.robots.changed_model.align_inertias`.
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
    return Pose.from_translation((cfg.base_x_m, 0.0, cfg.base_height_m))
