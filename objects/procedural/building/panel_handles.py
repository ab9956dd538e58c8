"""Handles on panels: bar, knob, cup, or only the free edge.

Lengths are in metres. `at` is the middle of a handle, across and along; `edge` is where the free edge lies across,
and `face` where the outer face lies outwards; `half` is half of the panel's extent along. `thickness` and `length` are
those of the panel at its free edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.annotation import Handle, HandleType
from unlatch.objects.procedural.building.assembly import PanelGrip
from unlatch.objects.procedural.building.drawing import Colour, draw_fields, draw_uniform, parameter_record, uniform
from unlatch.objects.procedural.building.handles import BarParameters, KnobParameters, Section, draw_bar, draw_knob
from unlatch.objects.procedural.building.panel import PanelBuilder, PanelFrame
from unlatch.simcore.geometry import Pose

FINGER_DEPTH_M = 0.012
"""Depth of the middle between the fingertips in an edge."""
PUSH_GAP_M = 0.065
"""Distance of the push point from the side of a handle: more than half of a hand's thickness."""
EDGE_PUSH_M = 0.075
"""Distance of the push point from an edge that is held."""
_PUSH_INSET_M = 0.025
"""Distance of the push point from the side of a panel, beside its bar."""
PUSH_ROOM_M = _PUSH_INSET_M + 0.05
"""A bar leaves this much free at either end for a push."""


@dataclass(frozen=True)
class CupParameters:
    """A cup pull: a shell that is open below, with a thick lip."""

    length_m: float
    height_m: Annotated[float, uniform(0.028, 0.036)]
    """Across, where the fingers close."""
    depth_m: Annotated[float, uniform(0.030, 0.036)]
    """From the front to the outside of the lip."""
    lip_m: Annotated[float, uniform(0.010, 0.012)]


@dataclass(frozen=True)
class EdgeParameters:
    """No handle: the free edge of the panel is held."""


PanelHandle = BarParameters | KnobParameters | CupParameters | EdgeParameters

_NAMES = {BarParameters: "bar", KnobParameters: "knob", CupParameters: "cup", EdgeParameters: "edge"}


def draw_handle(
    rng: np.random.Generator,
    shares: dict[str, float],
    *,
    length: tuple[float, float],
    thickness: tuple[float, float] = (0.010, 0.018),
) -> PanelHandle:
    """Draws a handle: `shares` says how often it is a `bar`, `knob`, `cup` or `edge`. `length` is the range of a bar or
    a cup, `thickness` that of a bar [m].
    """
    names = list(shares)
    chosen = names[int(rng.choice(len(names), p=list(shares.values())))]
    if chosen == "bar":
        return draw_bar(rng, length=length, thickness=thickness)
    if chosen == "knob":
        return draw_knob(rng)
    if chosen == "cup":
        return draw_fields(
            CupParameters, rng, length_m=lambda: draw_uniform(rng, max(0.07, min(length) * 0.8), min(0.11, max(length)))
        )
    return EdgeParameters()


def handle_record(handle: PanelHandle) -> dict[str, float | str]:
    """Returns the record of a handle."""
    values: dict[str, float | str] = {"handle_kind": _NAMES[type(handle)]}
    return values | {f"handle_{key}": value for key, value in parameter_record(handle).items()}


def handle_reach(handle: PanelHandle) -> float:
    """Returns how far a handle stands out of its panel [m]."""
    if isinstance(handle, BarParameters):
        return handle.standoff_m + handle.depth_m
    if isinstance(handle, KnobParameters):
        return handle.stem_m + handle.head_m
    return handle.depth_m if isinstance(handle, CupParameters) else 0.0


def half_across(handle: PanelHandle) -> float:
    """Returns half of a handle's extent across the panel [m]."""
    if isinstance(handle, BarParameters):
        return handle.thickness_m / 2
    if isinstance(handle, KnobParameters):
        return handle.diameter_m / 2
    return handle.height_m / 2 if isinstance(handle, CupParameters) else 0.0


def half_along(handle: PanelHandle) -> float:
    """Returns half of a handle's extent along the panel [m]."""
    if isinstance(handle, KnobParameters):
        return handle.diameter_m / 2
    return 0.0 if isinstance(handle, EdgeParameters) else handle.length_m / 2


def add_handle(
    panel: PanelBuilder,
    handle: PanelHandle,
    *,
    at: tuple[float, float],
    face: float,
    thickness: float,
    edge: float,
    length: float,
    rgba: Colour,
) -> PanelGrip:
    """Adds a handle to a panel and returns where it is held."""
    if isinstance(handle, BarParameters):
        return _add_bar(panel, handle, at, face, rgba)
    if isinstance(handle, KnobParameters):
        return _add_knob(panel, handle, at, face, rgba)
    if isinstance(handle, CupParameters):
        return _add_cup(panel, handle, at, face, rgba)
    return edge_grip(panel.frame, edge=edge, along=at[1], face=face, thickness=thickness, length=length)


