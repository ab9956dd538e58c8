"""A cooking pot with two handles and a lid that is hinged behind.

Sizes come from catalogues of pots of 2 to 5 l: 18 to 25 cm across, 9 to 15 cm high. Most lids are loose; a task with a
joint needs a hinged one, as on kettles and some rice cookers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.fixed_handle import FixedHandle
from unlatch.objects.procedural.building.assembly import HOLDING, Assembly, ObjectGenerator, lid_motion
from unlatch.objects.procedural.building.drawing import Colour, draw_colour, draw_fields, draw_uniform, uniform
from unlatch.objects.procedural.building.finishes import BRASS, CHROME, DARK, darker, draw_contrast, sheet_texture
from unlatch.objects.procedural.building.link_builder import LID_BEHIND, LinkBuilder, PanelBuilder
from unlatch.objects.procedural.building.panel_handles import HandlePlace, PanelHandle, draw_handle
from unlatch.objects.procedural.building.round_lid import RoundLid

_POTS: tuple[Colour, ...] = (
    (0.74, 0.75, 0.77, 1.0),
    (0.72, 0.18, 0.14, 1.0),
    (0.24, 0.25, 0.27, 1.0),
    (0.18, 0.33, 0.50, 1.0),
    (0.90, 0.86, 0.76, 1.0),
)
_EAR_RADIUS_M = 0.0055
_GLASS: Colour = (0.70, 0.79, 0.82, 1.0)


@dataclass(frozen=True)
class PotParameters:
    """The values that vary between pots."""

    radius_m: float
    height_m: Annotated[float, uniform(0.09, 0.15)]
    """Of the rim."""
    wall_m: Annotated[float, uniform(0.004, 0.006)]
    lid_m: Annotated[float, uniform(0.008, 0.010)]
    lid_style: str
    """`glass` with a metal rim, or `solid`."""
    dome_m: Annotated[float, uniform(0.004, 0.008)]
    """Height of one of the two steps of the lid's dome."""
    ear_m: Annotated[float, uniform(0.035, 0.045)]
    """How far a side handle stands out."""
    ear_width_m: Annotated[float, uniform(0.07, 0.09)]
    limit_rad: Annotated[float, uniform(1.5, 1.9)]
    holding: Annotated[float, uniform(HOLDING, 1.6)]
    """Friction of the hinge divided by the moment of gravity."""
    damping_n_m_s: Annotated[float, uniform(0.01, 0.05)]
    density_kg_m3: Annotated[float, uniform(1500.0, 2500.0)]
    colour: Colour
    trim_colour: Colour
    handle_colour: Colour
    handle: PanelHandle


def draw_parameters(rng: np.random.Generator) -> PotParameters:
    """Draws a pot and the handle of its lid."""
    colour = draw_colour(rng, _POTS)
    style = "glass" if rng.random() < 0.5 else "solid"
    ground = _GLASS if style == "glass" else colour
    radius = draw_uniform(rng, 0.09, 0.125)
    return draw_fields(
        PotParameters,
        rng,
        radius_m=radius,
        lid_style=style,
        colour=colour,
        trim_colour=lambda: draw_contrast(rng, (CHROME, DARK, BRASS), colour),
        handle_colour=lambda: draw_contrast(rng, (CHROME, DARK, BRASS), ground),
        handle=lambda: draw_handle(rng, {"knob": 0.65, "bar": 0.35}, length=(0.08, 0.10)),
    )


def build(assembly: Assembly, p: PotParameters) -> None:
    """Builds a pot.

    The root frame is at the middle of the bottom, z up, x away from the hinge. The lid's frame is on the hinge, at the
    height of the rim.
    """
    vessel = RoundLid(p.radius_m, p.wall_m, 0.0, p.height_m, p.lid_m, 0.004)
    body = LinkBuilder("body")
    vessel.add_vessel(body, rgba=p.colour, inside=(0.62, 0.63, 0.64, 1.0))
    vessel.add_hinge(body, rgba=p.trim_colour)
    assembly.handles |= _add_ears(body, p)
    assembly.add_body(body, mass_kg=body.mass_kg(p.density_kg_m3), edge=(p.radius_m - p.wall_m / 2, 0.0, p.height_m))

    lid = PanelBuilder("lid", LID_BEHIND)
    glass = p.lid_style == "glass"
    vessel.add_disc(lid, rgba=CHROME if glass else p.colour)
    rgba = _GLASS if glass else darker(p.colour, 1.08)
    top = vessel.add_dome(lid, shares=(0.88, 0.62), step_m=p.dome_m, rgba=rgba)
    at = (vessel.lid_radius_m, 0.0)
    lid.visual.cylinder("plate", (*at, top + 0.001), axis="out", radius=0.026, length=0.002, rgba=p.handle_colour)
    grip = p.handle.add_to(lid, HandlePlace(at, top), p.handle_colour)
    motion = lid_motion(LID_BEHIND, vessel.hinge, p)
    push = LID_BEHIND.at(2 * vessel.lid_radius_m - 0.014, 0.0, vessel.face_m)
    assembly.add_part(lid, motion, grip, mass_kg=lid.mass_kg(p.density_kg_m3 * 0.6), push=push)
    assembly.set_texture(sheet_texture, p.colour)


generate = ObjectGenerator("pot", draw_parameters, build)


def _add_ears(body: LinkBuilder, p: PotParameters) -> dict[str, FixedHandle]:
    """Adds a loop on either side; the names are as seen from the front."""
    handles = {}
    z, half = 0.72 * p.height_m, p.ear_width_m / 2
    foot = float(np.sqrt(p.radius_m**2 - half**2)) + 0.002
    out = p.radius_m + p.ear_m
    for number, (side_name, sign) in enumerate((("left_handle", -1.0), ("right_handle", 1.0))):
        corners = [(-half, foot), (-half * 0.8, out), (half * 0.8, out), (half, foot)]
        points = [np.array([x, sign * y, z]) for x, y in corners]
        for side in range(3):
            body.rod(f"ear_{number}_{side}", points[side], points[side + 1], radius=_EAR_RADIUS_M, rgba=p.trim_colour)
        for side in (1, 2):
            body.visual.sphere(f"bend_{number}_{side}", points[side], radius=_EAR_RADIUS_M, rgba=p.trim_colour)
        middle, outward = (points[1] + points[2]) / 2, np.array([0.0, sign, 0.0])
        handles[side_name] = FixedHandle("body", middle, np.array([1.0, 0.0, 0.0]), outward, 2 * _EAR_RADIUS_M)
    return handles
