from .config import LeRobotCfg as LeRobotCfg
from .exporter import LeRobotExporter as LeRobotExporter
from .reader import LeRobotSet as LeRobotSet
