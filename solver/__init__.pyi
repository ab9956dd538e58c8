from .codegen import COMPILE_VARIABLE, has_compiler
from .diagnosis.diagnosis import Diagnosis
from .goal.goal_solver import GoalSolver
from .goal.parameter_layout import Nearness, ParameterLayout, RowCounts
from .goal.row_model import RowModel
from .kinematics import Kinematics, frozen_array
from .path.path_solver import PathSolver
from .path.slip import Slide, Slip, SlipMode
from .planning.goal_finder import GoalFinder
from .planning.goal_ranker import GoalRanker
from .planning.plan import KeyframePlan, PlanBudget, PlannerCfg, PlanRequest
from .planning.plan_log import PlanLog
from .scene import ArmModel, Array, JointGeometry, PlanningScene
from .settings.peer_form import IGNORED
from .settings.setting import FollowJointCfg, PlannerSettingCfg, SuccessMode
from .terms.axis import (
    AxisAngle,
    FrameAxisOrthogonal,
    FrameAxisParallel,
    KeypointAxisOrthogonal,
    KeypointAxisParallel,
)
from .terms.catalog import COSTS, TERMS
from .terms.point2plane import Point2Plane, Point2PlaneCost
from .terms.point2point import Point2Point, Point2PointCost
from .terms.row import AxisRow, PlaneRow, PointRow, Row
from .terms.term import Term

__all__ = [
    "COMPILE_VARIABLE",
    "COSTS",
    "IGNORED",
    "TERMS",
    "ArmModel",
    "Array",
    "AxisAngle",
    "AxisRow",
    "Diagnosis",
    "FollowJointCfg",
    "FrameAxisOrthogonal",
    "FrameAxisParallel",
    "GoalFinder",
    "GoalRanker",
    "GoalSolver",
    "JointGeometry",
    "KeyframePlan",
    "KeypointAxisOrthogonal",
    "KeypointAxisParallel",
    "Kinematics",
    "Nearness",
    "ParameterLayout",
    "PathSolver",
    "PlanBudget",
    "PlanLog",
    "PlanRequest",
    "PlaneRow",
    "PlannerCfg",
    "PlannerSettingCfg",
    "PlanningScene",
    "Point2Plane",
    "Point2PlaneCost",
    "Point2Point",
    "Point2PointCost",
    "PointRow",
    "Row",
    "RowCounts",
    "RowModel",
    "Slide",
    "Slip",
    "SlipMode",
    "SuccessMode",
    "Term",
    "frozen_array",
    "has_compiler",
]
