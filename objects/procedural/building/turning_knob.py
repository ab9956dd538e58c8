"""Knobs that turn: a round one or one with a blade, with a mark that shows its angle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.annotation import HandleType, PartKind
from unlatch.objects.procedural.building.assembly import Assembly, PartMotion
from unlatch.objects.procedural.building.drawing import Colour, draw_fields, draw_uniform, either, uniform
from unlatch.objects.procedural.building.finishes import MARK
from unlatch.objects.procedural.building.link_builder import PanelBuilder, PanelFrame
from unlatch.objects.procedural.building.panel_handles import grip_standing_out

_GAP_M = 0.002
_SKIRT_M = 0.004


@dataclass(frozen=True)
class TurningKnobParameters:
    """A knob on an axis normal to its panel."""

    style: Annotated[str, either("blade", "round", 0.65)]
    """`round`, or `blade`: a bar across a disc."""
    diameter_m: float
    depth_m: float
    """How far it stands out of the panel."""
    blade_m: Annotated[float, uniform(0.010, 0.014)]
    range_rad: Annotated[float, uniform(3.6, 5.0)]
    friction_n_m: Annotated[float, uniform(0.2, 0.24)]
    damping_n_m_s: Annotated[float, uniform(0.0002, 0.001)]

    @property
    def grip_m(self) -> float:
        """Across, where the fingers close [m]."""
        return self.blade_m if self.style == "blade" else self.diameter_m

    def record(self) -> dict[str, float | str]:
        """Returns the values that objects record."""
        return {"style": self.style, "diameter_m": self.diameter_m}


def draw_turning_knob(
    rng: np.random.Generator, *, diameter: tuple[float, float], depth: tuple[float, float] = (0.030, 0.036)
) -> TurningKnobParameters:
    """Draws a knob from a range of diameters and one of depths [m]."""
    return draw_fields(
        TurningKnobParameters,
        rng,
        diameter_m=lambda: draw_uniform(rng, *diameter),
        depth_m=lambda: draw_uniform(rng, *depth),
    )


def add_turning_knob(
    assembly: Assembly,
    name: str,
    knob: TurningKnobParameters,
    *,
    frame: PanelFrame,
    parent: str,
    at: Sequence[float],
    edge: Sequence[float],
    rgba: Colour,
    mark: Colour = MARK,
    density_kg_m3: float = 1400.0,
) -> None:
    """Adds a knob that opens clockwise, as seen by the hand.

    Args:
        assembly: The object.
        name: Name of the part.
        knob: The knob.
        frame: Its axis is `frame.out`; the fingers close across.
        parent: Link that carries the knob.
        at: (3,) where the axis meets the panel, in the frame of the parent [m].
        edge: (3,) see `Assembly.add_part`.
        rgba: Colour of the knob.
        mark: Colour of the mark on it.
        density_kg_m3: Density [kg/m^3].
    """
    builder = PanelBuilder(name, frame)
    radius, depth = knob.diameter_m / 2, knob.depth_m
    skirt = _GAP_M + _SKIRT_M
    middle, wide = (_GAP_M + skirt) / 2, radius if knob.style == "blade" else radius * 1.12
    builder.cylinder("skirt", (0, 0, middle), axis="out", radius=wide, length=_SKIRT_M, rgba=rgba)
    if knob.style == "blade":
        half = knob.blade_m / 2
        builder.box("blade", (-half, -radius * 0.96, skirt), (half, radius * 0.96, depth), rgba=rgba)
        lower = (-0.0015, -radius * 0.9, depth)
    else:
        middle = (skirt + depth) / 2
        builder.cylinder("grip", (0, 0, middle), axis="out", radius=radius, length=depth - skirt, rgba=rgba)
        lower = (-0.0018, -radius * 0.9, depth)
    builder.visual.box("mark", lower, (-lower[0], -radius * 0.2, depth + 0.002), rgba=mark)
    axis = np.abs(np.asarray(frame.out))
    clockwise = -float(np.sign(np.asarray(frame.out) @ axis))
    held_depth = min(0.010, (depth - skirt) / 2)
    grip = grip_standing_out(
        frame,
        HandleType.knob,
        at=(0.0, 0.0),
        out=depth - held_depth,
        size=(depth - skirt, knob.grip_m, knob.diameter_m),
    )
    opens = clockwise * knob.range_rad
    motion = PartMotion(PartKind.knob, parent, at, axis.tolist(), opens, knob.friction_n_m, knob.damping_n_m_s)
    push = frame.at(0.0, radius * 0.5, depth)
    assembly.add_part(builder, motion, grip, mass_kg=builder.mass_kg(density_kg_m3, digits=5), push=push, edge=edge)
