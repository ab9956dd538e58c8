"""The kinds of constraint and cost terms, chosen by their YAML `type`; a plugin adds its own by an entry point."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import unit
from unlatch.simcore.registry import Catalog, own_entries
from unlatch.solver.scene import Array, PlanningScene, axis_name
from unlatch.solver.term import AxisRow, PlaneRow, PointRow, Term, tool_point, vector_in_base

_PAIRS = ("target_axis", "cross_target_axis1")


@dataclass
class AxisAngle(Term):
    """`angle(R x_tool, a)` within `acos(c) +- tolerance`.

    The tool axis x runs from one tool keypoint to another. The target a is one of:

    - `target_axis`: a vector of `target_axis_frame`, or the name of an axis of the annotation;
    - the line `target_axis_from/to_keypoint_name` between two object keypoints;
    - the line `cross_target_axis1_from/to_keypoint_name`, alone or in a cross product with `target_axis`.

    Source: the target forms are those of the reference system; the angle form is our own (the reference bounds the
    same angle).
    """

    INNER_PRODUCT: ClassVar[float] = 1.0
    """Default cosine of the wanted angle."""

    axis_from_keypoint_name: str = field(metadata={"kind": "tool keypoint"})
    """Tool keypoint where the tool axis starts."""
    axis_to_keypoint_name: str = field(metadata={"kind": "tool keypoint"})
    """Tool keypoint where the tool axis ends."""
    tolerance: float = field(metadata={"kind": "tolerance_rad", "expects": "radians"})
    """Allowed angle to either side [rad]."""
    target_axis: Any = field(default=None, metadata={"kind": "axis"})
    """(3,) vector, or the name of an axis of the annotation."""
    target_axis_frame: str = field(default="object", metadata={"kind": "frame"})
    """Frame of a vector: `object` (the moving part), `base` (the arm's) or `world`."""
    target_axis_from_keypoint_name: str | None = field(default=None, metadata={"kind": "object keypoint"})
    """Object keypoint where the target line starts."""
    target_axis_to_keypoint_name: str | None = field(default=None, metadata={"kind": "object keypoint"})
    """Object keypoint where the target line ends."""
    cross_target_axis1_from_keypoint_name: str | None = field(default=None, metadata={"kind": "object keypoint"})
    """Object keypoint where the first factor of the cross product starts."""
    cross_target_axis1_to_keypoint_name: str | None = field(default=None, metadata={"kind": "object keypoint"})
    """Object keypoint where the first factor ends."""
    target_inner_product: float | None = field(default=None, metadata={"kind": "inner_product"})
    """Cosine of the wanted angle; 1 for parallel types, 0 for orthogonal ones."""
    name: str = field(default="", metadata={"kind": "text"})
    """Free label."""

    def __post_init__(self) -> None:
        if self.axis_from_keypoint_name == self.axis_to_keypoint_name:
            raise ConfigError(
                f".axis_to_keypoint_name is '{self.axis_to_keypoint_name}', the same as where the axis starts. "
                "Name two different tool keypoints."
            )
        for prefix in _PAIRS:
            start, end = self._line_keypoints(prefix)
            if (start is None) != (end is None) or (start is not None and start == end):
                raise ConfigError(
                    f".{prefix}_from/to_keypoint_name are {start!r} and {end!r}, expected two different object "
                    "keypoints. Name both."
                )
        has_line, has_cross = (self._line_keypoints(prefix)[0] is not None for prefix in _PAIRS)
        has_other = has_cross or self.target_axis is not None
        if has_line and has_other:
            raise ConfigError(" names target_axis_from/to_keypoint_name and another target as well. Keep one of them.")
        if not has_line and not has_other:
            raise ConfigError(
                " has no target. Give target_axis, target_axis_from/to_keypoint_name or "
                "cross_target_axis1_from/to_keypoint_name."
            )

    def _line_keypoints(self, prefix: str) -> tuple[str | None, str | None]:
        """Returns the two object keypoints of a line; None, None if it is not given."""
        return getattr(self, f"{prefix}_from_keypoint_name"), getattr(self, f"{prefix}_to_keypoint_name")

    def _line_direction(self, prefix: str, scene: PlanningScene) -> Array | None:
        start, end = self._line_keypoints(prefix)
        return None if start is None or end is None else scene.keypoint(end) - scene.keypoint(start)

    def cosine(self) -> float:
        """Returns the cosine of the wanted angle."""
        return self.INNER_PRODUCT if self.target_inner_product is None else self.target_inner_product

    def interval(self) -> tuple[float, float, float]:
        """Returns the smallest, largest and wanted angle [rad]."""
        wanted = math.acos(self.cosine())
        return max(0.0, wanted - self.tolerance), min(math.pi, wanted + self.tolerance), wanted

    def target(self, scene: PlanningScene) -> Array:
        """Returns the (3,) unit target direction, base frame.

        Raises:
            ConfigError: The target has no direction in this scene, or a name does not exist.
        """
        line, cross = (self._line_direction(prefix, scene) for prefix in _PAIRS)
        if line is not None:
            vector = line
        elif cross is not None and self.target_axis is None:
            vector = cross
        else:
            vector = vector_in_base(self.target_axis, self.target_axis_frame, scene)
            if cross is not None:
                vector = scene.cross_sign * np.cross(unit(cross), unit(vector))
        if float(np.linalg.norm(vector)) < 1e-6:
            raise ConfigError(
                f"The target of constraint '{self.label}' has no direction on this object: {self.describe_target()} "
                f"gives {np.round(vector, 9).tolist()}. Choose another target or mend the annotation.",
                constraint=self.label,
            )
        return unit(vector)

    def target_key(self) -> tuple[object, ...]:
        """Returns a key of the target: equal keys mean equal directions in every scene."""
        axis = axis_name(self.target_axis) if isinstance(self.target_axis, str) else self.target_axis
        frame = None if isinstance(self.target_axis, str) or axis is None else self.target_axis_frame
        literal = tuple(axis) if isinstance(axis, list | tuple) else axis
        return (literal, frame, *self._line_keypoints("target_axis"), *self._line_keypoints("cross_target_axis1"))

    def describe_target(self) -> str:
        """Returns the target with the names of the YAML file."""
        start, end = self._line_keypoints("target_axis")
        first, last = self._line_keypoints("cross_target_axis1")
        axis = self.target_axis
        words = axis if isinstance(axis, str) else f"{axis} ({self.target_axis_frame})"
        if start is not None:
            return f"{start} -> {end}"
        if first is not None:
            return f"{first} -> {last}" if axis is None else f"({first} -> {last}) x {words}"
        return words

    def to_yaml(self) -> dict[str, Any]:
        """Returns what `Term.to_yaml` returns, without the frame where there is no `target_axis`."""
        values = super().to_yaml()
        if self.target_axis is None:
            del values["target_axis_frame"]
        return values

    def row(self, tool: Mapping[str, Array], scene: PlanningScene) -> AxisRow:
        """Returns the range of angles about the target."""
        start = tool_point(tool, self.axis_from_keypoint_name)
        x_ee = unit(tool_point(tool, self.axis_to_keypoint_name) - start)
        lower, upper, wanted = self.interval()
        return AxisRow(x_ee, self.target(scene), lower, upper, wanted)


@dataclass
class FrameAxisParallel(AxisAngle):
    """Tool axis along the target, unless `target_inner_product` says another angle."""

    TYPE: ClassVar[str] = "frame_axis_parallel"


@dataclass
class FrameAxisOrthogonal(AxisAngle):
    """Tool axis at right angles to the target, unless `target_inner_product` says another angle."""

    TYPE: ClassVar[str] = "frame_axis_orthogonal"
    INNER_PRODUCT: ClassVar[float] = 0.0


@dataclass
class KeypointAxisParallel(FrameAxisParallel):
    """The same as `frame_axis_parallel`; the usual name if the target is a line of two keypoints."""

    TYPE: ClassVar[str] = "keypoint_axis_parallel"


@dataclass
class KeypointAxisOrthogonal(FrameAxisOrthogonal):
    """The same as `frame_axis_orthogonal`; the usual name if the target is a line of two keypoints."""

    TYPE: ClassVar[str] = "keypoint_axis_orthogonal"


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


TERMS = Catalog(
    "constraint type",
    own_entries(
        "solver.term_kinds:",
        {
            "frame_axis_orthogonal": (
                "FrameAxisOrthogonal",
                "tool axis at right angles to an axis of the object [rad]",
            ),
            "frame_axis_parallel": ("FrameAxisParallel", "tool axis along an axis of the object [rad]"),
            "keypoint_axis_orthogonal": (
                "KeypointAxisOrthogonal",
                "tool axis at right angles to a line of two keypoints [rad]",
            ),
            "keypoint_axis_parallel": ("KeypointAxisParallel", "tool axis along a line of two keypoints [rad]"),
            "point2plane_constraint": ("Point2Plane", "tool keypoint in a plane through an object keypoint [m]"),
            "point2point_constraint": ("Point2Point", "tool keypoint at an object keypoint [m]"),
        },
    ),
    group="unlatch.terms",
    contract="unlatch.solver.term:Term",
    listed_by="unlatch list terms",
)

COSTS = Catalog(
    "cost type",
    own_entries(
        "solver.term_kinds:",
        {
            "point2plane_cost": ("Point2PlaneCost", "squared distance of a tool keypoint to a plane [m^2]"),
            "point2point_cost": ("Point2PointCost", "squared distance of a tool keypoint to an object keypoint [m^2]"),
        },
    ),
    group="unlatch.costs",
)


def infer_type(entry: Mapping[str, Any], *, cost: bool) -> str | None:
    """Returns the `type` that the fields of an entry imply, or None."""
    suffix = "cost" if cost else "constraint"
    if entry.get("plane_normal") is not None:
        return f"point2plane_{suffix}"
    if entry.get("keypoint_name") is not None and entry.get("target_keypoint_name") is not None:
        return f"point2point_{suffix}"
    if entry.get("axis_from_keypoint_name") is None or cost:
        return None
    keypoints = entry.get("target_axis_from_keypoint_name") is not None
    orthogonal = entry.get("target_inner_product") == 0
    return f"{'keypoint' if keypoints else 'frame'}_axis_{'orthogonal' if orthogonal else 'parallel'}"
