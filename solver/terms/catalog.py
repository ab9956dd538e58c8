"""Catalog of terms by their YAML `type`; a new one is a file, a line here, and a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unlatch.simcore.registry import Catalog, CatalogEntry

TERMS = Catalog(
    "constraint type",
    {
        "frame_axis_orthogonal": CatalogEntry(
            "unlatch.solver.terms.axis:FrameAxisOrthogonal", "tool axis at right angles to an axis of the object [rad]"
        ),
        "frame_axis_parallel": CatalogEntry(
            "unlatch.solver.terms.axis:FrameAxisParallel", "tool axis along an axis of the object [rad]"
        ),
        "keypoint_axis_orthogonal": CatalogEntry(
            "unlatch.solver.terms.axis:KeypointAxisOrthogonal",
            "tool axis at right angles to a line of two keypoints [rad]",
        ),
        "keypoint_axis_parallel": CatalogEntry(
            "unlatch.solver.terms.axis:KeypointAxisParallel", "tool axis along a line of two keypoints [rad]"
        ),
        "point2plane_constraint": CatalogEntry(
            "unlatch.solver.terms.point2plane:Point2Plane", "tool keypoint in a plane through an object keypoint [m]"
        ),
        "point2point_constraint": CatalogEntry(
            "unlatch.solver.terms.point2point:Point2Point", "tool keypoint at an object keypoint [m]"
        ),
    },
    group="unlatch.terms",
    contract="unlatch.solver.terms.term:Term",
    listed_by="unlatch list terms",
)

COSTS = Catalog(
    "cost type",
    {
        "point2plane_cost": CatalogEntry(
            "unlatch.solver.terms.point2plane:Point2PlaneCost", "squared distance of a tool keypoint to a plane [m^2]"
        ),
        "point2point_cost": CatalogEntry(
            "unlatch.solver.terms.point2point:Point2PointCost",
            "squared distance of a tool keypoint to an object keypoint [m^2]",
        ),
    },
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
