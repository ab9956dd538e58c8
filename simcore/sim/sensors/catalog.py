"""Which types of sensors there are."""

from __future__ import annotations

from simcore.registry import Catalog, CatalogEntry

SENSORS = Catalog(
    "sensor type",
    {
        "camera": CatalogEntry(
            "simcore.sim.sensors.camera:Camera", "a pinhole camera: colours, depth, segmentation, normals"
        ),
        "imu": CatalogEntry("simcore.sim.sensors.imu:Imu", "linear acceleration and angular velocity of a link"),
        "lidar": CatalogEntry(
            "simcore.sim.sensors.lidar:Lidar", "distances and intensities along many rays, rotating or solid-state"
        ),
    },
    group="unlatch.sensors",
    contract="simcore.sim.sensors.sensor:Sensor",
)
