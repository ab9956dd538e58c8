"""A tool keypoint at an object keypoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from unlatch.solver.scene import Array, PlanningScene
from unlatch.solver.terms.row import PointRow
from unlatch.solver.terms.term import Term, tool_point


@dataclass
class Point2Point(Term):
    """Every component of `r = R x_tool + p - p_target` within +-`tolerance`, base frame.

    Source: kPAM, Manuelli et al. 2019, point-to-point constraint; the box form is that of the reference system.
    """

    TYPE: ClassVar[str] = "point2point_constraint"

    keypoint_name: str = field(metadata={"kind": "tool keypoint"})
    """Tool keypoint."""
    target_keypoint_name: str = field(metadata={"kind": "object keypoint"})
    """Object keypoint."""
    tolerance: float = field(metadata={"kind": "tolerance_m", "expects": "metres"})
    """Half size of the box [m]."""
    name: str = field(default="", metadata={"kind": "text"})
    """Free label."""

    def row(self, tool: Mapping[str, Array], scene: PlanningScene) -> PointRow:
        """Returns the box around the target."""
        target = scene.keypoint(self.target_keypoint_name)
        return PointRow(tool_point(tool, self.keypoint_name), target, self.tolerance)


@dataclass
class Point2PointCost(Term):
    """Cost `weight * |R x_tool + p - p_target|^2`.

    Source: kPAM, Manuelli et al. 2019, point-to-point cost.
    """

    TYPE: ClassVar[str] = "point2point_cost"

    keypoint_name: str = field(metadata={"kind": "tool keypoint"})
    """Tool keypoint."""
    target_keypoint_name: str = field(metadata={"kind": "object keypoint"})
    """Object keypoint."""
    weight: float = field(default=1.0, metadata={"kind": "weight"})
    """Weight [1/m^2]."""
    name: str = field(default="", metadata={"kind": "text"})
    """Free label."""

    def row(self, tool: Mapping[str, Array], scene: PlanningScene) -> PointRow:
        """Returns the weighted distance to the target."""
        target = scene.keypoint(self.target_keypoint_name)
        return PointRow(tool_point(tool, self.keypoint_name), target, 0.0, weight=self.weight)
