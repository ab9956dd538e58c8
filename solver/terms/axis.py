"""A direction of the tool at an angle to a direction of the object."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import unit
from unlatch.solver.scene import Array, PlanningScene, axis_name
from unlatch.solver.terms.row import AxisRow
from unlatch.solver.terms.term import Term, tool_point, vector_in_base

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


def third_side_range(low: float, high: float, side: float) -> tuple[float, float]:
    """Returns the range of the third side of a spherical triangle whose first side lies between low and high, and whose
    second is `side`; all sides are 0 to pi [rad].
    """
    smallest = max(0.0, low - side, side - high)
    turn = math.pi - side  # the third side is at most pi - |turn - first|
    largest = math.pi - max(0.0, low - turn, turn - high)
    return smallest, largest
