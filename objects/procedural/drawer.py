"""A low cabinet with one or two drawers; tasks move the part `drawer`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from unlatch.objects.annotation import PartKind
from unlatch.objects.procedural.building.assembly import Assembly, ObjectGenerator, PartMotion
from unlatch.objects.procedural.building.drawing import Colour, draw_fields, draw_uniform, one_of, uniform
from unlatch.objects.procedural.building.finishes import HANDLE_COLOURS, board_texture
from unlatch.objects.procedural.building.link_builder import DRAWER_FRONT, LinkBuilder, PanelBuilder
from unlatch.objects.procedural.building.panel_handles import (
    BarParameters,
    HandlePlace,
    KnobParameters,
    draw_bar,
)
from unlatch.simcore.geometry import Pose

_WOODS: tuple[tuple[Colour, Colour], ...] = (
    ((0.78, 0.62, 0.42, 1.0), (0.86, 0.72, 0.52, 1.0)),
    ((0.42, 0.28, 0.19, 1.0), (0.52, 0.36, 0.25, 1.0)),
    ((0.90, 0.90, 0.88, 1.0), (0.96, 0.96, 0.95, 1.0)),
    ((0.36, 0.42, 0.48, 1.0), (0.47, 0.54, 0.60, 1.0)),
    ((0.45, 0.55, 0.45, 1.0), (0.86, 0.72, 0.52, 1.0)),
)
"""Carcass and front: beech, walnut, white, blue-grey, green with beech."""
_INSIDE: Colour = (0.88, 0.83, 0.74, 1.0)
_GAP_M = 0.003
_PANEL_M = 0.012


@dataclass(frozen=True)
class DrawerParameters:
    """The values that vary between cabinets."""

    width_m: float
    depth_m: float
    """Of the carcass, without the fronts."""
    plinth_m: float
    """Height of the closed base under the lowest drawer."""
    front_height_m: float
    """Of each drawer front, gap included."""
    wall_m: Annotated[float, uniform(0.015, 0.02)]
    count: int
    """One drawer, or two above one another."""
    acted: int
    """Index from below of the part `drawer`."""
    front_thickness_m: Annotated[float, uniform(0.018, 0.024)]
    travel_m: float
    drawer_mass_kg: Annotated[float, uniform(1.2, 3.0)]
    body_mass_kg: Annotated[float, uniform(8.0, 16.0)]
    friction_n: Annotated[float, uniform(1.0, 5.0)]
    damping_n_s_m: Annotated[float, uniform(0.5, 4.0)]
    colour: Colour
    front_colour: Colour
    handle_colour: Annotated[Colour, one_of(HANDLE_COLOURS)]
    handle: BarParameters | KnobParameters

    @property
    def height_m(self) -> float:
        """Of the whole cabinet [m]."""
        return self.plinth_m + self.count * self.front_height_m + self.wall_m


def draw_parameters(rng: np.random.Generator) -> DrawerParameters:
    """Draws one cabinet and the handle of its drawers."""
    count = 1 if rng.random() < 0.5 else 2
    acted = 1 if count == 2 and rng.random() < 0.75 else 0
    width = draw_uniform(rng, 0.34, 0.48)
    travel = draw_uniform(rng, 0.22, 0.32)
    # The hand is 20 cm wide across a horizontal bar: the middle of a low front is 13 cm over the ground.
    front_height = draw_uniform(rng, 0.13, 0.17) if count == 2 else draw_uniform(rng, 0.15, 0.20)
    plinth_low = max(0.035, 0.135 - (acted + 0.5) * front_height)
    wood = _WOODS[int(rng.integers(len(_WOODS)))]

    def draw_front_handle() -> BarParameters | KnobParameters:
        if rng.random() < 0.25:
            return draw_fields(KnobParameters, rng)
        return draw_bar(rng, length=(0.12, min(0.22, width - 0.20)), thickness=(0.01, 0.018))

    return draw_fields(
        DrawerParameters,
        rng,
        width_m=width,
        depth_m=lambda: round(travel + draw_uniform(rng, 0.10, 0.15), 4),
        plinth_m=lambda: draw_uniform(rng, plinth_low, plinth_low + 0.04),
        front_height_m=front_height,
        count=count,
        acted=acted,
        travel_m=travel,
        colour=wood[0],
        front_colour=wood[1],
        handle=draw_front_handle,
    )


def build(assembly: Assembly, p: DrawerParameters) -> None:
    """Builds a cabinet. A drawer's frame lies at the middle of the back of its front panel."""
    assembly.renames_shapes = False  # the names of the first version: same seed, same bytes
    body = LinkBuilder("body")
    _add_body(body, p)
    assembly.add_body(body, mass_kg=p.body_mass_kg, edge=(p.depth_m / 2 - 0.05, 0.0, p.height_m))
    for index in sorted(range(p.count), key=lambda i: i != p.acted):
        _add_drawer(assembly, "drawer" if index == p.acted else "drawer_2", index, p)
    assembly.set_texture(board_texture, p.colour, p.front_colour, _INSIDE)


