"""A low cabinet with one or two drawers; tasks move the part `drawer`.

It is older than the chests: the same seed must give the same bytes, so its shapes keep their names, and its knob and
its bar are those of the first version.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unlatch.objects.procedural.assembly import Assembly, ObjectGenerator, slide_motion
from unlatch.objects.procedural.colours import HANDLE_COLOURS, board_texture
from unlatch.objects.procedural.handles import FlushBar, HandlePlace, KnobHandle, PanelGrip, bar, draw_knob
from unlatch.objects.procedural.links import DRAWER_FRONT, LinkBuilder, PanelBuilder, X
from unlatch.objects.procedural.parameters import Colour, Drawn, by, derived, draw_uniform, either, one_of, uniform
from unlatch.simcore.geometry import Pose

_INSIDE: Colour = (0.88, 0.83, 0.74, 1.0)
_GAP_M = 0.003
_DRAWER_WOODS: tuple[tuple[Colour, Colour], ...] = (
    ((0.78, 0.62, 0.42, 1.0), (0.86, 0.72, 0.52, 1.0)),
    ((0.42, 0.28, 0.19, 1.0), (0.52, 0.36, 0.25, 1.0)),
    ((0.90, 0.90, 0.88, 1.0), (0.96, 0.96, 0.95, 1.0)),
    ((0.36, 0.42, 0.48, 1.0), (0.47, 0.54, 0.60, 1.0)),
    ((0.45, 0.55, 0.45, 1.0), (0.86, 0.72, 0.52, 1.0)),
)
"""Carcass and front: beech, walnut, white, blue-grey, green with beech."""
_PANEL_M = 0.012


@dataclass(frozen=True)
class FirstKnob(KnobHandle):
    """A knob whose handle has the axes of the link."""

    head_name = "handle_knob"

    def add_to(self, panel: PanelBuilder, place: HandlePlace, rgba: Colour) -> PanelGrip:
        """Adds stem and head, and returns where a hand holds the head."""
        grip = super().add_to(panel, place, rgba)
        return replace(grip, handle=replace(grip.handle, T_link_handle=Pose.from_translation(grip.head)))


_draw_front_bar = bar(length=lambda p: (0.12, min(0.22, p.width_m - 0.20)), thickness=(0.01, 0.018), kind=FlushBar)


_DRAWER = {
    "count": either(1, 2),  # one drawer, or two above one another
    "acted": lambda rng, p: 1 if p.count == 2 and rng.random() < 0.75 else 0,  # index from below of the part `drawer`
    "width_m": uniform(0.34, 0.48),
    "travel_m": uniform(0.22, 0.32),
    # The hand is 20 cm wide across a horizontal bar: the middle of a low front is 13 cm over the ground.
    "front_height_m": by("count", {1: uniform(0.15, 0.20), 2: uniform(0.13, 0.17)}),  # gap included
    "_low_m": derived(lambda p: max(0.035, 0.135 - (p.acted + 0.5) * p.front_height_m)),
    "_wood": one_of(_DRAWER_WOODS),
    "depth_m": lambda rng, p: round(p.travel_m + draw_uniform(rng, 0.10, 0.15), 4),  # of the carcass
    "plinth_m": lambda rng, p: draw_uniform(rng, p._low_m, p._low_m + 0.04),  # of the closed base under the drawers
    "wall_m": uniform(0.015, 0.02),
    "front_thickness_m": uniform(0.018, 0.024),
    "drawer_mass_kg": uniform(1.2, 3.0),
    "body_mass_kg": uniform(8.0, 16.0),
    "friction_n": uniform(1.0, 5.0),
    "damping_n_s_m": uniform(0.5, 4.0),
    "colour": derived(lambda p: p._wood[0]),
    "front_colour": derived(lambda p: p._wood[1]),
    "handle_colour": one_of(HANDLE_COLOURS),
    "handle": lambda rng, p: draw_knob(rng, FirstKnob) if rng.random() < 0.25 else _draw_front_bar(rng, p),
}


def _build_drawer(assembly: Assembly, p: Drawn) -> None:
    """Builds a cabinet. A drawer's frame lies at the middle of the back of its front panel."""
    assembly.renames_shapes = False
    x0, x1, y0, y1, w, low = -p.depth_m / 2, p.depth_m / 2, -p.width_m / 2, p.width_m / 2, p.wall_m, p.plinth_m
    height = low + p.count * p.front_height_m + w
    h = round(height, 6)
    body = LinkBuilder("body")
    body.box("plinth", (x0, y0 + 0.01, 0.0), (x1 - 0.015, y1 - 0.01, low - w), rgba=(0.15, 0.15, 0.15, 1.0))
    boards = {
        "bottom": ((x0, y0, low - w), (x1, y1, low)),
        "top": ((x0, y0, h - w), (x1 + p.front_thickness_m, y1, h)),
        "side_low_y": ((x0, y0, low), (x1, y0 + w, h - w)),
        "side_high_y": ((x0, y1 - w, low), (x1, y1, h - w)),
        "back": ((x0, y0 + w, low), (x0 + _PANEL_M, y1 - w, h - w)),
    }
    body.boxes(p.colour, boards)
    assembly.add_body(body, mass_kg=p.body_mass_kg, edge=(x1 - 0.05, 0.0, height))
    for index in sorted(range(p.count), key=lambda i: i != p.acted):
        _add_drawer(assembly, "drawer" if index == p.acted else "drawer_2", index, p)
    assembly.set_texture(board_texture, p.colour, p.front_colour, _INSIDE)


def _add_drawer(assembly: Assembly, label: str, index: int, p: Drawn) -> None:
    t = p.front_thickness_m
    half_w, half_h = p.width_m / 2 - _GAP_M / 2, p.front_height_m / 2 - _GAP_M / 2
    panel = PanelBuilder(label, DRAWER_FRONT)
    panel.box("front", (-half_h, -half_w, 0.0), (half_h, half_w, t), rgba=p.front_colour)
    box_w, box_h, back = p.width_m / 2 - p.wall_m - 0.008, half_h - 0.018, -(p.depth_m - _PANEL_M - 0.012)
    floor, inner = box_h - 0.008, box_w - _PANEL_M  # across runs down
    tray = {
        "bottom": ((floor, -box_w, back), (box_h, box_w, 0.0)),
        "side_low_y": ((-box_h, -box_w, back), (floor, -inner, 0.0)),
        "side_high_y": ((-box_h, inner, back), (floor, box_w, 0.0)),
        "back": ((-box_h, -inner, back), (floor, inner, back + _PANEL_M)),
    }
    panel.boxes(_INSIDE, tray)
    grip = p.handle.add_to(panel, HandlePlace((0.0, 0.0), t), p.handle_colour)
    # Farther from the handle than half a hand's thickness: a hand is wider than its fingers are long.
    push = np.array([t, min(p.handle.extents_m[2] / 2 + 0.06, half_w - 0.03), 0.0])
    at = (p.depth_m / 2, 0.0, p.plinth_m + (index + 0.5) * p.front_height_m)
    assembly.add_part(panel, slide_motion(at, X, p, opens=p.travel_m), grip, mass_kg=p.drawer_mass_kg, push=push)


drawer = ObjectGenerator("drawer", _DRAWER, _build_drawer)
