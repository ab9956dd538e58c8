"""A microwave oven: a hollow body, a door on a vertical hinge with a bar handle."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from unlatch.objects.procedural.building.assembly import Assembly, ObjectGenerator, door_motion
from unlatch.objects.procedural.building.drawing import (
    Colour,
    draw_fields,
    draw_uniform,
    either,
    one_of,
    uniform,
)
from unlatch.objects.procedural.building.finishes import BODY_COLOURS, HANDLE_COLOURS, sheet_texture
from unlatch.objects.procedural.building.link_builder import FRONT, LinkBuilder, PanelBuilder, door_frame
from unlatch.objects.procedural.building.panel_handles import BarParameters, HandlePlace, PanelGrip, draw_bar

_GLASS: Colour = (0.05, 0.06, 0.07, 1.0)
_INSIDE: Colour = (0.85, 0.85, 0.82, 1.0)
_DARK: Colour = (0.09, 0.09, 0.10, 1.0)
_DISPLAY: Colour = (0.10, 0.55, 0.45, 1.0)


@dataclass(frozen=True)
class MicrowaveParameters:
    """The values that vary between microwaves, within the sizes of common products."""

    width_m: Annotated[float, uniform(0.44, 0.54)]
    depth_m: Annotated[float, uniform(0.30, 0.40)]
    """Of the body, without the door."""
    height_m: float
    wall_m: Annotated[float, uniform(0.018, 0.028)]
    panel_m: Annotated[float, uniform(0.08, 0.13)]
    """Width of the control panel beside the door; the body behind it is solid."""
    hinge_side: Annotated[str, either("left", "right")]
    """`left` or `right`, as seen from the front."""
    door_thickness_m: Annotated[float, uniform(0.03, 0.04)]
    door_mass_kg: Annotated[float, uniform(1.2, 2.4)]
    body_mass_kg: Annotated[float, uniform(9.0, 14.0)]
    upper_limit_rad: Annotated[float, uniform(1.6, 2.0)]
    handle_inset_m: Annotated[float, uniform(0.028, 0.045)]
    """From the free edge of the door to the axis of the bar."""
    handle_rise_m: Annotated[float, uniform(-0.01, 0.02)]
    """Of the bar's middle over the door's middle."""
    friction_n_m: Annotated[float, uniform(0.2, 1.0)]
    damping_n_m_s: Annotated[float, uniform(0.05, 0.3)]
    colour: Annotated[Colour, one_of(BODY_COLOURS)]
    handle_colour: Annotated[Colour, one_of(HANDLE_COLOURS)]
    handle: BarParameters

    @property
    def door_width_m(self) -> float:
        """From the hinge to the free edge [m]."""
        return round(self.width_m - self.panel_m, 6)

    @property
    def limit_rad(self) -> float:
        """How far the door opens."""
        return self.upper_limit_rad


def draw_parameters(rng: np.random.Generator) -> MicrowaveParameters:
    """Draws one microwave and its handle."""
    height = draw_uniform(rng, 0.27, 0.33)
    longest = min(0.22, height - 0.06)
    return draw_fields(
        MicrowaveParameters,
        rng,
        height_m=height,
        handle=lambda: draw_bar(rng, length=(0.15, longest), thickness=(0.012, 0.022)),
    )


def build(assembly: Assembly, p: MicrowaveParameters) -> None:
    """Builds a microwave; the door's frame lies on the hinge, at the body's front plane and the door's mid height."""
    frame = door_frame(p.hinge_side)
    away = frame.across[1]
    body = LinkBuilder("body")
    _add_body(body, p, away)
    assembly.add_body(body, mass_kg=p.body_mass_kg, edge=(p.depth_m / 2 - 0.05, 0.0, p.height_m))
    door = PanelBuilder("door", FRONT)  # as if the hinge were on the left, whichever side it is on
    handle = _add_door(door, p, away)
    motion = door_motion(frame, (p.depth_m / 2, -away * p.width_m / 2, p.height_m / 2), p)
    push = np.array([p.door_thickness_m, handle.head[1] - away * (p.handle.thickness_m / 2 + 0.065), 0.0])
    assembly.add_part(door, motion, replace(handle, frame=frame), mass_kg=p.door_mass_kg, push=push)
    assembly.set_texture(sheet_texture, p.colour)


generate = ObjectGenerator("microwave", draw_parameters, build, unrecorded=("handle_kind",))


