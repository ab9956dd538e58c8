"""Where a sensor is, in a world."""

from __future__ import annotations

import numpy as np

from simcore.errors import ConfigError, FrameNotFoundError, close_matches
from simcore.geometry import Pose
from simcore.sim.bodies import Body
from simcore.sim.sensors.config import MountCfg
from simcore.sim.world import World

Array = np.ndarray


class Mount:
    """A mount in a world: the pose and velocity of the sensor's frame, now."""

    def __init__(self, cfg: MountCfg, world: World, *, owner: str) -> None:
        """Finds the link.

        Args:
            cfg: Where.
            world: The world, with the bodies in it.
            owner: Name of the sensor, for messages.

        Raises:
            ConfigError: There is no such body or link.
        """
        self.T_mount_sensor = cfg.T_mount_sensor
        """Pose of the sensor's frame in the frame that it is mounted on."""
        self._body: Body | None = None
        self._link = ""
        if cfg.body is None:
            return
        if cfg.body not in world.bodies:
            raise ConfigError(
                f"mount.body='{cfg.body}' of sensor '{owner}' is not in the scene."
                f"{close_matches(cfg.body, world.bodies)} Known: {', '.join(world.bodies)}. Name one of them.",
                key="mount.body",
                available=list(world.bodies),
            )
        self._body = world.bodies[cfg.body]
        self._link = self._body.root_link if cfg.link is None else cfg.link
        try:
            self._body.link_index(self._link)
        except FrameNotFoundError as exc:
            raise ConfigError(
                f"mount.link of sensor '{owner}': {exc.message} Name one of them.",
                key="mount.link",
                available=exc.values["available"],
            ) from exc

    @property
    def T_world_sensor(self) -> Pose:
        """Pose of the sensor's frame."""
        if self._body is None:
            return self.T_mount_sensor
        return self._body.link_pose(self._link) @ self.T_mount_sensor

    def velocity(self) -> tuple[Array, Array]:
        """Linear (3,) [m/s] and angular velocity (3,) [rad/s] of the sensor's frame, in the world frame."""
        if self._body is None:
            return np.zeros(3), np.zeros(3)
        linear, angular = self._body.link_velocity(self._link)
        arm = self._body.link_pose(self._link).rotate(self.T_mount_sensor.p)
        return linear + np.cross(angular, arm), angular
