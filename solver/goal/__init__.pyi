from .goal_solver import Goal, GoalBatch, GoalSolver
from .parameter_layout import Nearness, ParameterLayout, RowCounts
from .program import WISHED_MARGIN_RAD, Program, Schedule, program_of
from .row_model import RowModel, add_cost
from .solution import Solution
from .start_library import start_library_of
from .verify import (
    SLACK,
    active_bounds,
    angles_between,
    box_excess,
    limit_margin,
    residuals_of,
    row_excess,
    row_tolerances,
)

__all__ = [
    "SLACK",
    "WISHED_MARGIN_RAD",
    "Goal",
    "GoalBatch",
    "GoalSolver",
    "Nearness",
    "ParameterLayout",
    "Program",
    "RowCounts",
    "RowModel",
    "Schedule",
    "Solution",
    "active_bounds",
    "add_cost",
    "angles_between",
    "box_excess",
    "limit_margin",
    "program_of",
    "residuals_of",
    "row_excess",
    "row_tolerances",
    "start_library_of",
]
