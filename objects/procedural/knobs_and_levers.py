"""Knobs, levers and wheels: the screw cap of a bottle, a faucet, the hand wheel of a valve, the lever of a toaster.

Sizes come from catalogues. Caps of bottles: 28 and 38 mm with 1.5 or 2 turns of thread, of jars: 48 to 58 mm with 1
turn (GPI), in the tall form that a hand can hold. Faucets: 15 to 32 cm high, levers of 10 to 13 cm, knobs of 38 to 50
mm. Valves for pipes of 1.5 to 3 inches: wheels of 13 to 21 cm with rims of 14 to 22 mm. Toasters for two and four
slices: 27 to 36 cm long, 16 to 20 cm wide (four slots side by side: 27 to 31 cm), 17 to 21 cm high.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unlatch.objects.annotation import HandleType, PartKind
from unlatch.objects.mechanisms import PressAndTurn, Spring
from unlatch.objects.procedural.assembly import Assembly, ObjectGenerator, PartMotion, slide_motion
from unlatch.objects.procedural.colours import (
    APPLIANCES,
    BOTTLES,
    CHROME,
    DARK,
    METALS,
    TOAST,
    TOAST_CRUST,
    TextureKind,
    contrast,
    darker,
    mark_colour,
    sheet_texture,
)
from unlatch.objects.procedural.doors import numbered
from unlatch.objects.procedural.fittings import TurningKnob, add_feet, add_turning_knob, turning_knob
from unlatch.objects.procedural.handles import grip_standing_out
from unlatch.objects.procedural.links import LID_BEHIND, LinkBuilder, PanelBuilder, PanelFrame, X, Z
from unlatch.objects.procedural.parameters import (
    Colour,
    Drawn,
    by,
    draw_uniform,
    either,
    one_of,
    palette,
    uniform,
    whole,
)
from unlatch.simcore.geometry import Pose

_GAP_M = 0.002
"""Gap between a cap and the neck under it."""

# A bottle or a jar. Its cap turns in place: a joint of a URDF does not rise as a thread does.

_RIDGES = 24
_SHOULDERS = 10
_HELD_M = 0.010
"""Depth of the grip below the top of the cap."""
_CAPS = palette("88 88 86", "16 36 68", "75 16 14", "84 66 26", "14 14 15")
_LABELS = palette("95 94 89", "86 24 20", "20 42 62", "93 76 28", "24 46 30")
_BOTTLE = {
    "kind": either("jar", "bottle", 0.4),
    "colour": one_of(BOTTLES),
    "label_colour": one_of(_LABELS),
    "cap_m": by("kind", {"jar": uniform(0.048, 0.058), "bottle": uniform(0.030, 0.042)}),  # diameter of the cap
    "radius_m": lambda rng, p: (
        round(p.cap_m / 2 + draw_uniform(rng, 0.008, 0.016), 4) if p.kind == "jar" else draw_uniform(rng, 0.033, 0.045)
    ),
    "height_m": by("kind", {"jar": uniform(0.075, 0.12), "bottle": uniform(0.11, 0.17)}),  # of the straight body
    "shoulder_m": by("kind", {"jar": uniform(0.008, 0.014), "bottle": uniform(0.035, 0.055)}),
    "neck_m": by("kind", {"jar": uniform(0.006, 0.010), "bottle": uniform(0.010, 0.025)}),  # free, under the cap
    "cap_height_m": uniform(0.024, 0.030),
    "label_share": uniform(0.45, 0.65),  # of the body's height
    "range_rad": by("kind", {"jar": uniform(4.7, 6.3), "bottle": uniform(7.8, 12.6)}),
    "friction_n_m": uniform(0.2, 0.45),
    "damping_n_m_s": uniform(0.0002, 0.0005),
    "density_kg_m3": uniform(1000.0, 1300.0),
    "cap_colour": contrast(_CAPS, "colour"),
    "stripe_colour": contrast(_LABELS, "label_colour"),
}


def _build_bottle(assembly: Assembly, p: Drawn) -> None:
    """Builds a bottle.

    The root frame is at the middle of the bottom, z up, x out of the front, which has the label. The cap's frame lies
    on its axis, at its lower edge.
    """
    body = LinkBuilder("body")
    seat = _add_bottle(body, p)
    assembly.add_body(body, mass_kg=body.mass_kg(p.density_kg_m3), edge=(p.radius_m, 0.0, p.height_m))
    _add_cap(assembly, p, "body", seat)


def _add_cap(assembly: Assembly, p: Drawn, parent: str, seat: float, *, edge: Sequence[float] | None = None) -> None:
    """Adds the screw cap; its lower edge is at the height `seat` in the frame of its parent [m]."""
    cap, radius = PanelBuilder("cap", LID_BEHIND), p.cap_m / 2
    top = _GAP_M + p.cap_height_m
    middle = (0, 0, (_GAP_M + top) / 2)
    cap.cylinder("shell", middle, axis="out", radius=radius, length=p.cap_height_m, rgba=p.cap_colour)
    ridge, low, high = darker(p.cap_colour, 0.78), _GAP_M + 0.004, top - 0.004
    for number in range(_RIDGES):
        angle = 2 * np.pi * number / _RIDGES
        c, s = float(np.cos(angle)), float(np.sin(angle))
        R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        pose = Pose(R, np.round([c * radius, s * radius, (low + high) / 2], 7))
        cap.visual.turned_box(f"ridge_{number}", (0.0012, 0.0022, high - low), pose, rgba=ridge)
    centre = (0, 0, top + 0.0004)
    cap.visual.cylinder("top", centre, axis="out", radius=radius * 0.86, length=0.0008, rgba=darker(p.cap_colour, 0.9))
    lower, upper = (radius * 0.3, -0.002, top + 0.0008), (radius * 0.78, 0.002, top + 0.0014)
    cap.visual.box("mark", lower, upper, rgba=mark_colour(p.cap_colour))
    out, size = top - min(_HELD_M, p.cap_height_m / 2), (p.cap_height_m, p.cap_m, p.cap_m)
    grip = grip_standing_out(LID_BEHIND, HandleType.knob, at=(0.0, 0.0), out=out, size=size)
    # counterclockwise, as a right-handed thread opens
    motion = PartMotion(PartKind.knob, parent, (0.0, 0.0, seat), Z, p.range_rad, p.friction_n_m, p.damping_n_m_s)
    push = LID_BEHIND.at(radius * 0.5, 0.0, top)
    assembly.add_part(cap, motion, grip, mass_kg=cap.mass_kg(900.0, digits=5), push=push, edge=edge)


def _add_bottle(body: LinkBuilder, p: Drawn) -> float:
    """Adds body, shoulder, neck and label; returns the height of the neck's upper end [m]."""
    radius, neck = p.radius_m, p.cap_m / 2 - 0.003
    body.cylinder("heel", (0, 0, 0.002), axis="z", radius=radius - 0.003, length=0.004, rgba=darker(p.colour, 0.85))
    middle = (0, 0, (0.004 + p.height_m) / 2)
    body.cylinder("body", middle, axis="z", radius=radius, length=p.height_m - 0.004, rgba=p.colour)
    for number in range(_SHOULDERS):
        # half a cosine wave from the side of the body to that of the neck
        share = (number + 0.5) / _SHOULDERS
        wide = neck + (radius - neck) * (1 + float(np.cos(np.pi * share))) / 2
        low, length = p.height_m + p.shoulder_m * number / _SHOULDERS, p.shoulder_m / _SHOULDERS
        middle = (0, 0, low + length / 2)
        body.cylinder(f"shoulder_{number}", middle, axis="z", radius=wide, length=length, rgba=p.colour)
    foot = p.height_m + p.shoulder_m
    seat = foot + p.neck_m
    body.cylinder("neck", (0, 0, (foot + seat) / 2), axis="z", radius=neck, length=p.neck_m, rgba=p.colour)
    ring = neck if hasattr(p, "press_m") else neck + 0.002  # fingers that go down with a cap pass it
    body.cylinder("ring", (0, 0, seat - 0.0015), axis="z", radius=ring, length=0.003, rgba=p.cap_colour)
    half, waist = p.label_share * p.height_m / 2, 0.52 * p.height_m
    for name, wide, low, high, rgba in (
        ("label", 0.0006, waist - half, waist + half, p.label_colour),
        ("stripe", 0.0018, waist + 0.35 * half, waist + 0.62 * half, p.stripe_colour),
        ("thin_stripe", 0.0018, waist - 0.86 * half, waist - 0.78 * half, p.stripe_colour),
    ):
        middle = (0, 0, (low + high) / 2)
        body.visual.cylinder(name, middle, axis="z", radius=radius + wide, length=high - low, rgba=rgba)
    return seat


