from .hand_motions import MOTION_WORDS
from .peer_form import IGNORED, find_settings
from .reader import check_names, read_planner_setting
from .setting import FollowJointCfg, PlannerSettingCfg, SuccessMode, omitted_setting

__all__ = [
    "IGNORED",
    "MOTION_WORDS",
    "FollowJointCfg",
    "PlannerSettingCfg",
    "SuccessMode",
    "check_names",
    "find_settings",
    "omitted_setting",
    "read_planner_setting",
]
