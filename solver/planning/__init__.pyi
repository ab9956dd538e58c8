from .goal_finder import GoalFinder as GoalFinder
from .goal_ranker import GoalRanker as GoalRanker
from .plan import KeyframePlan as KeyframePlan
from .plan import PlanBudget as PlanBudget
from .plan import PlannerCfg as PlannerCfg
from .plan import PlanRequest as PlanRequest
from .plan_log import PlanLog as PlanLog
from .planner import plan_keyframes as plan_keyframes
