from .axis import (
    AxisAngle,
    FrameAxisOrthogonal,
    FrameAxisParallel,
    KeypointAxisOrthogonal,
    KeypointAxisParallel,
)
from .catalog import COSTS, TERMS
from .point2plane import Point2Plane, Point2PlaneCost
from .point2point import Point2Point, Point2PointCost
from .row import AxisRow, ExpressionRow, GeometricRow, PlaneRow, PointRow, Row, RowKind
from .term import Term, read_number, read_term, tool_point

__all__ = [
    "COSTS",
    "TERMS",
    "AxisAngle",
    "AxisRow",
    "ExpressionRow",
    "FrameAxisOrthogonal",
    "FrameAxisParallel",
    "GeometricRow",
    "KeypointAxisOrthogonal",
    "KeypointAxisParallel",
    "PlaneRow",
    "Point2Plane",
    "Point2PlaneCost",
    "Point2Point",
    "Point2PointCost",
    "PointRow",
    "Row",
    "RowKind",
    "Term",
    "read_number",
    "read_term",
    "tool_point",
]
