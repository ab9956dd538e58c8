"""The planner: keypoint terms, goals, paths, and the model of an arm. It runs without PyBullet and Hydra."""

from unlatch.solver.goal_search import GoalFinder
from unlatch.solver.goal_solver import GoalSolver
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.path_solver import PathSolver
from unlatch.solver.plan import KeyframePlan, PlanBudget, PlannerCfg, PlanRequest
from unlatch.solver.scene import ArmModel, JointGeometry, PlanningScene
from unlatch.solver.setting import PlannerSettingCfg
from unlatch.solver.term import AxisRow, PlaneRow, PointRow, Row, Term, tool_point
from unlatch.solver.term_kinds import (
    COSTS,
    TERMS,
    AxisAngle,
    FrameAxisOrthogonal,
    FrameAxisParallel,
    KeypointAxisOrthogonal,
    KeypointAxisParallel,
    Point2Plane,
    Point2PlaneCost,
    Point2Point,
    Point2PointCost,
)

__all__ = [
    "COSTS",
    "TERMS",
    "ArmModel",
    "AxisAngle",
    "AxisRow",
    "FrameAxisOrthogonal",
    "FrameAxisParallel",
    "GoalFinder",
    "GoalSolver",
    "JointGeometry",
    "KeyframePlan",
    "KeypointAxisOrthogonal",
    "KeypointAxisParallel",
    "Kinematics",
    "PathSolver",
    "PlanBudget",
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
    "Term",
    "tool_point",
]
