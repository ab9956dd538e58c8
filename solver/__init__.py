"""The planner: constraint terms on keypoints, goals, paths, and the model of an arm; no PyBullet and no Hydra.

    from unlatch.solver import GoalSolver, Point2Point

    touch = Point2Point(keypoint_name="tool_head", target_keypoint_name="handle", tolerance=0.001)  # [m]
    solution = GoalSolver(arm).solve([touch], scene, q_reference=arm.q_home)
    print(solution.found, solution.q)

`arm` is an `ArmModel`, `scene` a `PlanningScene`. A term of a plugin derives from `Term` (entry points `unlatch.terms`
and `unlatch.costs`).
"""

from unlatch.solver.goal_search import GoalFinder
from unlatch.solver.goal_solver import GoalSolver
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.path_solver import PathSolver
from unlatch.solver.plan import KeyframePlan, PlanBudget, PlannerCfg, PlanRequest
from unlatch.solver.planner import plan_keyframes
from unlatch.solver.scene import ArmModel, JointGeometry, PlanningScene, Slip
from unlatch.solver.setting import PlannerSettingCfg, SuccessMode
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
    "Slip",
    "SuccessMode",
    "Term",
    "plan_keyframes",
    "tool_point",
]
