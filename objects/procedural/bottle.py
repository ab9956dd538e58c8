"""A bottle or a jar with a screw cap.

Caps have the usual sizes of catalogues of bottles (GPI: 28 and 38 mm with 1.5 or 2 turns of thread for bottles, 48 to
58 mm with 1 turn for jars), in the tall form that a hand can hold, 22 to 30 mm. Bodies are those of bottles of 0.3 to 1
l, 66 to 90 mm across, and of jars of 0.25 to 0.7 l.

Note:
    The cap turns in place: a joint of a URDF does not rise as a thread does. The bottle is fixed to the ground, as all
    objects are here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.annotation import HandleType, PartKind
from unlatch.objects.procedural.building.assembly import Assembly, ObjectGenerator, PartMotion
from unlatch.objects.procedural.building.drawing import Colour, draw_colour, draw_fields, draw_uniform, uniform
from unlatch.objects.procedural.building.finishes import darker, draw_contrast, mark_colour
from unlatch.objects.procedural.building.link_builder import LID_BEHIND, LinkBuilder, PanelBuilder, Z
from unlatch.objects.procedural.building.panel_handles import grip_standing_out
from unlatch.simcore.geometry import Pose

_GAP_M = 0.002
_RIDGES = 24
_SHOULDERS = 10
_HELD_M = 0.010
"""Depth of the grip below the top of the cap."""
_BODIES: tuple[Colour, ...] = (
    (0.32, 0.52, 0.36, 1.0),
    (0.46, 0.28, 0.14, 1.0),
    (0.72, 0.84, 0.88, 1.0),
    (0.90, 0.90, 0.88, 1.0),
    (0.84, 0.42, 0.16, 1.0),
    (0.55, 0.14, 0.16, 1.0),
)
"""Green and brown glass, clear, milk, juice, jam."""
_CAPS: tuple[Colour, ...] = (
    (0.88, 0.88, 0.86, 1.0),
    (0.16, 0.36, 0.68, 1.0),
    (0.75, 0.16, 0.14, 1.0),
    (0.84, 0.66, 0.26, 1.0),
    (0.14, 0.14, 0.15, 1.0),
)
_LABELS: tuple[Colour, ...] = (
    (0.95, 0.94, 0.89, 1.0),
    (0.86, 0.24, 0.20, 1.0),
    (0.20, 0.42, 0.62, 1.0),
    (0.93, 0.76, 0.28, 1.0),
    (0.24, 0.46, 0.30, 1.0),
)


@dataclass(frozen=True)
class BottleParameters:
    """The values that vary between bottles."""

    kind: str
    """`bottle` or `jar`."""
    radius_m: float
    height_m: float
    """Of the straight body."""
    shoulder_m: float
    neck_m: float
    """Free height of the neck under the cap."""
    cap_m: float
    """Diameter of the cap."""
    cap_height_m: Annotated[float, uniform(0.024, 0.030)]
    label_share: Annotated[float, uniform(0.45, 0.65)]
    """Of the body's height."""
    range_rad: float
    friction_n_m: Annotated[float, uniform(0.2, 0.45)]
    damping_n_m_s: Annotated[float, uniform(0.0002, 0.0005)]
    density_kg_m3: Annotated[float, uniform(1000.0, 1300.0)]
    colour: Colour
    cap_colour: Colour
    label_colour: Colour
    stripe_colour: Colour


def draw_parameters(rng: np.random.Generator) -> BottleParameters:
    """Draws a bottle or a jar."""
    jar = rng.random() < 0.4
    colour, label = draw_colour(rng, _BODIES), draw_colour(rng, _LABELS)
    cap = draw_uniform(rng, 0.048, 0.058) if jar else draw_uniform(rng, 0.030, 0.042)
    return draw_fields(
        BottleParameters,
        rng,
        kind="jar" if jar else "bottle",
        radius_m=lambda: (
            round(cap / 2 + draw_uniform(rng, 0.008, 0.016), 4) if jar else draw_uniform(rng, 0.033, 0.045)
        ),
        height_m=lambda: draw_uniform(rng, 0.075, 0.12) if jar else draw_uniform(rng, 0.11, 0.17),
        shoulder_m=lambda: draw_uniform(rng, 0.008, 0.014) if jar else draw_uniform(rng, 0.035, 0.055),
        neck_m=lambda: draw_uniform(rng, 0.006, 0.010) if jar else draw_uniform(rng, 0.010, 0.025),
        cap_m=cap,
        range_rad=lambda: draw_uniform(rng, 4.7, 6.3) if jar else draw_uniform(rng, 7.8, 12.6),
        colour=colour,
        cap_colour=lambda: draw_contrast(rng, _CAPS, colour),
        label_colour=label,
        stripe_colour=lambda: draw_contrast(rng, _LABELS, label),
    )


