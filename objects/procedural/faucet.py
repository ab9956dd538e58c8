"""A faucet on a piece of worktop: a mixer with a lever, or a spout between two knobs.

Sizes come from catalogues of basin and kitchen faucets: 15 to 32 cm high, spouts reaching 12 to 20 cm, levers of 10
to 13 cm, cross and round handles of 38 to 50 mm.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from unlatch.objects.annotation import HandleType, PartKind
from unlatch.objects.procedural.building.assembly import Assembly, ObjectGenerator, PartMotion
from unlatch.objects.procedural.building.drawing import Colour, draw_fields, draw_uniform, one_of, uniform
from unlatch.objects.procedural.building.finishes import DARK, METALS, darker
from unlatch.objects.procedural.building.link_builder import LID_BEHIND, LinkBuilder, PanelBuilder, PanelFrame, Z
from unlatch.objects.procedural.building.panel_handles import grip_standing_out
from unlatch.objects.procedural.building.textures import TextureKind
from unlatch.objects.procedural.building.turning_knob import TurningKnobParameters, add_turning_knob, draw_turning_knob

_ABOVE = PanelFrame(across=(0.0, -1.0, 0.0), out=Z)
"""A hand comes from above and closes along y; along is +x, out of the front."""
_WOOD: Colour = (0.66, 0.52, 0.38, 1.0)
_TOPS: tuple[Colour, ...] = ((0.86, 0.85, 0.82, 1.0), (0.34, 0.34, 0.35, 1.0), _WOOD)
_RED: Colour = (0.80, 0.16, 0.14, 1.0)
_BLUE: Colour = (0.15, 0.32, 0.78, 1.0)
_DECK_M = 0.02


@dataclass(frozen=True)
class FaucetParameters:
    """The values that vary between faucets."""

    kind: str
    """`lever` or `knobs`."""
    column_m: float
    """Radius of the column."""
    height_m: float
    """Of the lever's axis, or of the spout's bend, over the worktop."""
    reach_m: Annotated[float, uniform(0.12, 0.18)]
    """Of the spout."""
    spout_m: Annotated[float, uniform(0.011, 0.014)]
    """Radius of the spout."""
    lever_m: Annotated[float, uniform(0.10, 0.13)]
    """From the lever's axis to its end."""
    lever_width_m: Annotated[float, uniform(0.016, 0.024)]
    """The fingers close across it."""
    lever_height_m: Annotated[float, uniform(0.010, 0.014)]
    lever_range_rad: Annotated[float, uniform(1.0, 1.5)]
    post_m: Annotated[float, uniform(0.045, 0.065)]
    """Height of the posts of the knobs."""
    spread_m: Annotated[float, uniform(0.10, 0.12)]
    """From the spout to a knob."""
    friction_n_m: Annotated[float, uniform(0.2, 0.6)]
    damping_n_m_s: Annotated[float, uniform(0.002, 0.01)]
    metal: Annotated[Colour, one_of(METALS)]
    top_colour: Annotated[Colour, one_of(_TOPS)]
    knob: TurningKnobParameters | None
    """None with a lever."""


def draw_parameters(rng: np.random.Generator) -> FaucetParameters:
    """Draws a faucet and its knobs."""
    kind = "lever" if rng.random() < 0.5 else "knobs"
    column = draw_uniform(rng, 0.022, 0.027) if kind == "lever" else draw_uniform(rng, 0.014, 0.018)

    def draw_knob() -> TurningKnobParameters | None:
        if kind == "lever":
            return None
        knob = draw_turning_knob(rng, diameter=(0.038, 0.050), depth=(0.030, 0.038))
        return replace(knob, range_rad=round(min(knob.range_rad, 4.2), 4))

    return draw_fields(
        FaucetParameters,
        rng,
        kind=kind,
        column_m=column,
        height_m=lambda: draw_uniform(rng, 0.12, 0.20) if kind == "lever" else draw_uniform(rng, 0.12, 0.18),
        knob=draw_knob,
    )