bottle = ObjectGenerator("bottle", _BOTTLE, _build_bottle)

# A childproof bottle: its cap turns only while it is pressed down.

_CHILDPROOF_BOTTLE = {
    # longer than of other bottles: the fingertips go down with the cap
    "neck_m": by("kind", {"jar": uniform(0.020, 0.024), "bottle": uniform(0.024, 0.032)}),
    "press_m": uniform(0.0025, 0.0035),  # how far the cap goes down
    "press_n": uniform(5.0, 8.0),  # at rest, half as much again when it is pressed: our own choice
}


def _build_childproof_bottle(assembly: Assembly, p: Drawn) -> None:
    """Builds a bottle whose cap turns on a sprung ring, which slides down the neck."""
    body = LinkBuilder("body")
    seat = _add_bottle(body, p) + p.press_m + 0.0015
    assembly.add_body(body, mass_kg=body.mass_kg(p.density_kg_m3), edge=(p.radius_m, 0.0, p.height_m))
    ring, radius = LinkBuilder("ring"), p.cap_m / 2
    ring.cylinder("collar", (0, 0, -0.0008), axis="z", radius=0.5 * radius, length=0.001, rgba=p.cap_colour)
    slide = PartMotion(PartKind.slider, "body", (0.0, 0.0, seat), Z, -p.press_m, friction=1.0, damping=5.0)
    joint = assembly.add_link(ring, slide, mass_kg=ring.mass_kg(4000.0, digits=6))
    _add_cap(assembly, p, "ring", 0.0, edge=(0.5 * radius, 0.0, -0.0008))
    stiffness = 0.5 * p.press_n / p.press_m
    rest = round(p.press_n / stiffness, 6)
    assembly.mechanisms["cap_spring"] = Spring(joint.name, rest=rest, stiffness=round(stiffness, 3))
    cap = assembly.parts["cap"].joint
    assembly.mechanisms["lugs"] = PressAndTurn(cap, joint.name, at=round(0.6 * p.press_m, 6))


