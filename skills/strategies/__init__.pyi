from .hand_fit import HandFit
from .hold import hold_setting
from .open_close import approach_m, goal_value, opened_to, roomy_start, start_range
from .ranking import DERIVABLE_SKILLS, STRATEGY_NAMES, derivable_skill, derive_strategies
from .rotate import MAX_DURATION_S, check_turns, turned_by, turned_to

__all__ = [
    "DERIVABLE_SKILLS",
    "MAX_DURATION_S",
    "STRATEGY_NAMES",
    "HandFit",
    "approach_m",
    "check_turns",
    "derivable_skill",
    "derive_strategies",
    "goal_value",
    "hold_setting",
    "opened_to",
    "roomy_start",
    "start_range",
    "turned_by",
    "turned_to",
]