def build(assembly: Assembly, p: FaucetParameters) -> None:
    """Builds a faucet.

    The root frame is at the middle of the worktop's piece, z up from the bottom, x towards the outlet. The frame of
    a lever or knob lies on its axis, at its lower end.
    """
    body = LinkBuilder("body")
    x = -p.reach_m / 2
    half = (p.spread_m if p.knob else 0.06) + 0.05
    assembly.set_texture(TextureKind.wood if p.top_colour == _WOOD else TextureKind.stone, p.top_colour)
    body.box("worktop", (x - 0.06, -half, 0.0), (-x + 0.06, half, _DECK_M), rgba=p.top_colour)
    body.visual.cylinder("hole", (-x, 0.0, _DECK_M), axis="z", radius=0.022, length=0.001, rgba=DARK)
    body.visual.cylinder(
        "drain", (-x, 0.0, _DECK_M + 0.0005), axis="z", radius=0.016, length=0.001, rgba=darker(p.metal)
    )
    edge = (-x + 0.05, 0.0, _DECK_M)
    if p.knob is None:
        _add_mixer(body, p, x)
        assembly.add_body(body, mass_kg=body.mass_kg(2500.0, digits=3))
        _add_lever(assembly, p, x, edge)
        return
    _add_gooseneck(body, p, x)
    for number, sign in enumerate((-1.0, 1.0)):
        y, colour = sign * p.spread_m, _RED if number == 0 else _BLUE
        top = _DECK_M + p.post_m
        body.cylinder(f"flange_{number}", (x, y, _DECK_M + 0.004), axis="z", radius=0.026, length=0.008, rgba=p.metal)
        body.cylinder(
            f"post_{number}", (x, y, (_DECK_M + top) / 2), axis="z", radius=0.013, length=p.post_m, rgba=p.metal
        )
        body.visual.cylinder(f"band_{number}", (x, y, top - 0.008), axis="z", radius=0.0136, length=0.006, rgba=colour)
    assembly.add_body(body, mass_kg=body.mass_kg(2500.0, digits=3))
    for number, sign in enumerate((-1.0, 1.0)):
        add_turning_knob(
            assembly,
            "knob" if number == 0 else "knob_2",
            replace(p.knob, friction_n_m=p.friction_n_m),
            frame=LID_BEHIND,  # the fingers close from behind and in front: the spout is beside the knob
            parent="body",
            at=(x, sign * p.spread_m, _DECK_M + p.post_m),
            edge=edge,
            rgba=p.metal,
            mark=_RED if number == 0 else _BLUE,
            density_kg_m3=4500.0,
        )


generate = ObjectGenerator("faucet", draw_parameters, build)


def _add_mixer(body: LinkBuilder, p: FaucetParameters, x: float) -> None:
    """Adds a thick column, a spout that rises out of it, and an outlet that points down."""
    top = _DECK_M + p.height_m
    body.cylinder("flange", (x, 0, _DECK_M + 0.004), axis="z", radius=p.column_m + 0.006, length=0.008, rgba=p.metal)
    body.cylinder("column", (x, 0, (_DECK_M + top) / 2), axis="z", radius=p.column_m, length=p.height_m, rgba=p.metal)
    root = np.array([x, 0.0, _DECK_M + 0.52 * p.height_m])
    end = np.array([x + p.reach_m, 0.0, _DECK_M + 0.72 * p.height_m])
    body.rod("spout", root, end, radius=p.spout_m, rgba=p.metal)
    body.sphere("bend", end, radius=p.spout_m, rgba=p.metal)
    mouth = end - np.array([-0.004, 0.0, 0.028])
    body.rod("mouth", end, mouth, radius=p.spout_m, rgba=p.metal)
    body.rod("aerator", mouth, mouth - np.array([0.0, 0.0, 0.005]), radius=p.spout_m * 0.8, rgba=DARK)


