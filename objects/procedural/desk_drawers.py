"""A small chest of drawers that stands on a desk, or inside a larger piece of furniture.

Sizes come from catalogues of mini chests and desk organizers: 18 to 26 cm wide, 15 to 21 cm deep, one to three
drawers of 7 to 10 cm that come out by 8 to 13 cm.
"""

from __future__ import annotations

import numpy as np

from unlatch.objects.procedural.building.assembly import ObjectGenerator
from unlatch.objects.procedural.building.drawing import draw_uniform
from unlatch.objects.procedural.building.finishes import HANDLE_COLOURS, WOODS, draw_contrast
from unlatch.objects.procedural.building.panel_handles import draw_handle
from unlatch.objects.procedural.drawer_cabinet import DrawerCabinetParameters, build


def draw_parameters(rng: np.random.Generator) -> DrawerCabinetParameters:
    """Draws a small chest and the handle of its drawers."""
    wood = WOODS[int(rng.integers(len(WOODS)))]
    width, travel = draw_uniform(rng, 0.18, 0.26), draw_uniform(rng, 0.08, 0.13)
    return DrawerCabinetParameters(
        width_m=width,
        depth_m=round(travel + draw_uniform(rng, 0.07, 0.08), 4),
        feet_m=draw_uniform(rng, 0.006, 0.015),
        foot_style="legs" if rng.random() < 0.5 else "plinth",
        count=int(rng.integers(1, 4)),
        front_height_m=draw_uniform(rng, 0.07, 0.10),
        wall_m=draw_uniform(rng, 0.008, 0.012),
        front_thickness_m=draw_uniform(rng, 0.008, 0.012),
        travel_m=travel,
        friction_n=draw_uniform(rng, 1.0, 2.5),
        damping_n_s_m=draw_uniform(rng, 0.5, 2.0),
        density_kg_m3=draw_uniform(rng, 500.0, 700.0),
        colour=wood[0],
        front_colour=wood[1],
        handle_colour=draw_contrast(rng, HANDLE_COLOURS, wood[1]),
        handle=draw_handle(rng, {"bar": 0.5, "knob": 0.5}, length=(0.06, min(0.10, width - 0.10))),
    )


generate = ObjectGenerator("desk_drawers", draw_parameters, build)
