"""A lidar: distances along many rays."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, ClassVar

import numpy as np
import pybullet as p

from unlatch.simcore.errors import ConfigError, check_range
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.ranges import Count, Fraction, Range, Ranged, check_ranges
from unlatch.simcore.rng import stream
from unlatch.simcore.sim.sensors.config import SensorCfg
from unlatch.simcore.sim.sensors.sensor import Sensor
from unlatch.simcore.sim.world import World
from unlatch.simcore.state import Buffer

MAX_RAYS = 200_000
"""Largest number of rays of one scan."""
_WIDEST_DEG = {"azimuth_deg": 180.0, "elevation_deg": 90.0}
_BATCH = 8_192
"""Rays per call of Bullet: its limit is 16384, but then it returns one less."""


class LidarPattern(Enum):
    """Arrangement of the rays."""

    rotating = "rotating"
    """Rows of beams that turn all around."""
    solid_state = "solid_state"
    """A grid of rays within a window."""


@dataclass
class LidarNoise(Ranged, where="noise"):
    """Noise of the readings; all 0: none."""

    range_std_m: Annotated[float, Range(0.0, 1.0)] = 0.0
    """Standard deviation of every distance [m]."""
    dropout: Fraction = 0.0
    """Share of rays without a return."""


@dataclass
class LidarCfg(SensorCfg):
    """A lidar's rays. Its frame has x forward, y to the left and z up; a rotating lidar turns about z."""

    pattern: LidarPattern = LidarPattern.rotating
    """Arrangement of the rays."""
    rows: Count = 16
    """Number of beams above each other."""
    columns: Count = 90
    """Rays per row: of one turn, or of one sweep of the window."""
    elevation_deg: list[float] = field(default_factory=lambda: [-15.0, 15.0])
    """Lowest and highest row above the x-y plane [degrees]."""
    azimuth_deg: list[float] = field(default_factory=lambda: [-40.0, 40.0])
    """For a solid-state lidar: rightmost and leftmost column, from x towards y [degrees]."""
    range_min_m: Annotated[float, Range(0.0, unit="m")] = 0.05
    """Smallest distance that is measured [m]."""
    range_max_m: float = 5.0
    """Largest distance that is measured [m]."""
    reflectivity: dict[str, Fraction] = field(default_factory=dict)
    """Share of light that surfaces of a class reflect, by class as in segmentation images; 1 for all others."""
    noise: LidarNoise = field(default_factory=LidarNoise)
    """Noise of its readings."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ranges(self)
        check_range("rows*columns", self.rows * self.columns, 1, MAX_RAYS, unit="rays")
        for key, most in _WIDEST_DEG.items():
            values = getattr(self, key)
            if len(values) != 2 or not -most <= values[0] <= values[1] <= most:
                raise ConfigError(
                    f"{key}={values} is invalid. Expected the smaller and larger angle, from {-most:g} to {most:g}. "
                    "Change it.",
                    key=key,
                )
        check_range("range_max_m", self.range_max_m, self.range_min_m, above=True, unit="m")

    def directions(self) -> Array:
        """Returns unit vectors (rows, columns, 3) of the rays in the sensor's frame, the lowest row first."""
        (low, high), (right, left) = self.elevation_deg, self.azimuth_deg
        elevation = np.radians(np.linspace(low, high, self.rows))[:, None]
        if self.pattern is LidarPattern.rotating:
            azimuth = np.linspace(-np.pi, np.pi, self.columns, endpoint=False)[None]
        else:
            azimuth = np.radians(np.linspace(right, left, self.columns))[None]
        level = np.cos(elevation)
        parts = [level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation) * np.ones_like(azimuth)]
        return np.stack(parts, axis=-1)


class Lidar(Sensor[LidarCfg]):
    """Distances to all collision shapes in the world, with all rays at one moment.

    `range_m` (rows, columns) is the distance along each ray [m], 0 without a return. `intensity` (rows,
    columns) is the reflected light, 0 to 1: `reflectivity cos(angle of incidence)`, without the loss by distance, as
    real sensors report it. `point_cloud` (rows, columns, 3), tagged with that name and not recorded, are the points in
    the sensor's frame [m], NaN without a return.

    Note:
        Hits on flat sides are exact. On curved shapes Bullet's rays end off the surface. On a ball, a hit at less than
        60 degrees from the normal is up to 1.4 mm off, with a normal up to 0.2 degrees off; a grazing hit is up to 23
        mm off, with a normal up to 4 degrees off. Scenery has no collision shapes and is not hit.
    """

    cfg_type: ClassVar[type[SensorCfg]] = LidarCfg

    def __init__(self, cfg: LidarCfg, world: World) -> None:
        super().__init__(cfg, world)
        self._directions = cfg.directions()
        self.range_m = Buffer()
        self.intensity = Buffer()
        self.point_cloud = Buffer(tags=["point_cloud"])

    def _measure(self, T_world_sensor: Pose) -> None:
        cfg, shape = self.cfg, self._directions.shape[:2]
        rays = T_world_sensor.rotate(self._directions.reshape(-1, 3))
        start = T_world_sensor.p + cfg.range_min_m * rays
        share, normals, classes = _cast_rays(self.world, start, T_world_sensor.p + cfg.range_max_m * rays)
        distance = cfg.range_min_m + share * (cfg.range_max_m - cfg.range_min_m)
        facing = np.abs(np.einsum("ij,ij->i", normals, rays))
        thrown = np.array([cfg.reflectivity.get(name or "", 1.0) for name in classes])
        distance, there = self._add_noise(distance, np.array([name is not None for name in classes]))
        self.range_m.set_value(np.where(there, distance, 0.0).reshape(shape))
        self.intensity.set_value(np.where(there, thrown * facing, 0.0).reshape(shape))
        points = self._directions * np.where(there, distance, np.nan).reshape(shape)[..., None]
        self.point_cloud.set_value(points)

    def _add_noise(self, distance: Array, found: Array) -> tuple[Array, Array]:
        """Returns distances with noise, and which rays return."""
        cfg = self.cfg
        if cfg.noise.range_std_m == 0.0 and cfg.noise.dropout == 0.0:
            return distance, found
        rng = stream(self.seed, f"sensors.{cfg.name}.scan.{self.world.picture_step}")
        grain, kept = rng.normal(size=distance.shape), rng.random(distance.shape) >= cfg.noise.dropout
        read = np.clip(distance + cfg.noise.range_std_m * grain, cfg.range_min_m, cfg.range_max_m)
        return read, found & kept


def _cast_rays(world: World, starts_world: Array, ends_world: Array) -> tuple[Array, Array, list[str | None]]:
    """Casts rays from starts (R, 3) to ends (R, 3) [m] against all collision shapes; the world does not change.

    Returns:
        (R,) share of the way from start to end, 1 without a hit; (R, 3) unit normals of the hit surfaces, world frame,
        0 without a hit; and the semantic class of each hit body, None without a hit.
    """
    met = []
    for first in range(0, len(starts_world), _BATCH):
        part = slice(first, first + _BATCH)
        met += p.rayTestBatch(
            starts_world[part].tolist(), ends_world[part].tolist(), numThreads=1, physicsClientId=world.client
        )
    bodies, _, shares, _, normals = zip(*met, strict=True)
    class_of = {body.body_id: body.semantic_class for body in world.bodies.values()}
    classes = [class_of.get(number, "") if number >= 0 else None for number in bodies]
    hit = np.array(bodies)[:, None] >= 0
    return np.array(shares), np.where(hit, np.array(normals), 0.0), classes