def _add_gooseneck(body: LinkBuilder, p: FaucetParameters, x: float) -> None:
    """Adds a slender column that bends over in half a circle."""
    radius, top = p.reach_m / 2, _DECK_M + p.height_m
    body.cylinder("flange", (x, 0, _DECK_M + 0.005), axis="z", radius=0.028, length=0.010, rgba=p.metal)
    body.cylinder("foot", (x, 0, _DECK_M + 0.035), axis="z", radius=p.column_m + 0.003, length=0.06, rgba=p.metal)
    body.cylinder("column", (x, 0, (_DECK_M + top) / 2), axis="z", radius=p.spout_m, length=p.height_m, rgba=p.metal)
    angles = np.linspace(np.pi, 0.0, 11)
    bend = np.stack(
        [x + radius + radius * np.cos(angles), np.zeros(11), top + radius * np.sin(angles)], axis=1
    )  # (11, 3)
    for number in range(10):
        body.rod(f"bend_{number}", bend[number], bend[number + 1], radius=p.spout_m, rgba=p.metal)
        if number:
            body.visual.sphere(f"joint_{number}", bend[number], radius=p.spout_m, rgba=p.metal)
    end = bend[-1] - np.array([0.0, 0.0, 0.035])
    body.rod("mouth", bend[-1], end, radius=p.spout_m, rgba=p.metal)
    body.rod("aerator", end, end - np.array([0.0, 0.0, 0.008]), radius=p.spout_m + 0.002, rgba=darker(p.metal))


def _add_lever(assembly: Assembly, p: FaucetParameters, x: float, edge: tuple[float, float, float]) -> None:
    """Adds a cap on the column with a lever that points over the spout, slightly upwards."""
    lever = PanelBuilder("lever", _ABOVE)
    rise, cap = 0.022, 0.030
    lever.cylinder("cap", (0, 0, 0.002 + cap / 2), axis="out", radius=p.column_m, length=cap, rgba=p.metal)
    end = np.array([p.lever_m, 0.0, cap - p.lever_height_m / 2 + rise])
    root = np.array([0.0, 0.0, cap - p.lever_height_m / 2])
    knee = root + 0.42 * (end - root) + np.array([0.0, 0.0, 0.006])
    lever.rod("neck", root, knee, radius=p.lever_height_m / 2, rgba=p.metal)
    lever.visual.sphere("knee", knee, radius=p.lever_height_m / 2, rgba=p.metal)
    half_h, half_w = p.lever_height_m / 2, p.lever_width_m / 2
    lever.box("handle", (-half_w, knee[0], end[2] - half_h), (half_w, end[0], end[2] + half_h), rgba=p.metal)
    lever.cylinder("tip", (0, end[0], end[2]), axis="out", radius=half_w, length=2 * half_h, rgba=p.metal)
    side = p.column_m * 0.96
    for number, (colour, y) in enumerate(((_RED, 0.003), (_BLUE, -0.003))):
        lower = (y - 0.003, side, cap * 0.35)
        lever.visual.box(f"dot_{number}", lower, (y + 0.003, p.column_m + 0.0008, cap * 0.35 + 0.006), rgba=colour)
    grip = grip_standing_out(
        _ABOVE,
        HandleType.bar,
        at=(0.0, float(end[0]) - 0.016),
        out=float(end[2]),
        size=(p.lever_height_m, p.lever_width_m, 0.03),
    )
    at = (x, 0.0, _DECK_M + p.height_m)
    motion = PartMotion(PartKind.lever, "body", at, Z, p.lever_range_rad, p.friction_n_m, p.damping_n_m_s)
    push = _ABOVE.at(half_w, float(end[0]) - 0.03, float(end[2]))
    assembly.add_part(lever, motion, grip, mass_kg=lever.mass_kg(4500.0), push=push, edge=edge)