def _add_body(builder: LinkBuilder, p: MicrowaveParameters, away: float) -> None:
    x0, x1 = -p.depth_m / 2, p.depth_m / 2
    y0, y1 = -p.width_m / 2, p.width_m / 2
    h, w = p.height_m, p.wall_m
    builder.box("floor", (x0, y0, 0.0), (x1, y1, w), rgba=p.colour)
    builder.box("ceiling", (x0, y0, h - w), (x1, y1, h), rgba=p.colour)
    builder.box("back", (x0, y0, w), (x0 + w, y1, h - w), rgba=p.colour)
    thin = (x0 + w, -away * p.width_m / 2), (x1, -away * (p.width_m / 2 - w))
    thick = (x0 + w, away * (p.width_m / 2 - p.panel_m)), (x1, away * p.width_m / 2)
    for label, (a, b) in (("side_hinge", thin), ("side_panel", thick)):
        low, high = min(a[1], b[1]), max(a[1], b[1])
        builder.box(label, (a[0], low, w), (b[0], high, h - w), rgba=p.colour)
    _add_lining(builder, p, away)
    # The control panel fills the front beside the door, so that door and panel are flush.
    inner, outer = away * (p.width_m / 2 - p.panel_m) + away * 0.002, away * p.width_m / 2
    low, high = min(inner, outer), max(inner, outer)
    front = x1 + p.door_thickness_m
    builder.box("panel", (x1, low, 0.0), (front, high, h), rgba=p.colour)
    middle, half = (low + high) / 2, (high - low) / 2 - 0.012
    skin = front + 0.001
    builder.visual.box("panel_face", (front, low + 0.006, 0.015), (skin, high - 0.006, h - 0.015), rgba=_DARK)
    builder.visual.box(
        "display", (skin, middle - half, h - 0.065), (skin + 0.001, middle + half, h - 0.03), rgba=_DISPLAY
    )
    for row in range(4):
        for column in (-1, 0, 1):
            y, z = middle + column * half * 0.68, h - 0.095 - row * 0.028
            builder.visual.box(
                f"button_{row}_{column + 1}",
                (skin, y - half * 0.25, z - 0.009),
                (skin + 0.0015, y + half * 0.25, z + 0.009),
                rgba=(0.55, 0.56, 0.58, 1.0),
            )
    builder.visual.cylinder(
        "dial", (skin + 0.005, middle, 0.055), axis="x", radius=0.018, length=0.01, rgba=p.handle_colour
    )


def _add_lining(builder: LinkBuilder, p: MicrowaveParameters, away: float) -> None:
    """Adds visual inner faces and a turntable."""
    x0, x1, w, h, skin = -p.depth_m / 2 + p.wall_m, p.depth_m / 2, p.wall_m, p.height_m, 0.0008
    a, b = sorted((-away * (p.width_m / 2 - w), away * (p.width_m / 2 - p.panel_m)))
    faces = {
        "lining_floor": ((x0, a, w), (x1 - 0.01, b, w + skin)),
        "lining_ceiling": ((x0, a, h - w - skin), (x1 - 0.01, b, h - w)),
        "lining_back": ((x0, a, w), (x0 + skin, b, h - w)),
        "lining_low_y": ((x0, a, w), (x1 - 0.01, a + skin, h - w)),
        "lining_high_y": ((x0, b - skin, w), (x1 - 0.01, b, h - w)),
    }
    for name, (low, high) in faces.items():
        builder.visual.box(name, low, high, rgba=_INSIDE)
    radius = 0.42 * min(b - a, x1 - x0)
    builder.visual.cylinder(
        "turntable",
        ((x0 + x1) / 2, (a + b) / 2, w + 0.006),
        axis="z",
        radius=radius,
        length=0.006,
        rgba=(0.70, 0.78, 0.80, 1.0),
    )


def _add_door(door: PanelBuilder, p: MicrowaveParameters, away: float) -> PanelGrip:
    width, t, half = away * p.door_width_m, p.door_thickness_m, p.height_m / 2
    door.box("slab", (0.0, -half, 0.0), (width, half, t), rgba=p.colour)
    low, high = (away * 0.035, -half + 0.045, t), (width - away * 0.075, half - 0.045, t + 0.001)
    door.visual.box("window", low, high, rgba=_GLASS)
    low, high = (away * 0.03, -half + 0.03, -0.001), (width - away * 0.03, half - 0.03, 0.0)
    door.visual.box("seal", low, high, rgba=_DARK)
    place = HandlePlace((width - away * p.handle_inset_m, p.handle_rise_m), t)
    return p.handle.add_to(door, place, p.handle_colour, overhang_m=0.0)
