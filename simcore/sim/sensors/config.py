"""The configuration that all sensors share, and the catalog of sensor types."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from unlatch.simcore.errors import MISSING, ConfigError
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.registry import Catalog, own_entries
from unlatch.simcore.state import KEY_WORD


class MountFit(Enum):
    """What a mount follows from where no place is given."""

    none = "none"
    """It is what its fields say."""
    hand = "hand"
    """The sensor looks along the fingers of the arm that ends at `link`, over the edge of its palm. Without `link`,
    there is one for each arm, with the arm's name after its own if there are several."""
    task = "task"
    """The sensor sees all places of the objects and the hand at its start, from beside the robot, as large as fits."""


@dataclass
class MountCfg:
    """The mount of a sensor: `T_mount_sensor`, the pose of its frame in the frame of a link or the world."""

    body: str | None = None
    """Name of a robot or an object; null: the world."""
    link: str | None = None
    """Link of that body, in its URDF frame; null: its root link."""
    position_m: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    """Origin of the sensor's frame [m]."""
    rpy_deg: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    """Its roll, pitch and yaw, as in URDF [degrees]."""
    look_at_m: list[float] | None = None
    """In place of `rpy_deg`: a point on the sensor's z axis [m]; its x axis is level, so the image is upright."""
    look_at_body: str | None = None
    """The sensor keeps looking at this robot or object, at the point `look_at_m` of its frame, or at its origin."""
    look_at_link: str | None = None
    """Link of `look_at_body`, in its URDF frame; null: its root link."""
    rotation_offset_deg: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    """A final rotation of the sensor about the x, then the y, then the z axis of the frame that the other keys define
    [degrees]."""
    fit: MountFit = MountFit.none
    """What the place of a camera follows from where `position_m`, `rpy_deg` and `look_at_m` are not given."""

    @property
    def is_fitted(self) -> bool:
        """Whether the place follows from something else than its fields."""
        given = any(self.position_m) or any(self.rpy_deg) or self.look_at_m is not None or self.look_at_body is not None
        return self.fit is not MountFit.none and not given

    def __post_init__(self) -> None:
        for name in ("position_m", "rpy_deg", "look_at_m", "rotation_offset_deg"):
            value = getattr(self, name)
            if value is not None and len(value) != 3:
                raise ConfigError(f"mount.{name} has {len(value)} numbers. Expected 3. Change it.", key=f"mount.{name}")
        for start in ("", "look_at_"):
            link, body = f"{start}link", f"{start}body"
            if getattr(self, link) is not None and getattr(self, body) is None:
                raise ConfigError(
                    f"mount.{link}='{getattr(self, link)}' is given without a body. Expected the robot or object that "
                    f"it belongs to. Set mount.{body}.",
                    key=f"mount.{body}",
                )
        if (self.look_at_m is not None or self.look_at_body is not None) and any(self.rpy_deg):
            raise ConfigError(
                "mount.rpy_deg and mount.look_at_m or look_at_body are both given. Expected one. Remove the other.",
                key="mount.look_at_m",
            )
        if self.look_at_m is not None and self.look_at_body is None:
            self._look_at_rotation()

    @property
    def T_mount_sensor(self) -> Pose:
        """The pose of the fields; with `look_at_body`, before the sensor turns to the body."""
        offset = Pose.from_rpy((0.0, 0.0, 0.0), np.radians(self.rotation_offset_deg))
        if self.look_at_m is not None and self.look_at_body is None:
            return Pose(self._look_at_rotation(), self.position_m) @ offset
        return Pose.from_rpy(self.position_m, np.radians(self.rpy_deg)) @ offset

    def _look_at_rotation(self) -> Array:
        rotation = look_at_rotation(np.array(self.position_m), np.array(self.look_at_m), np.array([0.0, 0.0, 1.0]))
        if rotation is None:
            raise ConfigError(
                f"mount.look_at_m={self.look_at_m} is at or straight above or below mount.position_m="
                f"{self.position_m}, so that no side is up. Move it a little, or give rpy_deg.",
                key="mount.look_at_m",
            )
        return rotation


@dataclass
class SensorCfg:
    """Fields of every sensor; a sensor type with more fields derives its own dataclass."""

    name: str = MISSING
    """Name in this episode; its values are recorded as `sensors.<name>.<value>`."""
    type: str = MISSING
    """Name in the catalog of sensor types."""
    mount: MountCfg = field(default_factory=MountCfg)
    """Its mount."""

    def __post_init__(self) -> None:
        if not KEY_WORD.match(self.name):
            raise ConfigError(
                f"name='{self.name}' cannot be a key of a record. Expected letters, digits, '_' and '-'. Rename it.",
                key="name",
            )


def look_at_rotation(eye: Array, target: Array, up: Array) -> Array | None:
    """Returns the rotation (3, 3) of a camera that looks at a point with a given direction up in its image.

    Args:
        eye: (3,) position of the camera [m].
        target: (3,) the point [m].
        up: (3,) unit direction that is up in the image.

    Returns:
        The rotation; None if both points coincide or the view is along `up`.
    """
    forward = target - eye
    distance = float(np.linalg.norm(forward))
    right = np.cross(forward, up)
    width = float(np.linalg.norm(right))
    if distance < 1e-6 or width < 1e-6 * distance:
        return None
    z, x = forward / distance, right / width
    return np.column_stack([x, np.cross(z, x), z])


SENSORS = Catalog(
    "sensor type",
    own_entries(
        "simcore.sim.sensors.",
        {
            "camera": ("camera:Camera", "a pinhole camera: colours, depth, segmentation, normals"),
            "imu": ("imu:Imu", "linear acceleration and angular velocity of a link"),
            "lidar": ("lidar:Lidar", "distances and intensities along many rays, rotating or solid-state"),
        },
    ),
    group="unlatch.sensors",
    contract="unlatch.simcore.sim.sensors.sensor:Sensor",
    listed_by="unlatch list sensors",
)
