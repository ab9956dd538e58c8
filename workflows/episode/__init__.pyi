from .asset_checks import check_assets as check_assets
from .attempt import Attempt as Attempt
from .criteria import goal_conditions as goal_conditions
from .episode import Episode as Episode
from .goal import goal_failure as goal_failure
from .planner_models import arm_model as arm_model
from .scene import TABLE_CENTER_M as TABLE_CENTER_M
from .scene import TABLE_SIZE_M as TABLE_SIZE_M
