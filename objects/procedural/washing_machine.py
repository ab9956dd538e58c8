"""A small front loader: a round door with a porthole, hinged at its side, before a drum.

Sizes come from catalogues of compact front loaders for 3 to 4 kg: 48 to 52 cm wide, 62 to 70 cm high, 40 to 50 cm deep,
doors of 30 to 34 cm. The door of a machine of the usual size, 60 cm wide and 85 cm high, is at the limit of the reach
of an arm on a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.procedural.building.assembly import Assembly, ObjectGenerator, door_motion
from unlatch.objects.procedural.building.carcass import Carcass, add_feet, add_ring_wall
from unlatch.objects.procedural.building.drawing import Colour, draw_colour, draw_fields, either, uniform
from unlatch.objects.procedural.building.finishes import (
    APPLIANCES,
    CHROME,
    DARK,
    DISPLAY,
    GLASS,
    RUBBER,
    WHITE,
    darker,
    draw_contrast,
    mark_colour,
    sheet_texture,
)
from unlatch.objects.procedural.building.link_builder import LinkBuilder, PanelBuilder, door_frame
from unlatch.objects.procedural.building.panel_handles import (
    HandlePlace,
    PanelHandle,
    draw_handle,
)
from unlatch.simcore.geometry import Pose

_GAP_M = 0.004
_OFFSET_M = 0.024
"""Distance from the hinge to the door's edge: enough for the edge to turn clear of the front."""
_FRONT_M = 0.02
"""Thickness of the front."""
_STAVES = 28
_FASCIA_M = 0.012
_STEEL: Colour = (0.62, 0.64, 0.66, 1.0)
_R_LINK_RING = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
"""Rotation of a ring about x."""


@dataclass(frozen=True)
class WashingMachineParameters:
    """The values that vary between washing machines."""

    width_m: Annotated[float, uniform(0.48, 0.52)]
    depth_m: Annotated[float, uniform(0.40, 0.50)]
    """Of the body, without the door."""
    height_m: Annotated[float, uniform(0.62, 0.70)]
    feet_m: Annotated[float, uniform(0.012, 0.02)]
    panel_m: Annotated[float, uniform(0.095, 0.115)]
    """Height of the control panel."""
    skirt_m: Annotated[float, uniform(0.06, 0.08)]
    """Height of the strip below the door."""
    door_radius_m: Annotated[float, uniform(0.152, 0.170)]
    rim_m: Annotated[float, uniform(0.040, 0.048)]
    """Radius of the door minus that of the opening."""
    door_thickness_m: Annotated[float, uniform(0.026, 0.034)]
    bowl_m: Annotated[float, uniform(0.03, 0.05)]
    """How far the glass reaches into the drum."""
    hinge_side: Annotated[str, either("left", "right", 0.7)]
    limit_rad: Annotated[float, uniform(1.6, 1.95)]
    handle_inset_m: Annotated[float, uniform(0.024, 0.028)]
    friction_n_m: Annotated[float, uniform(0.3, 1.2)]
    damping_n_m_s: Annotated[float, uniform(0.05, 0.3)]
    door_density_kg_m3: Annotated[float, uniform(600.0, 900.0)]
    body_density_kg_m3: Annotated[float, uniform(1200.0, 1800.0)]
    colour: Colour
    panel_colour: Colour
    ring_colour: Colour
    handle_colour: Colour
    handle: PanelHandle

    @property
    def opening_m(self) -> float:
        """Radius of the opening [m]."""
        return self.door_radius_m - self.rim_m

    @property
    def door_z_m(self) -> float:
        """Height of the door's middle [m]."""
        return (self.height_m - self.panel_m + self.feet_m + self.skirt_m) / 2


def draw_parameters(rng: np.random.Generator) -> WashingMachineParameters:
    """Draws a washing machine and the handle of its door."""
    colour = draw_colour(rng, APPLIANCES[:4])
    ring = draw_contrast(rng, (CHROME, DARK, WHITE), colour)
    return draw_fields(
        WashingMachineParameters,
        rng,
        colour=colour,
        panel_colour=lambda: DARK if rng.random() < 0.35 else colour,
        ring_colour=ring,
        handle_colour=lambda: draw_contrast(rng, (CHROME, DARK, WHITE), ring),
        handle=lambda: draw_handle(rng, {"bar": 0.55, "edge": 0.45}, length=(0.085, 0.115), thickness=(0.012, 0.018)),
    )