childproof_bottle = bottle.variant("childproof_bottle", _CHILDPROOF_BOTTLE, _build_childproof_bottle)

# A faucet on a piece of worktop: a mixer with a lever, or a spout between two knobs.

_ABOVE = PanelFrame(across=(0.0, -1.0, 0.0), out=Z)
"""A hand comes from above and closes along y; along is +x, out of the front."""
_WOOD: Colour = (0.66, 0.52, 0.38, 1.0)
_TOPS: tuple[Colour, ...] = ((0.86, 0.85, 0.82, 1.0), (0.34, 0.34, 0.35, 1.0), _WOOD)
_RED: Colour = (0.80, 0.16, 0.14, 1.0)
_BLUE: Colour = (0.15, 0.32, 0.78, 1.0)
_DECK_M = 0.02
_draw_faucet_knob = turning_knob(diameter=(0.038, 0.050), depth=(0.030, 0.038))


def _draw_knob(rng: np.random.Generator, p: Drawn) -> TurningKnob | None:
    """Draws the knobs; None with a lever."""
    if p.kind == "lever":
        return None
    knob: TurningKnob = _draw_faucet_knob(rng, p)
    return replace(knob, range_rad=round(min(knob.range_rad, 4.2), 4))


_FAUCET = {
    "kind": either("lever", "knobs"),
    "column_m": by("kind", {"lever": uniform(0.022, 0.027), "knobs": uniform(0.014, 0.018)}),  # radius of the column
    # of the lever's axis, or of the spout's bend, over the worktop
    "height_m": by("kind", {"lever": uniform(0.12, 0.20), "knobs": uniform(0.12, 0.18)}),
    "reach_m": uniform(0.12, 0.18),  # of the spout
    "spout_m": uniform(0.011, 0.014),  # radius of the spout
    "lever_m": uniform(0.10, 0.13),  # from the lever's axis to its end
    "lever_width_m": uniform(0.016, 0.024),  # the fingers close across it
    "lever_height_m": uniform(0.010, 0.014),
    "lever_range_rad": uniform(1.0, 1.5),
    "post_m": uniform(0.045, 0.065),  # height of the posts of the knobs
    "spread_m": uniform(0.10, 0.12),  # from the spout to a knob
    "friction_n_m": uniform(0.2, 0.6),
    "damping_n_m_s": uniform(0.002, 0.01),
    "metal": one_of(METALS),
    "top_colour": one_of(_TOPS),
    "knob": _draw_knob,
}


