"""A tool keypoint in a plane through an object keypoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from unlatch.simcore.geometry import unit
from unlatch.solver.scene import Array, PlanningScene
from unlatch.solver.terms.row import PlaneRow
from unlatch.solver.terms.term import Term, tool_point, vector_in_base


@dataclass
class _PlaneTerm(Term):
    keypoint_name: str = field(metadata={"kind": "tool keypoint"})
    """Tool keypoint."""
    target_keypoint_name: str = field(metadata={"kind": "object keypoint"})
    """Object keypoint that the plane passes through."""
    plane_normal: Any = field(metadata={"kind": "axis", "expects": "three numbers or the name of an axis"})
    """Normal: (3,) vector, or the name of an axis of the annotation."""

    def _plane_row(
        self, tool: Mapping[str, Array], scene: PlanningScene, frame: str, tolerance: float, weight: float | None = None
    ) -> PlaneRow:
        normal = unit(vector_in_base(self.plane_normal, frame, scene))
        point = scene.keypoint(self.target_keypoint_name)
        return PlaneRow(tool_point(tool, self.keypoint_name), normal, point, tolerance, weight)


@dataclass
class Point2Plane(_PlaneTerm):
    """`|n . (R x_tool + p - p_target)| <= tolerance`, base frame.

    Source: kPAM, Manuelli et al. 2019, point-to-plane constraint.
    """

    TYPE: ClassVar[str] = "point2plane_constraint"

    tolerance: float = field(metadata={"kind": "tolerance_m", "expects": "metres"})
    """Allowed distance from the plane [m]."""
    target_axis_frame: str = field(default="object", metadata={"kind": "frame"})
    """Frame of a normal that is given as numbers."""
    name: str = field(default="", metadata={"kind": "text"})
    """Free label."""

    def row(self, tool: Mapping[str, Array], scene: PlanningScene) -> PlaneRow:
        """Returns the row that keeps the point near the plane."""
        return self._plane_row(tool, scene, self.target_axis_frame, self.tolerance)


@dataclass
class Point2PlaneCost(_PlaneTerm):
    """Cost `weight * (n . (R x_tool + p - p_target))^2`.

    Source: kPAM, Manuelli et al. 2019, point-to-plane cost.
    """

    TYPE: ClassVar[str] = "point2plane_cost"

    weight: float = field(default=1.0, metadata={"kind": "weight"})
    """Weight [1/m^2]."""
    target_axis_frame: str = field(default="object", metadata={"kind": "frame"})
    """Frame of a normal that is given as numbers."""
    name: str = field(default="", metadata={"kind": "text"})
    """Free label."""

    def row(self, tool: Mapping[str, Array], scene: PlanningScene) -> PlaneRow:
        """Returns the weighted distance to the plane."""
        return self._plane_row(tool, scene, self.target_axis_frame, 0.0, self.weight)