def build(assembly: Assembly, p: WashingMachineParameters) -> None:
    """Builds a washing machine.

    The door's frame lies on its hinge, in the plane of the body's front at the height of the door's middle.
    """
    body = LinkBuilder("body")
    frame = door_frame(p.hinge_side)
    away = frame.across[1]
    hinge_y = -away * (p.door_radius_m + _OFFSET_M)
    _add_casing(body, p)
    _add_drum(body, p)
    _add_panel(body, p)
    _add_hinge(body, p, hinge_y)
    if p.handle.kind == "edge":  # a hollow in the front, for the fingers
        y = away * (p.door_radius_m - 0.012)
        lower = (p.depth_m / 2, min(y, y + away * 0.034), p.door_z_m - 0.045)
        upper = (p.depth_m / 2 + 0.0008, max(y, y + away * 0.034), p.door_z_m + 0.045)
        body.visual.box("hollow", lower, upper, rgba=darker(p.colour, 0.45))
    mass_kg = body.mass_kg(p.body_density_kg_m3, digits=3)
    assembly.add_body(body, mass_kg=mass_kg, edge=(p.depth_m / 2 - 0.05, 0.0, p.height_m))

    door = PanelBuilder("door", frame)
    r, t, face = p.door_radius_m, p.door_thickness_m, _GAP_M + p.door_thickness_m
    middle, edge = _OFFSET_M + r, _OFFSET_M + 2 * r
    door.cylinder("ring", (middle, 0, _GAP_M + t / 2), axis="out", radius=r, length=t, rgba=p.ring_colour)
    glass = p.opening_m - 0.008
    for number, (share, rise) in enumerate(((1.0, 0.003), (0.82, 0.006), (0.58, 0.008))):
        centre = (middle, 0, face + rise / 2)
        rgba = darker(GLASS, 1.0 + 0.5 * number)
        door.cylinder(f"glass_{number}", centre, axis="out", radius=glass * share, length=rise, rgba=rgba)
    door.cylinder(
        "lip", (middle, 0, face), axis="out", radius=glass + 0.008, length=0.003, rgba=darker(p.ring_colour, 0.7)
    )
    for number, (radius, depth) in enumerate(((p.opening_m - 0.026, 0.5), (p.opening_m - 0.04, 1.0))):
        low = -depth * p.bowl_m
        centre = (middle, 0, (low + _GAP_M) / 2)
        door.cylinder(f"bowl_{number}", centre, axis="out", radius=radius, length=_GAP_M - low, rgba=GLASS)
    door.visual.box("arm", (-0.004, -0.03, _GAP_M), (_OFFSET_M + 0.02, 0.03, _GAP_M + 0.010), rgba=_STEEL)
    place = HandlePlace((edge - p.handle_inset_m, 0.0), face, edge=edge, thickness=t, length=0.4 * r)
    grip = p.handle.add_to(door, place, p.handle_colour)
    motion = door_motion(frame, (p.depth_m / 2, hinge_y, p.door_z_m), p)
    push = p.handle.push_point(frame, place._replace(face=face + 0.003))
    assembly.add_part(door, motion, grip, mass_kg=door.mass_kg(p.door_density_kg_m3), push=push)
    assembly.set_texture(sheet_texture, p.colour)


generate = ObjectGenerator("washing_machine", draw_parameters, build)


def _add_casing(body: LinkBuilder, p: WashingMachineParameters) -> None:
    """Adds a hollow box whose front has a round opening."""
    x0, x1, half, h = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2, p.height_m
    add_feet(body, (x1, half), inset_m=0.05, height_m=p.feet_m, radius_m=0.02)
    inner = x1 - _FRONT_M
    Carcass((x0, -half, p.feet_m), (inner, half, h), 0.012).build(body, rgba=p.colour)
    # a square hole, whose corners the staves of the ring fill
    side, z = p.opening_m + 0.012, p.door_z_m
    boards = {
        "front_below": ((inner, -half, p.feet_m), (x1, half, z - side)),
        "front_above": ((inner, -half, z + side), (x1, half, h)),
        "front_low_y": ((inner, -half, z - side), (x1, -side, z + side)),
        "front_high_y": ((inner, side, z - side), (x1, half, z + side)),
    }
    for name, (low, high) in boards.items():
        body.box(name, low, high, rgba=p.colour)
    corner = side * float(np.sqrt(2.0)) + 0.002
    ring = Pose(_R_LINK_RING, np.array([x1, 0.0, z]))
    wall = corner - p.opening_m
    add_ring_wall(
        body,
        "front_ring",
        radius_m=corner,
        wall_m=wall,
        height=(-_FRONT_M, 0.0),
        rgba=p.colour,
        count=_STAVES,
        T_link_ring=ring,
    )
    low = (x1, -half + 0.004, p.feet_m + 0.004)
    body.box("skirt", low, (x1 + 0.003, half - 0.004, p.feet_m + p.skirt_m - 0.008), rgba=darker(p.colour, 0.9))
    low = (x1 + 0.003, half - 0.12, p.feet_m + 0.014)
    flap = (x1 + 0.0045, half - 0.03, p.feet_m + p.skirt_m - 0.018)
    body.visual.box("filter", low, flap, rgba=darker(p.colour, 0.8))


