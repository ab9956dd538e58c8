from .asset_checks import check_assets
from .attempt import Attempt
from .episode import INITIAL_S, Episode
from .goal import goal_conditions, goal_failure
from .scene import TABLE_CENTER_M, TABLE_SIZE_M, arm_model
from .semantic_classes import check_classes

__all__ = [
    "INITIAL_S",
    "TABLE_CENTER_M",
    "TABLE_SIZE_M",
    "Attempt",
    "Episode",
    "arm_model",
    "check_assets",
    "check_classes",
    "goal_conditions",
    "goal_failure",
]
