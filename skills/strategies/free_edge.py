"""How a hand pinches or hooks the free edge of a part, as a strategy besides its handle."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unlatch.objects.annotation import GRIP_MAX_M, FramedVector, Handle, HandleType, Part, PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.geometry import Pose, unit
from unlatch.skills.strategies.hand_fit import HEAD, PALM_ROOM_M, TAIL, HandFit
from unlatch.skills.strategies.open_close import EDGE_APPROACH_M, grasp_setting
from unlatch.solver.setting import PlannerSettingCfg
from unlatch.solver.term_kinds import FrameAxisParallel

Array = np.ndarray

HOOK_SLIPS = ("side", "fixed")
"""Slip modes on a hooked edge: the hand turns about the line along the hinge, or is fixed."""
_DEPTH_M = 0.015
"""Distance of the held point from the edge."""
_DEPTH_SHARE = 0.2
"""Largest such distance as a share of the part's extent."""
_RIM_M = 0.008
"""Width of the rim of an edge, on which fingers close."""
_TAIL_M = 0.05
"""Distance of the annotated tail from the head at an edge."""
_PLACES = (0.0, 0.3, -0.3)
"""Places along the edge, measured from the handle, as shares of the edge's length."""
_BEHIND_M = 0.003
"""Gap between the leaning fingers of a hook and the inner edge of the panel before the part moves."""
_HOOK_RIM_M = 0.035
"""Width of the inner face behind an edge: as far as fingertips reach."""
_HOOK_LEAN_RAD = 0.35
"""Largest lean of a hooking hand."""
_PARALLEL = 0.9
"""Directions with at least this cosine between them count as parallel."""


@dataclass(frozen=True)
class FreeEdge:
    """A place on a part's free edge, link frame: the edge opposite the hinge, or the upper edge of a slider."""

    point: Array
    """(3,) in the middle of the part's thickness, a little inside the edge [m]."""
    out: Array
    """(3,) unit direction out of the part over the edge."""
    along: Array
    """(3,) unit direction of the edge."""
    outward: Array
    """(3,) unit direction out of the face that opens."""
    thickness_m: float
    """Thickness of the rim [m]."""
    inner_m: float
    """Distance from the point to the inner face within reach of the fingertips, along `outward`; negative [m]."""
    length_m: float
    """Length of the edge [m]."""
    depth_m: float
    """Distance of the point from the edge [m]."""


def free_edges(fit: HandFit) -> list[FreeEdge]:
    """Returns places on the free edge of a plain panel, the one at the height of its head first."""
    frame = _edge_axes(fit)
    if frame is None:
        return []
    out, along, outward = frame
    vertices = fit.solids.vertices(fit.part.link)
    head = fit.part.keypoint(HEAD).xyz
    extent, length = float(np.ptp(vertices @ out)), float(np.ptp(vertices @ along))
    depth = min(_DEPTH_M, _DEPTH_SHARE * extent)
    found = []
    for share in _PLACES:
        at = float(head @ along) + share * length
        points = fit.solids.section(fit.part.link, along, at)
        if not len(points):
            continue
        edge = float((points @ out).max())
        rim = points[points @ out >= edge - _RIM_M] @ outward
        middle, thickness = (rim.min() + rim.max()) / 2, float(np.ptp(rim))
        inner = float((points[points @ out >= edge - _HOOK_RIM_M] @ outward).min() - middle)
        point = out * (edge - depth) + along * at + outward * middle
        found.append(FreeEdge(point, out, along, outward, thickness, inner, length, depth))
    return found


def _edge_axes(fit: HandFit) -> tuple[Array, Array, Array] | None:
    """Returns unit directions out over the edge, along it and out of the face, link frame; None if it is no panel."""
    part, model = fit.part, fit.solids.model
    on_link = all(part.keypoint(name).frame == "link" for name in (HEAD, TAIL))
    if not on_link or part.kind.turns_in_hand:
        return None
    across, contact, outward = fit.axes_link()
    if part.kind is PartKind.slider:
        closed = fit.positions(0.0)
        T_link_root = model.link_pose(part.link, closed).inverse()
        up, front = T_link_root.rotate(np.array([0.0, 0.0, 1.0])), T_link_root.rotate(np.array([1.0, 0.0, 0.0]))
        outward = unit(part.axes["link0_move_axis"].xyz)
        return (up, unit(np.cross(outward, up)), outward) if float(front @ outward) > _PARALLEL else None
    axis = fit.hinge_link()
    if abs(float(contact @ axis)) < _PARALLEL or abs(float(outward @ axis)) > 1.0 - _PARALLEL:
        return None  # the bar is not parallel to the hinge
    return across, contact, outward