def build(assembly: Assembly, p: BottleParameters) -> None:
    """Builds a bottle.

    The root frame is at the middle of the bottom, z up, x out of the front, which has the label. The cap's frame lies
    on its axis, at its lower edge.
    """
    body = LinkBuilder("body")
    seat = _add_body(body, p)
    assembly.add_body(body, mass_kg=body.mass_kg(p.density_kg_m3), edge=(p.radius_m, 0.0, p.height_m))

    cap, radius = PanelBuilder("cap", LID_BEHIND), p.cap_m / 2
    top = _GAP_M + p.cap_height_m
    cap.cylinder(
        "shell", (0, 0, (_GAP_M + top) / 2), axis="out", radius=radius, length=p.cap_height_m, rgba=p.cap_colour
    )
    ridge, low, high = darker(p.cap_colour, 0.78), _GAP_M + 0.004, top - 0.004
    for number in range(_RIDGES):
        angle = 2 * np.pi * number / _RIDGES
        c, s = float(np.cos(angle)), float(np.sin(angle))
        R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        pose = Pose(R, np.round([c * radius, s * radius, (low + high) / 2], 7))
        cap.visual.turned_box(f"ridge_{number}", (0.0012, 0.0022, high - low), pose, rgba=ridge)
    centre = (0, 0, top + 0.0004)
    cap.visual.cylinder("top", centre, axis="out", radius=radius * 0.86, length=0.0008, rgba=darker(p.cap_colour, 0.9))
    mark = mark_colour(p.cap_colour)
    lower, upper = (radius * 0.3, -0.002, top + 0.0008), (radius * 0.78, 0.002, top + 0.0014)
    cap.visual.box("mark", lower, upper, rgba=mark)
    depth = min(_HELD_M, p.cap_height_m / 2)
    grip = grip_standing_out(
        LID_BEHIND, HandleType.knob, at=(0.0, 0.0), out=top - depth, size=(p.cap_height_m, p.cap_m, p.cap_m)
    )
    # counterclockwise, as a right-handed thread opens
    motion = PartMotion(PartKind.knob, "body", (0.0, 0.0, seat), Z, p.range_rad, p.friction_n_m, p.damping_n_m_s)
    push = LID_BEHIND.at(radius * 0.5, 0.0, top)
    assembly.add_part(cap, motion, grip, mass_kg=cap.mass_kg(900.0, digits=5), push=push)


generate = ObjectGenerator("bottle", draw_parameters, build)


def _add_body(body: LinkBuilder, p: BottleParameters) -> float:
    """Adds body, shoulder, neck and label; returns the height of the neck's upper end [m]."""
    radius, neck = p.radius_m, p.cap_m / 2 - 0.003
    body.cylinder("heel", (0, 0, 0.002), axis="z", radius=radius - 0.003, length=0.004, rgba=darker(p.colour, 0.85))
    body.cylinder(
        "body", (0, 0, (0.004 + p.height_m) / 2), axis="z", radius=radius, length=p.height_m - 0.004, rgba=p.colour
    )
    for number in range(_SHOULDERS):
        # half a cosine wave from the side of the body to that of the neck
        share = (number + 0.5) / _SHOULDERS
        wide = neck + (radius - neck) * (1 + float(np.cos(np.pi * share))) / 2
        low, length = p.height_m + p.shoulder_m * number / _SHOULDERS, p.shoulder_m / _SHOULDERS
        body.cylinder(
            f"shoulder_{number}", (0, 0, low + length / 2), axis="z", radius=wide, length=length, rgba=p.colour
        )
    foot = p.height_m + p.shoulder_m
    seat = foot + p.neck_m
    body.cylinder("neck", (0, 0, (foot + seat) / 2), axis="z", radius=neck, length=p.neck_m, rgba=p.colour)
    body.cylinder("ring", (0, 0, seat - 0.0015), axis="z", radius=neck + 0.002, length=0.003, rgba=p.cap_colour)
    half, middle = p.label_share * p.height_m / 2, 0.52 * p.height_m
    for name, wide, low, high, rgba in (
        ("label", 0.0006, middle - half, middle + half, p.label_colour),
        ("stripe", 0.0018, middle + 0.35 * half, middle + 0.62 * half, p.stripe_colour),
        ("thin_stripe", 0.0018, middle - 0.86 * half, middle - 0.78 * half, p.stripe_colour),
    ):
        body.visual.cylinder(
            name, (0, 0, (low + high) / 2), axis="z", radius=radius + wide, length=high - low, rgba=rgba
        )
    return seat