def edge_grip(
    frame: PanelFrame, *, edge: float, along: float, face: float, thickness: float, length: float
) -> PanelGrip:
    """Returns the grip at the free edge of a panel; on a drawer's front this is the upper edge."""
    outward = 1.0 if edge > 0 else -1.0
    head = frame.at(edge - outward * FINGER_DEPTH_M, along, face - thickness / 2)
    x = outward * np.asarray(frame.across)
    R_link_handle = np.column_stack([x, np.cross(frame.along, x), frame.along])
    size = np.array([2 * FINGER_DEPTH_M, thickness, length])
    return PanelGrip(Handle(HandleType.edge, size, Pose(R_link_handle, head)), head, frame)


def grip_standing_out(
    frame: PanelFrame, kind: HandleType, *, at: tuple[float, float], out: float, size: Sequence[float]
) -> PanelGrip:
    """Returns the grip about the middle of something that stands out of a panel; the fingers close across. `size` (3,)
    is depth outwards, thickness across and length along [m].
    """
    head = frame.at(*at, out)
    R_link_handle = np.column_stack([frame.out, frame.across, frame.along])
    return PanelGrip(Handle(kind, np.asarray(size, dtype=float), Pose(R_link_handle, head)), head, frame)


def push_point(
    frame: PanelFrame, handle: PanelHandle, *, at: tuple[float, float], edge: float, face: float
) -> np.ndarray:
    """Returns (3,) the push point of a hinged panel: beside the handle, towards the hinge [m]."""
    if isinstance(handle, EdgeParameters):
        return frame.at(edge - EDGE_PUSH_M, 0.0, face)
    return frame.at(at[0] - half_across(handle) - PUSH_GAP_M, 0.0, face)


def push_beside(
    frame: PanelFrame, handle: PanelHandle, *, at: tuple[float, float], edge: float, half: float, face: float
) -> np.ndarray:
    """Returns (3,) the push point of a door that is hinged below, beside the bar [m]."""
    if isinstance(handle, EdgeParameters):
        return push_point(frame, handle, at=at, edge=edge, face=face)
    return frame.at(at[0], half - _PUSH_INSET_M, face)


def _add_bar(panel: PanelBuilder, bar: BarParameters, at: tuple[float, float], face: float, rgba: Colour) -> PanelGrip:
    across, along = at
    middle, half = face + bar.reach_m, bar.length_m / 2
    if bar.section is Section.round:
        panel.cylinder(
            "handle_bar", (across, along, middle), axis="along", radius=bar.thickness_m / 2, length=2 * half, rgba=rgba
        )
    else:
        lower = (across - bar.thickness_m / 2, along - half, middle - bar.depth_m / 2)
        upper = (across + bar.thickness_m / 2, along + half, middle + bar.depth_m / 2)
        panel.box("handle_bar", lower, upper, rgba=rgba)
    post = min(bar.thickness_m, 0.014) / 2
    for number, sign in enumerate((-1.0, 1.0)):
        centre = along + sign * (half - bar.post_m)
        lower = (across - post, centre - bar.post_m / 2, face)
        panel.box(f"handle_post_{number}", lower, (across + post, centre + bar.post_m / 2, middle), rgba=rgba)
    size = (bar.depth_m, bar.thickness_m, bar.length_m - 4 * bar.post_m)
    return grip_standing_out(panel.frame, HandleType.bar, at=at, out=middle, size=size)


def _add_knob(
    panel: PanelBuilder, knob: KnobParameters, at: tuple[float, float], face: float, rgba: Colour
) -> PanelGrip:
    middle = face + knob.reach_m
    for name, centre, radius, length in (
        ("handle_stem", face + knob.stem_m / 2, 0.007, knob.stem_m),
        ("handle_head", middle, knob.diameter_m / 2, knob.head_m),
    ):
        panel.cylinder(name, (*at, centre), axis="out", radius=radius, length=length, rgba=rgba)
    size = (knob.head_m, knob.diameter_m, knob.diameter_m)
    return grip_standing_out(panel.frame, HandleType.knob, at=at, out=middle, size=size)


def _add_cup(panel: PanelBuilder, cup: CupParameters, at: tuple[float, float], face: float, rgba: Colour) -> PanelGrip:
    """Adds a cup, closed above, behind and at its ends; the fingers close on its lip and its top."""
    (across, along), half, wall = at, cup.length_m / 2, 0.004
    top, low, front = across - cup.height_m / 2, across + cup.height_m / 2, face + cup.depth_m
    panel.box("handle_top", (top, along - half, face), (top + wall, along + half, front), rgba=rgba)
    panel.box("handle_lip", (top + wall, along - half, front - cup.lip_m), (low, along + half, front), rgba=rgba)
    for number, sign in enumerate((-1.0, 1.0)):
        side = along + sign * (half - wall / 2)
        lower = (top + wall, side - wall / 2, face)
        panel.box(f"handle_end_{number}", lower, (low, side + wall / 2, front - cup.lip_m), rgba=rgba)
    size = (cup.lip_m, cup.height_m, cup.length_m)
    return grip_standing_out(panel.frame, HandleType.bar, at=at, out=front - cup.lip_m / 2, size=size)
