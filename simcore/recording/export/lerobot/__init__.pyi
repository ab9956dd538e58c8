from .config import LeRobotCfg
from .exporter import LeRobotExporter
from .reader import LeRobotSet

__all__ = [
    "LeRobotCfg",
    "LeRobotExporter",
    "LeRobotSet",
]
