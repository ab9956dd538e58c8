from .exporter import check_exporter as check_exporter
from .generator import check_object as check_object
from .robot import check_robot as check_robot
from .sensor import check_sensor as check_sensor
from .skill import SkillReport as SkillReport
from .skill import check_skill as check_skill
from .task import check_task as check_task
from .term import check_term as check_term
