"""A gate valve in a pipe, turned by a hand wheel that stands on it or faces the front.

Sizes come from catalogues of cast valves for pipes of 1.5 to 3 inches: wheels of 13 to 21 cm with rims of 14 to 22
mm, flanges of 13 to 18 cm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.annotation import HandleType, PartKind
from unlatch.objects.procedural.building.assembly import Assembly, ObjectGenerator, PartMotion
from unlatch.objects.procedural.building.drawing import (
    Colour,
    draw_fields,
    draw_uniform,
    either,
    one_of,
    uniform,
    whole,
)
from unlatch.objects.procedural.building.finishes import CHROME, DARK, darker
from unlatch.objects.procedural.building.link_builder import LinkBuilder, PanelBuilder, PanelFrame, X, Z
from unlatch.objects.procedural.building.panel_handles import grip_standing_out
from unlatch.objects.procedural.building.textures import TextureKind

_SEGMENTS = 24
_WHEELS: tuple[Colour, ...] = (
    (0.74, 0.14, 0.11, 1.0),
    (0.15, 0.34, 0.66, 1.0),
    (0.90, 0.70, 0.12, 1.0),
    (0.14, 0.45, 0.25, 1.0),
)
_CASTS: tuple[Colour, ...] = (
    (0.36, 0.38, 0.40, 1.0),
    (0.20, 0.33, 0.50, 1.0),
    (0.58, 0.59, 0.60, 1.0),
    (0.55, 0.38, 0.22, 1.0),
)
_FRAMES = {"up": PanelFrame(across=X, out=Z), "front": PanelFrame(across=Z, out=X)}
"""The rim is held at its point nearest to the robot, or at its top; the fingers close from the hub outwards."""


@dataclass(frozen=True)
class HandWheelParameters:
    """The values that vary between hand wheels; hub, pipe and flanges are given by their radii."""

    faces: Annotated[str, either("up", "front")]
    """Where the wheel's axis points: `up` or to the `front`."""
    radius_m: Annotated[float, uniform(0.065, 0.10)]
    """To the middle of the rim."""
    rim_m: Annotated[float, uniform(0.014, 0.022)]
    spokes: Annotated[int, whole(3, 6)]
    hub_m: Annotated[float, uniform(0.014, 0.020)]
    dish_m: Annotated[float, uniform(0.0, 0.02)]
    """Distance of the rim from the hub, outwards."""
    pipe_m: float
    flange_m: float
    length_m: Annotated[float, uniform(0.30, 0.42)]
    """Of the pipe."""
    stem_m: Annotated[float, uniform(0.14, 0.20)]
    """From the valve's middle to the wheel."""
    range_rad: Annotated[float, uniform(4.0, 6.2)]
    friction_n_m: Annotated[float, uniform(0.3, 1.2)]
    damping_n_m_s: Annotated[float, uniform(0.01, 0.05)]
    wheel_colour: Annotated[Colour, one_of(_WHEELS)]
    body_colour: Annotated[Colour, one_of(_CASTS)]


def draw_parameters(rng: np.random.Generator) -> HandWheelParameters:
    """Draws a valve with its wheel."""
    pipe = draw_uniform(rng, 0.024, 0.040)
    return draw_fields(
        HandWheelParameters, rng, pipe_m=pipe, flange_m=lambda: round(pipe + draw_uniform(rng, 0.035, 0.05), 4)
    )


def build(assembly: Assembly, p: HandWheelParameters) -> None:
    """Builds a hand wheel.

    The root frame is at the middle of the foot, z up from the bottom, x towards the robot. The wheel's frame lies in
    the middle of its hub.
    """
    frame = _FRAMES[p.faces]
    out = np.asarray(frame.out)
    # a wheel that faces the front must clear the ground
    lift = max(p.flange_m + 0.05, p.radius_m + 0.04 if p.faces == "front" else 0.0)
    middle = np.array([0.0, 0.0, lift])
    body = LinkBuilder("body")
    _add_pipe(body, p, lift)
    _add_bonnet(body, p, middle, out)
    assembly.add_body(body, mass_kg=body.mass_kg(2500.0, digits=3))

    wheel = PanelBuilder("knob", frame)
    head = _add_wheel(wheel, p)
    grip = grip_standing_out(frame, HandleType.bar, at=head[:2], out=head[2], size=(p.rim_m, p.rim_m, 0.05))
    at = (middle + out * p.stem_m).tolist()
    # a valve opens counterclockwise
    motion = PartMotion(PartKind.knob, "body", at, frame.out, p.range_rad, p.friction_n_m, p.damping_n_m_s)
    edge = middle + out * (p.stem_m - 0.02) + np.asarray(frame.across) * 0.011
    push = frame.at(-p.radius_m, 0.0, p.dish_m + p.rim_m / 2)
    assembly.add_part(wheel, motion, grip, mass_kg=wheel.mass_kg(4000.0), push=push, edge=edge.tolist())
    assembly.set_texture(TextureKind.cast_metal, p.body_colour, darker(p.body_colour, 0.75))


