"""An inertial measurement unit, with white noise and biases that perform a random walk."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated, ClassVar

import numpy as np

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.ranges import Range, Ranged
from unlatch.simcore.rng import stream
from unlatch.simcore.sim.sensors.config import SensorCfg
from unlatch.simcore.sim.sensors.sensor import Sensor
from unlatch.simcore.sim.world import World
from unlatch.simcore.state import Buffer

_Strength = Annotated[float, Range(0.0, 1000.0)]


@dataclass
class ImuNoise(Ranged, where="noise"):
    """Strengths of noise, as in data sheets; all 0: no noise."""

    acceleration_noise_density: _Strength = 0.0
    """White noise of the acceleration [m/s^2/sqrt(Hz)]: this divided by sqrt(t) is the standard deviation of a reading
    over a time t."""
    acceleration_bias_std: _Strength = 0.0
    """Standard deviation of the acceleration's bias at episode start [m/s^2]."""
    acceleration_random_walk: _Strength = 0.0
    """Random walk of that bias [m/s^3/sqrt(Hz)]: its standard deviation after a time t is this times sqrt(t)."""
    angular_noise_density: _Strength = 0.0
    """White noise of the angular velocity [rad/s/sqrt(Hz)]."""
    angular_bias_std: _Strength = 0.0
    """Standard deviation of the angular velocity's bias at episode start [rad/s]."""
    angular_random_walk: _Strength = 0.0
    """Random walk of that bias [rad/s^2/sqrt(Hz)]."""

    @property
    def active(self) -> bool:
        """Whether there is any noise."""
        return any(getattr(self, item.name) > 0.0 for item in fields(self))

    def first_bias(self, rng: np.random.Generator) -> Array:
        """Returns biases (2, 3) at episode start: of the acceleration [m/s^2] and of the angular velocity [rad/s]."""
        return rng.normal(size=(2, 3)) * [[self.acceleration_bias_std], [self.angular_bias_std]]

    def reading(self, bias: Array, dt_s: float, rng: np.random.Generator) -> tuple[Array, Array]:
        """Returns the errors of one reading, and the biases after it, each (2, 3) as in `first_bias`.

        Args:
            bias: (2, 3) biases before the reading.
            dt_s: Time since the previous reading [s].
            rng: Random generator.
        """
        wandered, white = rng.normal(size=(2, 2, 3))
        bias = bias + wandered * [[self.acceleration_random_walk], [self.angular_random_walk]] * np.sqrt(dt_s)
        noise = white * [[self.acceleration_noise_density], [self.angular_noise_density]] / np.sqrt(dt_s)
        return bias + noise, bias


@dataclass
class ImuCfg(SensorCfg):
    """An inertial measurement unit."""

    noise: ImuNoise = field(default_factory=ImuNoise)
    """Noise of its readings."""


class Imu(Sensor[ImuCfg]):
    """Readings of an accelerometer and a gyroscope, in the sensor's frame.

    `linear_acceleration` [m/s^2] is the change of velocity since the last reading, divided by the time since then,
    minus gravity. So it is the mean over one record frame, +9.81 upwards at rest. The first reading has no predecessor
    and takes the velocity as constant. `angular_velocity` [rad/s] is the present one. Noise depends on the episode's
    seed, the sensor's name and the previous readings.

    Note:
        If no time has passed since the last reading, the values do not change: a state written back from
        a record keeps the recorded values.
    """

    cfg_type: ClassVar[type[SensorCfg]] = ImuCfg

    def __init__(self, cfg: ImuCfg, world: World) -> None:
        super().__init__(cfg, world)
        if self.mount.follows_target:
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
