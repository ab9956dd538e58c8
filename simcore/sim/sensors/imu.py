"""An inertial measurement unit."""

from __future__ import annotations

import numpy as np

from simcore.geometry import Pose
from simcore.sim.sensors.config import SensorCfg
from simcore.sim.sensors.sensor import Sensor
from simcore.sim.world import World
from simcore.state import Buffer

Array = np.ndarray


class Imu(Sensor[SensorCfg]):
    """What an accelerometer and a gyroscope at one place read, in the sensor's frame, without noise.

    `linear_acceleration` [m/s^2] is the change of velocity since the last reading, divided by the time since then, less
    gravity: the mean over one record frame, +9.81 upwards at rest. The first reading has no earlier one and takes the
    velocity as unchanged. `angular_velocity` [rad/s] is that at the moment of reading.

    Note:
        Where no time has passed since the last reading, the values stay as they are: a state that is written back from
        a record keeps the recorded ones.
    """

    def __init__(self, cfg: SensorCfg, world: World) -> None:
        super().__init__(cfg, world)
        self.linear_acceleration = Buffer()
        self.angular_velocity = Buffer()
        self._steps: int | None = None
        self._velocity: Array = np.zeros(3)

    def _measure(self, T_world_sensor: Pose) -> None:
        steps = self.world.steps
        if steps == self._steps:
            return
        velocity, angular = self.mount.velocity()
        acceleration: Array = np.zeros(3)
        if self._steps is not None:
            acceleration = (velocity - self._velocity) / ((steps - self._steps) * self.world.dt)
        self._steps, self._velocity = steps, velocity
        proper = acceleration - np.array([0.0, 0.0, self.world.cfg.gravity_m_s2])
        T_sensor_world = T_world_sensor.inverse()
        self.linear_acceleration.set_value(T_sensor_world.rotate(proper))
        self.angular_velocity.set_value(T_sensor_world.rotate(angular))
