"""Sensors and annotators, and what a new one is written with."""

from unlatch.simcore.catalogs import ANNOTATORS
from unlatch.simcore.sim.annotators.annotation import (
    AnnotatedFrame,
    AnnotationCfg,
    Annotations,
    Annotator,
    annotate,
    take_annotated_frame,
)
from unlatch.simcore.sim.sensors.camera import Camera, CameraCfg
from unlatch.simcore.sim.sensors.config import SENSORS, MountCfg, SensorCfg
from unlatch.simcore.sim.sensors.imu import Imu
from unlatch.simcore.sim.sensors.lidar import Lidar, LidarCfg
from unlatch.simcore.sim.sensors.sensor import Sensor
from unlatch.simcore.state import Buffer

__all__ = [
    "ANNOTATORS",
    "SENSORS",
    "AnnotatedFrame",
    "AnnotationCfg",
    "Annotations",
    "Annotator",
    "Buffer",
    "Camera",
    "CameraCfg",
    "Imu",
    "Lidar",
    "LidarCfg",
    "MountCfg",
    "Sensor",
    "SensorCfg",
    "annotate",
    "take_annotated_frame",
]
