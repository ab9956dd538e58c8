"""What a robot is: its model, its arms, its grippers and their limits; no simulator inside."""

from __future__ import annotations

from dataclasses import dataclass, field

from omegaconf import MISSING

from simcore.errors import ConfigError


@dataclass
class GripperCfg:
    """A parallel gripper."""

    joints: list[str] = field(default_factory=list)
    """Finger joints that move together; each travels from 0 (closed) to half the width."""
    max_width_m: float = MISSING
    """Opening between the pads when fully open [m]."""
    max_force_n: float = MISSING
    """Grip force in the maker's data sheet [N]."""
    grip_force_n: float = MISSING
    """Force used to grip [N]; at most `max_force_n`."""
    max_speed_m_s: float = MISSING
    """Speed of one finger [m/s]."""
    finger_links: list[str] = field(default_factory=list)
    """Links that may touch the part."""
    friction: float = 1.0
    """Friction coefficient of the finger pads (Bullet multiplies it with the object's)."""
    symmetric: bool = True
    """Whether turning the hand by pi about its approach axis gives the same grasp."""

    def __post_init__(self) -> None:
        if self.grip_force_n != MISSING and self.grip_force_n > self.max_force_n:
            raise ConfigError(
                f"gripper.grip_force_n={self.grip_force_n} is above the maker's {self.max_force_n} N. Lower it.",
                key="grip_force_n",
            )


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
    home_std: float = 0.0
    """Standard deviation of the normal noise on `home`, drawn from the layout stream [rad]."""
    lower: list[float] = field(default_factory=list)
    """Lower joint limits of the maker's data sheet [rad]."""
    upper: list[float] = field(default_factory=list)
    """Upper joint limits of the maker's data sheet [rad]."""
    max_velocity: list[float] = field(default_factory=list)
    """Joint speed limits of the maker's data sheet [rad/s]."""
    max_acceleration: list[float] = field(default_factory=list)
    """Joint acceleration limits [rad/s^2]."""
    max_effort: list[float] = field(default_factory=list)
    """Joint effort limits of the maker's data sheet [N m]."""
    keypoints: dict[str, list[float]] = field(default_factory=dict)
    """Tool keypoints by name, (3,) each, in the ee frame [m]."""
    forbidden_links: list[str] = field(default_factory=list)
    """Links that may never touch the object."""
    workspace: list[list[float]] = field(default_factory=lambda: [[-0.2, -1.0, -0.5], [1.0, 1.0, 1.2]])
    """Box (lower, upper) of the ee origin in the base frame [m]."""
    gripper: GripperCfg = field(default_factory=GripperCfg)
    """The gripper at the end of the arm."""

    def __post_init__(self) -> None:
        n = len(self.joints)
        for key in ("home", "lower", "upper", "max_velocity", "max_acceleration", "max_effort"):
            if len(getattr(self, key)) != n:
                raise ConfigError(
                    f"robot.arms[{self.name}].{key} has {len(getattr(self, key))} values, expected {n} "
                    f"(one for each of joints {list(self.joints)}). Give one value a joint.",
                    key=f"robot.arms[{self.name}].{key}",
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
    base_height_m: float = 0.0
    """Height of the robot's base above the table [m]."""
