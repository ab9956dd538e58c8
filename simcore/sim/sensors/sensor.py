"""The contract of a sensor, and its mount in a world."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

import numpy as np

from unlatch.simcore.errors import ConfigError, FrameNotFoundError, unknown_name
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.sensors.config import MountCfg, SensorCfg, look_at_rotation
from unlatch.simcore.sim.world import World
from unlatch.simcore.state import Buffer, Module


class Mount:
    """A mount in a world: the present pose and velocity of the sensor's frame."""

    def __init__(self, cfg: MountCfg, world: World, *, owner: str) -> None:
        """Finds the mounting link; `owner` is the name of the sensor, for messages.

        Raises:
            ConfigError: There is no such body or link.
        """
        self.T_mount_sensor = cfg.T_mount_sensor
        """Pose of the sensor's frame in the frame of the mount."""
        self._offset = Pose.from_rpy((0.0, 0.0, 0.0), np.radians(cfg.rotation_offset_deg))
        self._mount_link = _find_link(world, cfg.body, cfg.link, owner=owner, key="mount.")
        self._target = _find_link(world, cfg.look_at_body, cfg.look_at_link, owner=owner, key="mount.look_at_")
        self._p_target = np.array(cfg.look_at_m or (0.0, 0.0, 0.0))

    @property
    def follows_target(self) -> bool:
        """Whether it keeps looking at a body, which determines its orientation."""
        return self._target is not None

    @property
    def T_world_sensor(self) -> Pose:
        """Pose of the sensor's frame."""
        T_world_mount = Pose.identity() if self._mount_link is None else _pose_of(self._mount_link)
        if self._target is None:
            return T_world_mount @ self.T_mount_sensor
        eye = T_world_mount @ self.T_mount_sensor.p
        p_target = _pose_of(self._target) @ self._p_target
        rotation = look_at_rotation(eye, p_target, T_world_mount.R[:, 2])
        if rotation is None:  # straight above or below: the mount's x axis is up in the image
            rotation = look_at_rotation(eye, p_target, T_world_mount.R[:, 0])
        if rotation is None:  # the sensor is at the point that it looks at
            rotation = T_world_mount.R
        return Pose(rotation, eye) @ self._offset

    def velocity(self) -> tuple[Array, Array]:
        """Linear (3,) [m/s] and angular velocity (3,) [rad/s] of the sensor's frame, in the world frame."""
        if self._mount_link is None:
            return np.zeros(3), np.zeros(3)
        body, link = self._mount_link
        linear, angular = body.link_velocity(link)
        arm = body.link_pose(link).rotate(self.T_mount_sensor.p)
        return linear + np.cross(angular, arm), angular


def _pose_of(place: tuple[Body, str]) -> Pose:
    body, link = place
    return body.link_pose(link)


def _find_link(world: World, name: str | None, link: str | None, *, owner: str, key: str) -> tuple[Body, str] | None:
    """Returns a body and one of its links, given as `<key>body` and `<key>link`; None if no body is named."""
    if name is None:
        return None
    if name not in world.bodies:
        kind = f"a body in the scene of sensor '{owner}'"
        raise unknown_name(name, kind, where=f"{key}body", known=world.bodies)
    body = world.bodies[name]
    chosen = body.root_link if link is None else link
    try:
        body.link_index(chosen)
    except FrameNotFoundError as exc:
        raise ConfigError(
            f"{key}link of sensor '{owner}': {exc.message} Name one of them.",
            key=f"{key}link",
            available=exc.values["available"],
        ) from exc
    return body, chosen


CfgT = TypeVar("CfgT", bound=SensorCfg, covariant=True)


class Sensor(Module, Generic[CfgT]):
    """A sensor reads quantities at one place.

    A subclass names its dataclass in `cfg_type`, makes its buffers in `__init__`, and fills them in `_measure`, which
    every `update_state` calls once after it has read the pose. A sensor only reads: it neither moves nor steps
    anything. Buffers without a tag of `unlatch.simcore.sim.scene.NOT_RECORDED` are recorded in every frame; they need
    a value from the first `update_state` on and keep their shape.

    A sensor with images also overrides `_switch_rendering`, and makes images only while they are switched on.
    """

    cfg_type: ClassVar[type[SensorCfg]] = SensorCfg
    """Dataclass of its entry in a configuration."""

    def __init__(self, cfg: CfgT, world: World) -> None:
        """Mounts the sensor.

        Args:
            cfg: Its entry in the configuration, of type `cfg_type`.
            world: The world, with all bodies in it.

        Raises:
            ConfigError: The body or link of the mount does not exist.
        """
        super().__init__()
        self._cfg = cfg
        self.world = world
        self.mount = Mount(cfg.mount, world, owner=cfg.name)
        self.seed = 0
        """Seed of the episode, for the noise of readings."""
        self.position = Buffer()
        self.quat_xyzw = Buffer()

    @property
    def cfg(self) -> CfgT:
        """Its configuration."""
        return self._cfg

    @property
    def T_world_sensor(self) -> Pose:
        """Pose of its frame now."""
        return self.mount.T_world_sensor

    def _read_state(self) -> None:
        T_world_sensor = self.T_world_sensor
        self.position.set_value(T_world_sensor.p)
        self.quat_xyzw.set_value(T_world_sensor.quat_xyzw)
        self._measure(T_world_sensor)

    def _measure(self, T_world_sensor: Pose) -> None:
        """Fills the sensor's own buffers from the present pose of its frame; nothing by default."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._cfg.name})"
