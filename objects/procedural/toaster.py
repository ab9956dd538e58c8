"""A toaster with a lever at its end, which goes up and down.

Sizes come from catalogues of toasters for two and four slices: 27 to 36 cm long, 16 to 20 cm wide (four slots side
by side: 27 to 31 cm), 17 to 21 cm high.

Note:
    As in the data sets, a part that slides up and down is closed at its lowest position: `open` lifts the lever,
    `close` presses it down.
"""

from __future__ import annotations

import numpy as np

from unlatch.objects.annotation import HandleType
from unlatch.objects.procedural.assembly import Assembly, ObjectGenerator, slide_motion
from unlatch.objects.procedural.colours import APPLIANCES, CHROME, DARK, contrast, mark_colour, sheet_texture
from unlatch.objects.procedural.fittings import add_feet
from unlatch.objects.procedural.handles import grip_standing_out
from unlatch.objects.procedural.links import LinkBuilder, PanelBuilder, PanelFrame, Z
from unlatch.objects.procedural.parameters import Colour, Drawn, by, either, one_of, uniform
from unlatch.simcore.geometry import Pose

_UPWARDS = PanelFrame(across=(0.0, -1.0, 0.0), out=Z)
"""The lever moves upwards; the fingers close along y, and along is +x, out of the front."""
_TOAST: Colour = (0.80, 0.58, 0.32, 1.0)
_CRUST: Colour = (0.55, 0.34, 0.16, 1.0)
_SLOT: Colour = (0.03, 0.03, 0.03, 1.0)
_GAP_M = 0.003
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
    lever.visual.box("stem", (-0.003, -0.004, -half_h * 0.6), (0.003, _GAP_M, half_h * 0.6), rgba=DARK)
    lever.box("handle", (-half_w, _GAP_M, -half_h), (half_w, _GAP_M + p.lever_depth_m, half_h), rgba=p.lever_colour)
    face = _GAP_M + p.lever_depth_m
    lower, upper = (-half_w, face, -0.002), (half_w, face + 0.001, 0.002)
    lever.visual.box("rib", lower, upper, rgba=mark_colour(p.lever_colour))
    # held from the front and slightly above, at its outer end
    out = _GAP_M + p.lever_depth_m - min(0.012, p.lever_depth_m / 2)
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
            builder.visual.box(f"slice_{number}", lower, upper, rgba=_TOAST)
            for end, sign in enumerate((-1.0, 1.0)):
                a = middle + sign * half
                low, high = (a - 0.0025, y - 0.008, top), (a + 0.0025, y + 0.008, top + 0.034)
                builder.visual.box(f"crust_{number}_{end}", low, high, rgba=_CRUST)
            low, high = (middle - half, y - 0.008, top + 0.032), (middle + half, y + 0.008, top + 0.036)
            builder.visual.box(f"crust_{number}_top", low, high, rgba=_CRUST)


toaster = ObjectGenerator("toaster", _TOASTER, _build_toaster)
