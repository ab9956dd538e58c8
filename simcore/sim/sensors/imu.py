"""An inertial measurement unit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.rng import stream
from unlatch.simcore.sim.sensors.config import SensorCfg
from unlatch.simcore.sim.sensors.imu_noise import ImuNoise
from unlatch.simcore.sim.sensors.sensor import Sensor
from unlatch.simcore.sim.world import World
from unlatch.simcore.state import Buffer

Array = np.ndarray


@dataclass
class ImuCfg(SensorCfg):
    """An inertial measurement unit."""

    noise: ImuNoise = field(default_factory=ImuNoise)
    """Noise of its readings."""


class Imu(Sensor[ImuCfg]):
    """Readings of an accelerometer and a gyroscope, in the sensor's frame.

    `linear_acceleration` [m/s^2] is the change of velocity since the last reading, divided by the time since then, less
    gravity: the mean over one record frame, +9.81 upwards at rest. The first reading has no predecessor and takes the
    velocity as constant. `angular_velocity` [rad/s] is the present one. Noise
    depends on the episode's seed, the sensor's name and the previous readings.

    Note:
        If no time has passed since the last reading, the values do not change: a state written back from
        a record keeps the recorded values.
    """

    cfg_type: ClassVar[type[SensorCfg]] = ImuCfg

    def __init__(self, cfg: ImuCfg, world: World) -> None:
        super().__init__(cfg, world)
        if self.mount.looks:
            raise ConfigError(
                f"mount.look_at_body='{cfg.mount.look_at_body}' of sensor '{cfg.name}': an imu moves with what it is "
                "mounted on. Remove it, or set mount.rpy_deg.",
                key="mount.look_at_body",
            )
        self.linear_acceleration = Buffer()
        self.angular_velocity = Buffer()
        self._steps: int | None = None
        self._velocity: Array = np.zeros(3)
        self._bias: Array | None = None

    def _measure(self, T_world_sensor: Pose) -> None:
        steps = self.world.steps
        if steps == self._steps:
            return
        velocity, angular = self.mount.velocity()
        acceleration: Array = np.zeros(3)
        dt_s = 1.0 / self.world.cfg.record_hz
        if self._steps is not None:
            dt_s = (steps - self._steps) * self.world.dt
            acceleration = (velocity - self._velocity) / dt_s
        self._steps, self._velocity = steps, velocity
        proper = acceleration - np.array([0.0, 0.0, self.world.cfg.gravity_m_s2])
        T_sensor_world = T_world_sensor.inverse()
        # one by one: the product of a stack differs in its last bits
        readings = np.stack([T_sensor_world.rotate(proper), T_sensor_world.rotate(angular)])
        if self.cfg.noise.active:
            readings = readings + self._draw_errors(dt_s)
        self.linear_acceleration.set_value(readings[0])
        self.angular_velocity.set_value(readings[1])

    def _draw_errors(self, dt_s: float) -> Array:
        """Returns the errors (2, 3) of this reading."""
        noise, name = self.cfg.noise, f"sensors.{self.cfg.name}"
        if self._bias is None:
            self._bias = noise.first_bias(stream(self.seed, f"{name}.bias"))
        errors, self._bias = noise.reading(self._bias, dt_s, stream(self.seed, f"{name}.reading.{self.world.steps}"))
        return errors
