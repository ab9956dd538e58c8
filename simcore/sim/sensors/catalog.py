"""The catalog of sensor types."""

from __future__ import annotations

from unlatch.simcore.registry import Catalog, CatalogEntry

SENSORS = Catalog(
    "sensor type",
    {
        "camera": CatalogEntry(
            "unlatch.simcore.sim.sensors.camera:Camera", "a pinhole camera: colours, depth, segmentation, normals"
        ),
        "imu": CatalogEntry(
            "unlatch.simcore.sim.sensors.imu:Imu", "linear acceleration and angular velocity of a link"
        ),
        "lidar": CatalogEntry(
            "unlatch.simcore.sim.sensors.lidar:Lidar",
            "distances and intensities along many rays, rotating or solid-state",
        ),
    },
    group="unlatch.sensors",
    contract="unlatch.simcore.sim.sensors.sensor:Sensor",
    listed_by="unlatch list sensors",
)