def _build_faucet(assembly: Assembly, p: Drawn) -> None:
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
    drain = (-x, 0.0, _DECK_M + 0.0005)
    body.visual.cylinder("drain", drain, axis="z", radius=0.016, length=0.001, rgba=darker(p.metal))
    edge = (-x + 0.05, 0.0, _DECK_M)
    if p.knob is None:
        _add_mixer(body, p, x)
        assembly.add_body(body, mass_kg=body.mass_kg(2500.0, digits=3))
        _add_mixer_lever(assembly, p, x, edge)
        return
    _add_gooseneck(body, p, x)
    for number, sign in enumerate((-1.0, 1.0)):
        y, colour = sign * p.spread_m, _RED if number == 0 else _BLUE
        top = _DECK_M + p.post_m
        body.cylinder(f"flange_{number}", (x, y, _DECK_M + 0.004), axis="z", radius=0.026, length=0.008, rgba=p.metal)
        post = (x, y, (_DECK_M + top) / 2)
        body.cylinder(f"post_{number}", post, axis="z", radius=0.013, length=p.post_m, rgba=p.metal)
        body.visual.cylinder(f"band_{number}", (x, y, top - 0.008), axis="z", radius=0.0136, length=0.006, rgba=colour)
    assembly.add_body(body, mass_kg=body.mass_kg(2500.0, digits=3))
    for number, sign in enumerate((-1.0, 1.0)):
        add_turning_knob(
            assembly,
            numbered("knob", number),
            replace(p.knob, friction_n_m=p.friction_n_m),
            frame=LID_BEHIND,  # the fingers close from behind and in front: the spout is beside the knob
            parent="body",
            at=(x, sign * p.spread_m, _DECK_M + p.post_m),
            edge=edge,
            rgba=p.metal,
            mark=_RED if number == 0 else _BLUE,
            density_kg_m3=4500.0,
        )


def _add_mixer(body: LinkBuilder, p: Drawn, x: float) -> None:
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


def _add_gooseneck(body: LinkBuilder, p: Drawn, x: float) -> None:
    """Adds a slender column that bends over in half a circle."""
    radius, top = p.reach_m / 2, _DECK_M + p.height_m
    body.cylinder("flange", (x, 0, _DECK_M + 0.005), axis="z", radius=0.028, length=0.010, rgba=p.metal)
    body.cylinder("foot", (x, 0, _DECK_M + 0.035), axis="z", radius=p.column_m + 0.003, length=0.06, rgba=p.metal)
    body.cylinder("column", (x, 0, (_DECK_M + top) / 2), axis="z", radius=p.spout_m, length=p.height_m, rgba=p.metal)
    angles = np.linspace(np.pi, 0.0, 11)
    across, up = x + radius + radius * np.cos(angles), top + radius * np.sin(angles)
    bend = np.stack([across, np.zeros(11), up], axis=1)  # (11, 3)
    for number in range(10):
        body.rod(f"bend_{number}", bend[number], bend[number + 1], radius=p.spout_m, rgba=p.metal)
        if number:
            body.visual.sphere(f"joint_{number}", bend[number], radius=p.spout_m, rgba=p.metal)
    end = bend[-1] - np.array([0.0, 0.0, 0.035])
    body.rod("mouth", bend[-1], end, radius=p.spout_m, rgba=p.metal)
    body.rod("aerator", end, end - np.array([0.0, 0.0, 0.008]), radius=p.spout_m + 0.002, rgba=darker(p.metal))


def _add_mixer_lever(assembly: Assembly, p: Drawn, x: float, edge: tuple[float, float, float]) -> None:
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
    held, size = (0.0, float(end[0]) - 0.016), (p.lever_height_m, p.lever_width_m, 0.03)
    grip = grip_standing_out(_ABOVE, HandleType.bar, at=held, out=float(end[2]), size=size)
    at = (x, 0.0, _DECK_M + p.height_m)
    motion = PartMotion(PartKind.lever, "body", at, Z, p.lever_range_rad, p.friction_n_m, p.damping_n_m_s)
    push = _ABOVE.at(half_w, float(end[0]) - 0.03, float(end[2]))
    assembly.add_part(lever, motion, grip, mass_kg=lever.mass_kg(4500.0), push=push, edge=edge)