def edge_grip(asset: ObjectAsset, fit: HandFit, edge: FreeEdge, start: tuple[float, float]) -> PlannerSettingCfg | None:
    """Returns the planner setting for pinching an edge.

    None: the hand does not fit at the least or at the largest opening of the start.
    """
    if edge.thickness_m > GRIP_MAX_M:
        return None
    part = _annotate_at_edge(fit.part, edge)
    there = HandFit(asset, part, fit.hand, approach_m=EDGE_APPROACH_M)
    grasp = there.grasp_over(start)
    if grasp is None:
        return None
    return replace(grasp_setting(part, start, grasp), keypoint_shifts=_keypoint_shifts(fit.part, part))


def edge_hook(asset: ObjectAsset, fit: HandFit, edge: FreeEdge, start: tuple[float, float]) -> PlannerSettingCfg | None:
    """Returns the planner setting for hooking an edge with closed fingers; None as in `edge_grip`."""
    fingers, palm = fit.hand.boxes(0.0)
    half = float(np.abs(fingers[:, :, 2]).max())
    # a leaning finger comes nearer to the edge that it reaches over, and would hit the rim of the panel
    away_m = half / np.cos(_HOOK_LEAN_RAD) + edge.depth_m * np.tan(_HOOK_LEAN_RAD) + _BEHIND_M
    behind = edge.point + edge.outward * (edge.inner_m - away_m)
    x = -edge.out
    T_link_tool = Pose(np.column_stack([x, edge.along, np.cross(x, edge.along)]), behind)
    before = Pose.from_translation([-EDGE_APPROACH_M, 0.0, 0.0])
    for opening in dict.fromkeys(start):
        positions = fit.positions(opening)
        T = fit.solids.model.link_pose(fit.part.link, positions) @ T_link_tool
        hit = (
            fit.solids.meets(fingers, T, positions)
            or fit.solids.meets(palm, T, positions, margin_m=PALM_ROOM_M)
            or fit.solids.meets(np.concatenate([fingers, palm]), T @ before, positions)
        )
        if hit:
            return None
    part = _annotate_at_edge(fit.part, replace(edge, point=behind))
    setting = grasp_setting(part, start)
    point, _, back = setting.constraint_list
    along = edge.along.round(6).tolist()
    side = FrameAxisParallel("tool_head", "tool_side", 0.1, target_axis=along, target_inner_product=1)
    return replace(
        setting,
        approach_width_m=0.0,
        constraint_list=[point, side, replace(back, **{"tolerance": _HOOK_LEAN_RAD})],
        keypoint_shifts=_keypoint_shifts(fit.part, part),
        slips=list(HOOK_SLIPS),
    )


def _annotate_at_edge(part: Part, edge: FreeEdge) -> Part:
    """Returns the part annotated at an edge, as if it had no handle; on a slider, head to tail points down."""
    tail = edge.point + (-1.0 if part.kind is PartKind.slider else 1.0) * _TAIL_M * edge.out
    points = {HEAD: FramedVector.of("link", edge.point), TAIL: FramedVector.of("link", tail)}
    handle = Handle(HandleType.edge, np.array([2 * edge.depth_m, edge.thickness_m, edge.length_m]))
    return replace(part, keypoints={**part.keypoints, **points}, handle=handle)


def _keypoint_shifts(part: Part, other: Part) -> dict[str, list[float]]:
    """Returns the shifts from the keypoints of a part to those of another, frame of the link [m]."""
    return {
        name: [round(float(v), 5) for v in other.keypoint(name).xyz - part.keypoint(name).xyz] for name in (HEAD, TAIL)
    }
