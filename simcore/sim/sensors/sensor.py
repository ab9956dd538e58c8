"""The contract of a sensor."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.sensors.config import SensorCfg
from unlatch.simcore.sim.sensors.mount import Mount
from unlatch.simcore.sim.world import World
from unlatch.simcore.state import Buffer, Module

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