faucet = ObjectGenerator("faucet", _FAUCET, _build_faucet)

# A gate valve in a pipe, turned by a hand wheel that stands on it or faces the front.

_SEGMENTS = 24
_WHEEL_FRAMES = {"up": PanelFrame(across=X, out=Z), "front": PanelFrame(across=Z, out=X)}
"""The rim is held at its point nearest to the robot, or at its top; the fingers close from the hub outwards."""
_HAND_WHEEL = {
    "pipe_m": uniform(0.024, 0.040),  # hub, pipe and flanges are given by their radii
    "faces": either("up", "front"),  # where the wheel's axis points
    "radius_m": uniform(0.065, 0.10),  # to the middle of the rim
    "rim_m": uniform(0.014, 0.022),
    "spokes": whole(3, 6),
    "hub_m": uniform(0.014, 0.020),
    "dish_m": uniform(0.0, 0.02),  # distance of the rim from the hub, outwards
    "flange_m": lambda rng, p: round(p.pipe_m + draw_uniform(rng, 0.035, 0.05), 4),
    "length_m": uniform(0.30, 0.42),  # of the pipe
    "stem_m": uniform(0.14, 0.20),  # from the valve's middle to the wheel
    "range_rad": uniform(4.0, 6.2),
    "friction_n_m": uniform(0.3, 1.2),
    "damping_n_m_s": uniform(0.01, 0.05),
    "wheel_colour": one_of(palette("74 14 11", "15 34 66", "90 70 12", "14 45 25")),
    "body_colour": one_of(palette("36 38 40", "20 33 50", "58 59 60", "55 38 22")),
}


def _build_hand_wheel(assembly: Assembly, p: Drawn) -> None:
    """Builds a hand wheel.

    The root frame is at the middle of the foot, z up from the bottom, x towards the robot. The wheel's frame lies in
    the middle of its hub.
    """
    frame = _WHEEL_FRAMES[p.faces]
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


def _add_wheel(wheel: PanelBuilder, p: Drawn) -> tuple[float, float, float]:
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


def _add_pipe(body: LinkBuilder, p: Drawn, lift: float) -> None:
    """Adds a pipe on two brackets, with a flange at each end and a pair at the valve."""
    half, seat = p.length_m / 2, 0.075
    body.cylinder("pipe", (0, 0, lift), axis="y", radius=p.pipe_m, length=p.length_m, rgba=p.body_colour)
    for number, sign in enumerate((-1.0, 1.0)):
        end, y = sign * (half - 0.007), sign * (half - 0.05)
        body.cylinder(f"end_{number}", (0, end, lift), axis="y", radius=p.flange_m, length=0.014, rgba=p.body_colour)
        bore, flange = (0, sign * half, lift), (0, sign * seat, lift)
        body.visual.cylinder(f"bore_{number}", bore, axis="y", radius=p.pipe_m * 0.8, length=0.001, rgba=DARK)
        wide = p.flange_m * 0.9
        body.cylinder(f"flange_{number}", flange, axis="y", radius=wide, length=0.014, rgba=p.body_colour)
        for bolt, angle in enumerate(np.arange(6) * np.pi / 3 + 0.3):
            at = (0.78 * p.flange_m * float(np.cos(angle)), end, lift + 0.78 * p.flange_m * float(np.sin(angle)))
            body.visual.cylinder(f"bolt_{number}_{bolt}", at, axis="y", radius=0.006, length=0.024, rgba=CHROME)
        lower = (-0.02, y - 0.012, 0.012)
        body.box(f"bracket_{number}", lower, (0.02, y + 0.012, lift - p.pipe_m * 0.8), rgba=darker(p.body_colour, 0.75))
        lower = (-0.06, y - 0.02, 0.0)
        body.box(f"foot_{number}", lower, (0.06, y + 0.02, 0.012), rgba=darker(p.body_colour, 0.75))


