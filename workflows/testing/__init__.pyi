from .exporter import check_exporter
from .generator import check_object
from .robot import check_robot
from .sensor import check_sensor
from .skill import SkillReport, check_skill
from .task import check_task
from .term import check_term

__all__ = [
    "SkillReport",
    "check_exporter",
    "check_object",
    "check_robot",
    "check_sensor",
    "check_skill",
    "check_task",
    "check_term",
]