def _add_drum(body: LinkBuilder, p: WashingMachineParameters) -> None:
    """Adds the visual seal around the opening and a steel drum behind it."""
    x1 = p.depth_m / 2
    ring = Pose(_R_LINK_RING, np.array([x1, 0.0, p.door_z_m]))
    deep = 0.75 * p.depth_m
    for name, radius, wall, height, rgba in (
        ("seal", p.opening_m + 0.006, 0.016, (-0.05, 0.0015), RUBBER),
        ("drum", p.opening_m + 0.05, 0.003, (-deep, -0.055), _STEEL),
        ("drum_front", p.opening_m + 0.05, 0.055, (-0.06, -0.05), darker(_STEEL, 0.8)),
    ):
        add_ring_wall(
            body.visual,
            name,
            radius_m=radius,
            wall_m=wall,
            height=height,
            rgba=rgba,
            count=_STAVES,
            T_link_ring=ring,
        )
    centre = (x1 - deep, 0.0, p.door_z_m)
    radius = p.opening_m + 0.052
    body.visual.cylinder("drum_back", centre, axis="x", radius=radius, length=0.004, rgba=darker(_STEEL, 0.85))
    hub = (x1 - deep + 0.006, 0.0, p.door_z_m)
    body.visual.cylinder("drum_hub", hub, axis="x", radius=0.05, length=0.012, rgba=darker(_STEEL, 0.7))


def _add_panel(body: LinkBuilder, p: WashingMachineParameters) -> None:
    """Adds a strip above with the drawer for powder, a dial, a display and buttons."""
    x, half, h = p.depth_m / 2, p.width_m / 2, p.height_m
    low, front, mark = h - p.panel_m, p.depth_m / 2 + _FASCIA_M, mark_colour(p.panel_colour)
    body.box("fascia", (x, -half, low), (front, half, h), rgba=p.panel_colour)
    middle, skin = (low + h) / 2, 0.001
    groove = darker(p.panel_colour, 0.6)
    # seen along -x, +y is to the right: the drawer is on the left
    powder = (-half + 0.012, -half + 0.15)
    body.visual.box("powder", (front, powder[0], low + 0.014), (front + skin, powder[1], h - 0.014), rgba=groove)
    body.visual.box(
        "powder_face",
        (front, powder[0] + 0.003, low + 0.017),
        (front + 2 * skin, powder[1] - 0.003, h - 0.017),
        rgba=p.panel_colour,
    )
    grip = (powder[0] + 0.03, powder[1] - 0.03)
    body.visual.box("powder_grip", (front, grip[0], low + 0.02), (front + 3 * skin, grip[1], low + 0.034), rgba=groove)
    dial = (front + 0.009, 0.0, middle)
    body.visual.cylinder("dial", dial, axis="x", radius=0.026, length=0.018, rgba=p.ring_colour)
    top = front + 0.018
    pointer = mark_colour(p.ring_colour)
    body.visual.box("pointer", (top, -0.0015, middle + 0.006), (top + skin, 0.0015, middle + 0.024), rgba=pointer)
    for number, angle in enumerate(np.linspace(-2.4, 2.4, 11)):
        y, z = 0.036 * float(np.sin(angle)), middle + 0.036 * float(np.cos(angle))
        lower, upper = (front, y - 0.0014, z - 0.0014), (front + skin, y + 0.0014, z + 0.0014)
        body.visual.box(f"tick_{number}", lower, upper, rgba=mark)
    lower, upper = (front, 0.06, middle - 0.016), (front + skin, 0.135, middle + 0.018)
    body.visual.box("display_ground", lower, upper, rgba=GLASS)
    lower, upper = (front + skin, 0.07, middle - 0.008), (front + 2 * skin, 0.112, middle + 0.010)
    body.visual.box("display", lower, upper, rgba=DISPLAY)
    for number in range(3):
        y = 0.158 + 0.026 * number
        body.visual.cylinder(
            f"button_{number}", (front + 0.001, y, middle), axis="x", radius=0.008, length=0.004, rgba=mark
        )


def _add_hinge(body: LinkBuilder, p: WashingMachineParameters, y: float) -> None:
    x = p.depth_m / 2
    for number, sign in enumerate((-1.0, 1.0)):
        centre = (x + 0.004, y, p.door_z_m + sign * 0.02)
        body.visual.cylinder(f"hinge_{number}", centre, axis="z", radius=0.006, length=0.03, rgba=_STEEL)