generate = ObjectGenerator("hand_wheel", draw_parameters, build)


def _add_wheel(wheel: PanelBuilder, p: HandWheelParameters) -> tuple[float, float, float]:
    """Adds rim, spokes and hub; returns the middle of the rim where it is held (across, along, out) [m]."""
    angles = 2 * np.pi * (np.arange(_SEGMENTS) + 0.5) / _SEGMENTS
    ring = [
        wheel.frame.at(p.radius_m * c, p.radius_m * s, p.dish_m)
        for c, s in zip(np.cos(angles), np.sin(angles), strict=True)
    ]
    for number in range(_SEGMENTS):
        start, end = ring[number - 1], ring[number]
        wheel.rod(f"rim_{number}", start, end, radius=p.rim_m / 2, rgba=p.wheel_colour)
        wheel.visual.sphere(f"round_{number}", end, radius=p.rim_m / 2, rgba=p.wheel_colour)
    for number in range(p.spokes):
        # the rim is held between two spokes
        angle = 2 * np.pi * (number + 0.5) / p.spokes
        direction = wheel.frame.at(float(np.cos(angle)), float(np.sin(angle)), 0.0)
        end = direction * p.radius_m + wheel.frame.at(0.0, 0.0, p.dish_m)
        wheel.rod(f"spoke_{number}", direction * p.hub_m * 0.5, end, radius=p.rim_m * 0.32, rgba=p.wheel_colour)
    wheel.cylinder("hub", (0, 0, 0.004), axis="out", radius=p.hub_m, length=0.024, rgba=p.wheel_colour)
    wheel.visual.cylinder("nut", (0, 0, 0.020), axis="out", radius=p.hub_m * 0.5, length=0.008, rgba=CHROME)
    inner = p.radius_m * float(np.cos(np.pi / _SEGMENTS))
    return inner, 0.0, p.dish_m


def _add_pipe(body: LinkBuilder, p: HandWheelParameters, lift: float) -> None:
    """Adds a pipe on two brackets, with a flange at each end and a pair at the valve."""
    half, seat = p.length_m / 2, 0.075
    body.cylinder("pipe", (0, 0, lift), axis="y", radius=p.pipe_m, length=p.length_m, rgba=p.body_colour)
    for number, sign in enumerate((-1.0, 1.0)):
        end, y = sign * (half - 0.007), sign * (half - 0.05)
        body.cylinder(f"end_{number}", (0, end, lift), axis="y", radius=p.flange_m, length=0.014, rgba=p.body_colour)
        body.visual.cylinder(
            f"bore_{number}", (0, sign * half, lift), axis="y", radius=p.pipe_m * 0.8, length=0.001, rgba=DARK
        )
        body.cylinder(
            f"flange_{number}",
            (0, sign * seat, lift),
            axis="y",
            radius=p.flange_m * 0.9,
            length=0.014,
            rgba=p.body_colour,
        )
        for bolt, angle in enumerate(np.arange(6) * np.pi / 3 + 0.3):
            at = (0.78 * p.flange_m * float(np.cos(angle)), end, lift + 0.78 * p.flange_m * float(np.sin(angle)))
            body.visual.cylinder(f"bolt_{number}_{bolt}", at, axis="y", radius=0.006, length=0.024, rgba=CHROME)
        lower = (-0.02, y - 0.012, 0.012)
        body.box(f"bracket_{number}", lower, (0.02, y + 0.012, lift - p.pipe_m * 0.8), rgba=darker(p.body_colour, 0.75))
        lower = (-0.06, y - 0.02, 0.0)
        body.box(f"foot_{number}", lower, (0.06, y + 0.02, 0.012), rgba=darker(p.body_colour, 0.75))


def _add_bonnet(body: LinkBuilder, p: HandWheelParameters, middle: np.ndarray, out: np.ndarray) -> None:
    """Adds the valve's casing and the stem of the wheel."""
    body.sphere("casing", middle, radius=p.pipe_m * 1.45, rgba=p.body_colour)
    shoulder, neck, end = 0.45 * p.stem_m, 0.78 * p.stem_m, p.stem_m - 0.010
    body.rod("bonnet", middle, middle + out * shoulder, radius=p.pipe_m * 0.95, rgba=p.body_colour)
    rim = middle + out * shoulder
    body.rod("collar", rim, rim + out * 0.012, radius=p.pipe_m * 1.35, rgba=p.body_colour)
    body.rod("gland", rim, middle + out * neck, radius=0.019, rgba=p.body_colour)
    body.rod("stem", middle, middle + out * end, radius=0.009, rgba=CHROME)