def _add_bonnet(body: LinkBuilder, p: Drawn, middle: np.ndarray, out: np.ndarray) -> None:
    """Adds the valve's casing and the stem of the wheel."""
    body.sphere("casing", middle, radius=p.pipe_m * 1.45, rgba=p.body_colour)
    shoulder, neck, end = 0.45 * p.stem_m, 0.78 * p.stem_m, p.stem_m - 0.010
    body.rod("bonnet", middle, middle + out * shoulder, radius=p.pipe_m * 0.95, rgba=p.body_colour)
    rim = middle + out * shoulder
    body.rod("collar", rim, rim + out * 0.012, radius=p.pipe_m * 1.35, rgba=p.body_colour)
    body.rod("gland", rim, middle + out * neck, radius=0.019, rgba=p.body_colour)
    body.rod("stem", middle, middle + out * end, radius=0.009, rgba=CHROME)


hand_wheel = ObjectGenerator("hand_wheel", _HAND_WHEEL, _build_hand_wheel)

# A toaster with a lever at its end. As in the data sets, a part that slides up and down is closed at its lowest
# position: `open` lifts the lever, `close` presses it down.

_UPWARDS = PanelFrame(across=(0.0, -1.0, 0.0), out=Z)
"""The lever moves upwards; the fingers close along y, and along is +x, out of the front."""
_SLOT: Colour = (0.03, 0.03, 0.03, 1.0)
_LEVER_GAP_M = 0.003
_TOASTER = {
    "slots": either(2, 4, 0.7),
    "colour": one_of(APPLIANCES),
    "end_colour": lambda rng, p: DARK if rng.random() < 0.5 else p.colour,
    "low_m": uniform(0.055, 0.065),  # height of the lever pressed down
    "length_m": uniform(0.27, 0.36),  # along x, from the back to the end with the lever
    "width_m": by("slots", {2: uniform(0.16, 0.20), 4: uniform(0.27, 0.31)}),
    "height_m": uniform(0.175, 0.21),
    "feet_m": uniform(0.008, 0.014),
    "rounding_m": uniform(0.02, 0.035),  # radius of the upper edges
    "slot_m": uniform(0.028, 0.034),
    "slices": either("bread", "none"),  # in the slots
    "lever_width_m": uniform(0.026, 0.038),  # the fingers close across it
    "lever_depth_m": uniform(0.024, 0.032),
    "lever_height_m": uniform(0.014, 0.020),
    "travel_m": uniform(0.055, 0.075),
    "friction_n": uniform(1.0, 3.0),
    "damping_n_s_m": uniform(0.5, 2.0),
    "lever_colour": contrast((CHROME, DARK), "end_colour"),
}


def _build_toaster(assembly: Assembly, p: Drawn) -> None:
    """Builds a toaster.

    The root frame is at the middle of the footprint, z up from the bottom, x out of the end with the lever. The lever's
    frame is in that end's plane, in the middle of the lever when it is pressed down.
    """
    body = LinkBuilder("body")
    _add_toaster(body, p)
    assembly.add_body(body, mass_kg=body.mass_kg(220.0, digits=3), edge=(p.length_m / 2 - 0.03, 0.0, p.height_m))

    lever = PanelBuilder("slider", _UPWARDS)
    half_w, half_h = p.lever_width_m / 2, p.lever_height_m / 2
    lever.visual.box("stem", (-0.003, -0.004, -half_h * 0.6), (0.003, _LEVER_GAP_M, half_h * 0.6), rgba=DARK)
    lever.box(
        "handle",
        (-half_w, _LEVER_GAP_M, -half_h),
        (half_w, _LEVER_GAP_M + p.lever_depth_m, half_h),
        rgba=p.lever_colour,
    )
    face = _LEVER_GAP_M + p.lever_depth_m
    lever.visual.box("rib", (-half_w, face, -0.002), (half_w, face + 0.001, 0.002), rgba=mark_colour(p.lever_colour))
    # held from the front and slightly above, at its outer end
    out = _LEVER_GAP_M + p.lever_depth_m - min(0.012, p.lever_depth_m / 2)
    size = (p.lever_height_m, p.lever_width_m, p.lever_depth_m)
    grip = grip_standing_out(_UPWARDS, HandleType.knob, at=(0.0, out), out=0.0, size=size)
    at = (p.length_m / 2, 0.0, p.low_m)
    motion = slide_motion(at, Z, p, opens=p.travel_m)
    push = _UPWARDS.at(0.0, out, half_h)
    assembly.add_part(lever, motion, grip, mass_kg=round(max(lever.volume_m3 * 1500.0, 0.02), 4), push=push)
    assembly.set_texture(sheet_texture, p.colour)


