from .contradiction import find_contradictions, third_side_range
from .diagnosis import Diagnosis, explain_goal, nearest_goal
from .path_end import PathEnd, holds_at

__all__ = [
    "Diagnosis",
    "PathEnd",
    "explain_goal",
    "find_contradictions",
    "holds_at",
    "nearest_goal",
    "third_side_range",
]
