from .goal_finder import GoalFinder
from .goal_ranker import GoalRanker
from .plan import KeyframePlan, PlanBudget, PlannerCfg, PlanRequest
from .plan_log import PlanLog
from .planner import plan_keyframes

__all__ = [
    "GoalFinder",
    "GoalRanker",
    "KeyframePlan",
    "PlanBudget",
    "PlanLog",
    "PlanRequest",
    "PlannerCfg",
    "plan_keyframes",
]
