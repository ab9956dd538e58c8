"""A chest with one to four drawers over one another, each of which can be opened.

Sizes come from catalogues of nightstands and desk units: 34 to 50 cm wide, 34 to 45 cm deep, drawers of 12 to 19 cm
that come out by 20 to 30 cm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.annotation import PartKind
from unlatch.objects.procedural.building.assembly import Assembly, ObjectGenerator, PartMotion
from unlatch.objects.procedural.building.carcass import Carcass, add_base
from unlatch.objects.procedural.building.drawing import Colour, draw_fields, draw_uniform, either, uniform
from unlatch.objects.procedural.building.finishes import HANDLE_COLOURS, WOODS, board_texture, darker, draw_contrast
from unlatch.objects.procedural.building.link_builder import DRAWER_FRONT, LinkBuilder, PanelBuilder, X
from unlatch.objects.procedural.building.panel_handles import (
    HandlePlace,
    PanelHandle,
    draw_handle,
)

_GAP_M = 0.003
_BOARD_M = 0.010
_INSIDE: Colour = (0.88, 0.83, 0.74, 1.0)


@dataclass(frozen=True)
class DrawerCabinetParameters:
    """The values that vary between chests."""

    width_m: float
    depth_m: float
    """Of the carcass, without the fronts."""
    feet_m: Annotated[float, uniform(0.05, 0.12)]
    foot_style: Annotated[str, either("legs", "plinth")]
    count: int
    front_height_m: float
    """Of each front, gap included."""
    wall_m: Annotated[float, uniform(0.015, 0.020)]
    front_thickness_m: Annotated[float, uniform(0.016, 0.022)]
    travel_m: float
    friction_n: Annotated[float, uniform(1.0, 5.0)]
    damping_n_s_m: Annotated[float, uniform(0.5, 4.0)]
    density_kg_m3: Annotated[float, uniform(500.0, 700.0)]
    colour: Colour
    front_colour: Colour
    handle_colour: Colour
    handle: PanelHandle

    @property
    def height_m(self) -> float:
        """Of the whole chest [m]."""
        return round(self.feet_m + self.count * self.front_height_m + 2 * self.wall_m, 6)


def draw_parameters(rng: np.random.Generator) -> DrawerCabinetParameters:
    """Draws a chest and the handle of its drawers."""
    count = int(rng.integers(1, 5))
    width = draw_uniform(rng, 0.34, 0.50)
    wood = WOODS[int(rng.integers(len(WOODS)))]
    travel = draw_uniform(rng, 0.20, 0.30)
    return draw_fields(
        DrawerCabinetParameters,
        rng,
        width_m=width,
        depth_m=lambda: round(travel + draw_uniform(rng, 0.10, 0.15), 4),
        count=count,
        front_height_m=lambda: draw_uniform(rng, 0.13, 0.19) if count < 3 else draw_uniform(rng, 0.115, 0.15),
        travel_m=travel,
        colour=wood[0],
        front_colour=wood[1],
        handle_colour=lambda: draw_contrast(rng, HANDLE_COLOURS, wood[1]),
        handle=lambda: draw_handle(
            rng, {"bar": 0.45, "knob": 0.2, "cup": 0.2, "edge": 0.15}, length=(0.10, min(0.22, width - 0.22))
        ),
    )


def build(assembly: Assembly, p: DrawerCabinetParameters) -> None:
    """Builds a chest.

    A drawer's frame lies at the middle of the back of its front panel. The uppermost one is `drawer`.
    """
    body = LinkBuilder("body")
    _add_body(body, p)
    mass_kg = body.mass_kg(p.density_kg_m3, digits=3)
    assembly.add_body(body, mass_kg=mass_kg, edge=(p.depth_m / 2 - 0.05, 0.0, p.height_m))
    for number in range(p.count):
        _add_drawer(assembly, "drawer" if number == 0 else f"drawer_{number + 1}", number, p)
    assembly.set_texture(board_texture, p.colour, p.front_colour, _INSIDE, darker(p.colour), darker(p.colour, 0.6))


generate = ObjectGenerator("drawer_cabinet", draw_parameters, build)


def _add_body(builder: LinkBuilder, p: DrawerCabinetParameters) -> None:
    x0, x1, half = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2
    add_base(builder, p.foot_style, (x1, half), height_m=p.feet_m, rgba=p.colour)
    box = Carcass((x0, -half, p.feet_m), (x1, half, p.height_m - p.wall_m), p.wall_m, back_m=_BOARD_M)
    box.build(builder, rgba=p.colour)
    front = x1 + _GAP_M + p.front_thickness_m + 0.006
    builder.box("top", (x0, -half - 0.006, p.height_m - p.wall_m), (front, half + 0.006, p.height_m), rgba=p.colour)


def _add_drawer(assembly: Assembly, label: str, number: int, p: DrawerCabinetParameters) -> None:
    drawer = PanelBuilder(label, DRAWER_FRONT)
    face = _GAP_M + p.front_thickness_m
    half_w, half_h = p.width_m / 2 - _GAP_M / 2, p.front_height_m / 2 - _GAP_M / 2
    drawer.box("front", (-half_h, -half_w, _GAP_M), (half_h, half_w, face), rgba=p.front_colour)
    _add_tray(drawer, p, half_h)
    place = HandlePlace((0.0, 0.0), face, edge=-half_h, thickness=p.front_thickness_m, length=2 * half_w)
    grip = p.handle.add_to(drawer, place, p.handle_colour)
    if p.handle.kind != "edge":
        # farther from the handle than half a hand's thickness: a hand is wider than its fingers are long
        push = DRAWER_FRONT.at(0.0, min(p.handle.extents_m[2] / 2 + 0.06, half_w - 0.025), face)
    else:
        push = DRAWER_FRONT.at(0.016, 0.0, face)  # below the middle: the upper edge is held
    at = (p.depth_m / 2, 0.0, p.height_m - 2 * p.wall_m - (number + 0.5) * p.front_height_m)
    motion = PartMotion(PartKind.slider, "body", at, X, p.travel_m, p.friction_n, p.damping_n_s_m)
    assembly.add_part(drawer, motion, grip, mass_kg=drawer.mass_kg(p.density_kg_m3), push=push)


def _add_tray(drawer: PanelBuilder, p: DrawerCabinetParameters, half_h: float) -> None:
    """Adds floor, sides and back of the drawer; across runs down."""
    half = p.width_m / 2 - p.wall_m - 0.008
    back, top, low, b = -(p.depth_m - _BOARD_M - 0.012), -half_h + 0.022, half_h - 0.026, _BOARD_M
    drawer.box("floor", (low - 0.008, -half, back), (low, half, _GAP_M), rgba=_INSIDE)
    drawer.box("side_0", (top, -half, back), (low - 0.008, -half + b, _GAP_M), rgba=_INSIDE)
    drawer.box("side_1", (top, half - b, back), (low - 0.008, half, _GAP_M), rgba=_INSIDE)
    drawer.box("back", (top, -half + b, back), (low - 0.008, half - b, back + b), rgba=_INSIDE)
