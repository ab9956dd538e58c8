from .derived_episode import fill_derived_task, fill_skill_setting
from .derived_request import derive_request, describe_object_path, is_object_path
from .derived_task import REACH_CENTER_M, REACH_HALF_M

__all__ = [
    "REACH_CENTER_M",
    "REACH_HALF_M",
    "derive_request",
    "describe_object_path",
    "fill_derived_task",
    "fill_skill_setting",
    "is_object_path",
]
