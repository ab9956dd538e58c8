"""What every sensor's entry in a configuration has; no engine is imported to read it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
from omegaconf import MISSING

from simcore.errors import ConfigError
from simcore.geometry import Pose

Array = np.ndarray

_NAME = re.compile(r"[A-Za-z0-9_-]+\Z")  # a word of the keys of a record


@dataclass
class MountCfg:
    """`T_mount_sensor`, the pose of the sensor's frame in the frame that it is mounted on."""

    body: str | None = None
    """Name of a robot or an object; null: the world."""
    link: str | None = None
    """Link of that body, in its URDF frame; null: its root link."""
    position_m: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    """Origin of the sensor's frame [m]."""
    rpy_deg: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    """Its roll, pitch and yaw, as in URDF [degrees]."""
    look_at_m: list[float] | None = None
    """In place of `rpy_deg`: a point on the sensor's z axis [m]; its x axis is level, as in an upright image."""

    def __post_init__(self) -> None:
        for name, value in (("position_m", self.position_m), ("rpy_deg", self.rpy_deg), ("look_at_m", self.look_at_m)):
            if value is not None and len(value) != 3:
                raise ConfigError(f"mount.{name} has {len(value)} numbers. Expected 3. Change it.", key=f"mount.{name}")
        if self.link is not None and self.body is None:
            raise ConfigError(
                f"mount.link='{self.link}' is given without a body. Expected the robot or object that it belongs to. "
                "Set mount.body.",
                key="mount.body",
            )
        if self.look_at_m is not None:
            if any(self.rpy_deg):
                raise ConfigError(
                    "mount.rpy_deg and mount.look_at_m are both given. Expected one. Remove the other.",
                    key="mount.look_at_m",
                )
            _looking_rotation(np.array(self.position_m), np.array(self.look_at_m))

    @property
    def T_mount_sensor(self) -> Pose:
        """The pose that the fields say."""
        if self.look_at_m is not None:
            return Pose(_looking_rotation(np.array(self.position_m), np.array(self.look_at_m)), self.position_m)
        return Pose.from_rpy(self.position_m, np.radians(self.rpy_deg))


@dataclass
class SensorCfg:
    """What every sensor has; a type of sensor with more fields derives its own dataclass."""

    name: str = MISSING
    """Name in this episode; its values are recorded as `sensors.<name>.<value>`."""
    type: str = MISSING
    """Name in the catalog of sensor types."""
    mount: MountCfg = field(default_factory=MountCfg)
    """Where it sits."""

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise ConfigError(
                f"name='{self.name}' cannot be a key of a record. Expected letters, digits, '_' and '-'. Rename it.",
                key="name",
            )


def _looking_rotation(eye: Array, target: Array) -> Array:
    """(3, 3) rotation whose z axis goes from a point to another and whose y axis points against the mount's z."""
    forward = target - eye
    distance = float(np.linalg.norm(forward))
    right = np.cross(forward, [0.0, 0.0, 1.0])
    width = float(np.linalg.norm(right))
    if distance < 1e-6 or width < 1e-6 * distance:
        raise ConfigError(
            f"mount.look_at_m={target.tolist()} is at or straight above or below mount.position_m={eye.tolist()}, so "
            "that no side is up. Move it a little, or give rpy_deg.",
            key="mount.look_at_m",
        )
    z, x = forward / distance, right / width
    return np.column_stack([x, np.cross(z, x), z])