generate = ObjectGenerator("drawer", draw_parameters, build)


def _add_body(builder: LinkBuilder, p: DrawerParameters) -> None:
    x0, x1 = -p.depth_m / 2, p.depth_m / 2
    y0, y1 = -p.width_m / 2, p.width_m / 2
    h, w = round(p.height_m, 6), p.wall_m
    builder.box("plinth", (x0, y0 + 0.01, 0.0), (x1 - 0.015, y1 - 0.01, p.plinth_m - w), rgba=(0.15, 0.15, 0.15, 1.0))
    builder.box("bottom", (x0, y0, p.plinth_m - w), (x1, y1, p.plinth_m), rgba=p.colour)
    builder.box("top", (x0, y0, h - w), (x1 + p.front_thickness_m, y1, h), rgba=p.colour)
    builder.box("side_low_y", (x0, y0, p.plinth_m), (x1, y0 + w, h - w), rgba=p.colour)
    builder.box("side_high_y", (x0, y1 - w, p.plinth_m), (x1, y1, h - w), rgba=p.colour)
    builder.box("back", (x0, y0 + w, p.plinth_m), (x0 + _PANEL_M, y1 - w, h - w), rgba=p.colour)


def _add_drawer(assembly: Assembly, label: str, index: int, p: DrawerParameters) -> None:
    t = p.front_thickness_m
    half_w, half_h = p.width_m / 2 - _GAP_M / 2, p.front_height_m / 2 - _GAP_M / 2
    box_w, box_h = p.width_m / 2 - p.wall_m - 0.008, half_h - 0.018
    back = -(p.depth_m - _PANEL_M - 0.012)
    drawer = PanelBuilder(label, DRAWER_FRONT)
    drawer.box("front", (-half_h, -half_w, 0.0), (half_h, half_w, t), rgba=p.front_colour)
    floor, inner = box_h - 0.008, box_w - _PANEL_M  # across runs down
    drawer.box("bottom", (floor, -box_w, back), (box_h, box_w, 0.0), rgba=_INSIDE)
    drawer.box("side_low_y", (-box_h, -box_w, back), (floor, -inner, 0.0), rgba=_INSIDE)
    drawer.box("side_high_y", (-box_h, inner, back), (floor, box_w, 0.0), rgba=_INSIDE)
    drawer.box("back", (-box_h, -inner, back), (floor, inner, back + _PANEL_M), rgba=_INSIDE)
    place = HandlePlace((0.0, 0.0), t)
    # the names, the frame of a knob and the posts of a bar are those of the first version
    if isinstance(p.handle, KnobParameters):
        grip = p.handle.add_to(drawer, place, p.handle_colour, head_name="handle_knob")
        grip = replace(grip, handle=replace(grip.handle, T_link_handle=Pose.from_translation(grip.head)))
    else:
        grip = p.handle.add_to(drawer, place, p.handle_colour, overhang_m=0.0)
    # Farther from the handle than half a hand's thickness: a hand is wider than its fingers are long.
    push_y = min(p.handle.extents_m[2] / 2 + 0.06, half_w - 0.03)
    z = p.plinth_m + (index + 0.5) * p.front_height_m
    at = (p.depth_m / 2, 0.0, z)
    motion = PartMotion(PartKind.slider, "body", at, (1.0, 0.0, 0.0), p.travel_m, p.friction_n, p.damping_n_s_m)
    push = np.array([t, push_y, 0.0])
    assembly.add_part(drawer, motion, grip, mass_kg=p.drawer_mass_kg, push=push)