def _add_toaster(builder: LinkBuilder, p: Drawn) -> None:
    """Adds a block with rounded upper edges between two end plates, slots on top, a dial and keys below the lever."""
    x0, x1, half, h, r = -p.length_m / 2, p.length_m / 2, p.width_m / 2, p.height_m, p.rounding_m
    add_feet(builder, (x1 - 0.01, half), inset_m=0.03, height_m=p.feet_m, radius_m=0.012)
    a0, a1 = x0 + 0.012, x1 - 0.012
    for label, (low, high), rgba, inset in (
        ("middle", (a0, a1), p.colour, 0.0),
        ("back", (x0, a0), p.end_colour, 0.004),
        ("front", (a1, x1), p.end_colour, 0.004),
    ):
        side, top = half - inset, h - inset
        builder.box(f"{label}_lower", (low, -side, p.feet_m), (high, side, top - r), rgba=rgba)
        builder.box(f"{label}_upper", (low, -side + r, top - r), (high, side - r, top), rgba=rgba)
        for number, sign in enumerate((-1.0, 1.0)):
            centre = ((low + high) / 2, sign * (side - r), top - r)
            name = f"{label}_edge_{number}"
            if label == "middle":
                builder.cylinder(name, centre, axis="x", radius=r, length=high - low, rgba=rgba)
            else:  # a plate with its corners cut: a square on its tip
                edge = r * float(np.sqrt(2.0))
                pose = Pose.from_rpy(centre, (np.pi / 4, 0.0, 0.0))
                builder.turned_box(name, (high - low, edge, edge), pose, rgba=rgba)
    _add_slots(builder, p, (a0 + 0.02, a1 - 0.02))
    skin = 0.0008
    lower, upper = (x1, -0.005, p.low_m - 0.012), (x1 + skin, 0.005, p.low_m + p.travel_m + 0.012)
    builder.visual.box("track", lower, upper, rgba=DARK if p.end_colour != DARK else _SLOT)
    mark = mark_colour(p.end_colour)
    dial = (x1 + 0.004, 0.3 * p.width_m, 0.05)
    builder.visual.cylinder("dial", dial, axis="x", radius=0.014, length=0.008, rgba=p.lever_colour)
    lower, upper = (x1 + 0.008, dial[1] - 0.0012, 0.052), (x1 + 0.0086, dial[1] + 0.0012, 0.062)
    builder.visual.box("dial_mark", lower, upper, rgba=mark_colour(p.lever_colour))
    for number in range(3):
        z, y = 0.045 + 0.022 * number, -0.3 * p.width_m
        builder.visual.box(f"key_{number}", (x1, y - 0.011, z), (x1 + 0.002, y + 0.011, z + 0.009), rgba=mark)


def _add_slots(builder: LinkBuilder, p: Drawn, span: tuple[float, float]) -> None:
    pitch = (p.width_m - 2 * p.rounding_m) / p.slots
    rim = 0.004
    for number in range(p.slots):
        y = (number - (p.slots - 1) / 2) * pitch
        side, top = p.slot_m / 2, p.height_m
        lower, upper = (span[0] - rim, y - side - rim, top), (span[1] + rim, y + side + rim, top + 0.0006)
        builder.visual.box(f"rim_{number}", lower, upper, rgba=CHROME)
        lower, upper = (span[0], y - side, top + 0.0006), (span[1], y + side, top + 0.0012)
        builder.visual.box(f"slot_{number}", lower, upper, rgba=_SLOT)
        if p.slices == "bread" and number % 2 == 0:
            middle, half = (span[0] + span[1]) / 2, min(0.055, (span[1] - span[0]) / 2 - 0.01)
            lower, upper = (middle - half, y - 0.0075, top), (middle + half, y + 0.0075, top + 0.034)
            builder.visual.box(f"slice_{number}", lower, upper, rgba=TOAST)
            for end, sign in enumerate((-1.0, 1.0)):
                a = middle + sign * half
                low, high = (a - 0.0025, y - 0.008, top), (a + 0.0025, y + 0.008, top + 0.034)
                builder.visual.box(f"crust_{number}_{end}", low, high, rgba=TOAST_CRUST)
            low, high = (middle - half, y - 0.008, top + 0.032), (middle + half, y + 0.008, top + 0.036)
            builder.visual.box(f"crust_{number}_top", low, high, rgba=TOAST_CRUST)


toaster = ObjectGenerator("toaster", _TOASTER, _build_toaster)
