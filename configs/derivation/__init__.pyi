from .derived_episode import fill_derived_task as fill_derived_task
from .derived_episode import fill_skill_setting as fill_skill_setting
from .derived_request import derive_request as derive_request
from .derived_request import describe_object_path as describe_object_path
from .derived_request import is_object_path as is_object_path
from .derived_task import REACH_CENTER_M as REACH_CENTER_M
from .derived_task import REACH_HALF_M as REACH_HALF_M
