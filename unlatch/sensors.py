"""Sensors and annotators, and what a new one is written with.

    from unlatch.sensors import Buffer, Sensor

    class Altimeter(Sensor):
        def __init__(self, cfg, world):
            super().__init__(cfg, world)
            self.height_m = Buffer()

        def _measure(self, T_world_sensor):
            self.height_m.set_value(T_world_sensor.p[2])

A sensor is a `Module` whose buffers are recorded. An annotator derives from `Annotator`: it computes labels, such as
boxes, from the `AnnotatedFrame` of an image.
"""

from unlatch.simcore.cameras import Fisheye, Pinhole
from unlatch.simcore.catalogs import ANNOTATORS
from unlatch.simcore.sim.annotators.annotation import (
    AnnotatedFrame,
    AnnotationCfg,
    Annotations,
    Annotator,
    Entity,
    Output,
    annotate,
    take_annotated_frame,
)
from unlatch.simcore.sim.annotators.label_files import NodeOutput, dope_output, pose_output
from unlatch.simcore.sim.sensors.camera import Camera, CameraCfg
from unlatch.simcore.sim.sensors.config import SENSORS, MountCfg, SensorCfg
from unlatch.simcore.sim.sensors.imu import Imu
from unlatch.simcore.sim.sensors.lidar import Lidar, LidarCfg
from unlatch.simcore.sim.sensors.sensor import Sensor
from unlatch.simcore.state import Buffer, Module, Rendering

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
    "Entity",
    "Fisheye",
    "Imu",
    "Lidar",
    "LidarCfg",
    "Module",
    "MountCfg",
    "NodeOutput",
    "Output",
    "Pinhole",
    "Rendering",
    "Sensor",
    "SensorCfg",
    "annotate",
    "dope_output",
    "pose_output",
    "take_annotated_frame",
]
