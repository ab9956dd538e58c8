from .camera import Camera
from .camera_cfg import CameraCfg
from .catalog import SENSORS
from .config import MountCfg, SensorCfg
from .image_noise import MAX_STRENGTHS, ImageNoise
from .imu import Imu
from .lidar import Lidar, LidarCfg
from .sensor import Sensor

__all__ = [
    "MAX_STRENGTHS",
    "SENSORS",
    "Camera",
    "CameraCfg",
    "ImageNoise",
    "Imu",
    "Lidar",
    "LidarCfg",
    "MountCfg",
    "Sensor",
    "SensorCfg",
]
