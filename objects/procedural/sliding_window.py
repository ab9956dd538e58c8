"""A window with two sashes; one of them slides sideways and has a pull.

The sections are those of aluminium and vinyl sliders in catalogues (sashes of 30 to 45 mm, frames of 70 to 100 mm
depth). The size, 50 to 68 cm by 38 to 54 cm, is that of a small window, as over a sink or in a caravan.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from unlatch.objects.annotation import HandleType, PartKind
from unlatch.objects.procedural.building.assembly import Assembly, ObjectGenerator, PartMotion
from unlatch.objects.procedural.building.carcass import Carcass
from unlatch.objects.procedural.building.drawing import Colour, draw_colour, draw_fields, either, one_of, uniform
from unlatch.objects.procedural.building.finishes import CHROME, DARK, draw_contrast
from unlatch.objects.procedural.building.link_builder import DRAWER_FRONT, LinkBuilder, PanelFrame, Y
from unlatch.objects.procedural.building.panel_handles import PanelGrip, grip_standing_out
from unlatch.objects.procedural.building.textures import TextureKind
from unlatch.simcore.geometry import Pose

_WOOD: Colour = (0.52, 0.35, 0.22, 1.0)
_FRAMES: tuple[Colour, ...] = (
    (0.93, 0.93, 0.92, 1.0),
    (0.33, 0.34, 0.36, 1.0),
    _WOOD,
    (0.66, 0.67, 0.69, 1.0),
)
_PANES: tuple[Colour, ...] = ((0.66, 0.82, 0.90, 1.0), (0.74, 0.86, 0.88, 1.0))
_SHEEN: Colour = (0.86, 0.94, 0.97, 1.0)
_GAP_M = 0.003


@dataclass(frozen=True)
class SlidingWindowParameters:
    """The values that vary between windows."""

    width_m: Annotated[float, uniform(0.50, 0.68)]
    height_m: Annotated[float, uniform(0.38, 0.54)]
    depth_m: Annotated[float, uniform(0.075, 0.10)]
    """Of the frame."""
    frame_m: Annotated[float, uniform(0.028, 0.04)]
    """Width of the frame's sections."""
    sash_m: Annotated[float, uniform(0.034, 0.044)]
    """Width of a sash's sections."""
    sash_depth_m: Annotated[float, uniform(0.022, 0.028)]
    closed_side: Annotated[str, either("left", "right")]
    """Side of the closed sliding sash: `left` or `right`, seen from the front."""
    grip_m: Annotated[float, uniform(0.016, 0.024)]
    """Height of the pull's grip, where the fingers close."""
    grip_depth_m: Annotated[float, uniform(0.046, 0.054)]
    """How far the pull stands out."""
    grip_length_m: Annotated[float, uniform(0.028, 0.034)]
    rail_m: Annotated[float, uniform(0.014, 0.018)]
    """How far the rail for pushing the sash stands out."""
    grip_rise_m: Annotated[float, uniform(0.04, 0.08)]
    """Of the grip over the middle."""
    friction_n: Annotated[float, uniform(2.0, 6.0)]
    damping_n_s_m: Annotated[float, uniform(1.0, 5.0)]
    density_kg_m3: Annotated[float, uniform(1200.0, 1800.0)]
    colour: Colour
    pane_colour: Annotated[Colour, one_of(_PANES)]
    grip_colour: Colour
    handle_kind: str = "knob"
    """Kind of its handle, for the record; it is always the same."""


def draw_parameters(rng: np.random.Generator) -> SlidingWindowParameters:
    """Draws a window."""
    colour = draw_colour(rng, _FRAMES)
    return draw_fields(
        SlidingWindowParameters, rng, colour=colour, grip_colour=lambda: draw_contrast(rng, (CHROME, DARK), colour)
    )


def build(assembly: Assembly, p: SlidingWindowParameters) -> None:
    """Builds a window.

    The root frame is at the middle of the footprint, z up from the bottom, x to the room. The sash's frame is in its
    middle, in the plane of its back. Its pull is on the stile that goes ahead when the sash closes; fingers close
    on it from above and below.
    """
    # seen along -x, +y is to the right
    side = 1.0 if p.closed_side == "right" else -1.0
    half = p.width_m / 2
    frame_box = Carcass((-p.depth_m / 2, -half, 0.0), (p.depth_m / 2, half, p.height_m), p.frame_m)
    (_, b0, c0), (_, b1, c1) = frame_box.inner
    width = (b1 - b0) / 2 + p.sash_m / 2
    half_w, half_h = width / 2 - 0.002, (c1 - c0) / 2 - 0.002
    body = LinkBuilder("body")
    _add_frame(body, p, frame_box)
    middle = (c0 + c1) / 2
    # the fixed sash is behind, on the other side
    fixed = ((b0 + width / 2) if side > 0 else (b1 - width / 2), -p.sash_depth_m - _GAP_M / 2)
    _add_sash(body, "fixed", p, (fixed[1], fixed[0], middle), half_w, half_h)
    assembly.add_body(body, mass_kg=body.mass_kg(p.density_kg_m3, digits=3), edge=(p.depth_m / 2, 0.0, p.height_m))

    frame = PanelFrame(across=(0.0, 0.0, -1.0), out=(0.0, -side, 0.0))
    sash = LinkBuilder("slider")
    _add_sash(sash, "sash", p, (0.0, 0.0, 0.0), half_w, half_h)
    grip, push = _add_pull(sash, p, side, half_w, half_h, frame)
    closed_y = (b1 - width / 2) if side > 0 else (b0 + width / 2)
    at, opens = (_GAP_M / 2, closed_y, middle), -side * round((b1 - b0) - width - 0.012, 4)
    motion = PartMotion(PartKind.slider, "body", at, Y, opens, p.friction_n, p.damping_n_s_m)
    assembly.add_part(sash, motion, grip, mass_kg=sash.mass_kg(p.density_kg_m3), push=push)
    if p.colour == _WOOD:
        assembly.set_texture(TextureKind.wood, p.colour)


generate = ObjectGenerator("sliding_window", draw_parameters, build)


def _add_frame(body: LinkBuilder, p: SlidingWindowParameters, box: Carcass) -> None:
    """Adds four sections, tracks below and above, and a sill that stands out."""
    (x0, y0, _), (x1, y1, z1) = box.low, box.high
    (_, b0, c0), (_, b1, c1) = box.inner
    boards = {
        "jamb_low_y": ((x0, y0, 0.0), (x1, b0, z1)),
        "jamb_high_y": ((x0, b1, 0.0), (x1, y1, z1)),
        "head": ((x0, b0, c1), (x1, b1, z1)),
        "bottom": ((x0, b0, 0.0), (x1, b1, c0)),
    }
    for name, (low, high) in boards.items():
        body.box(name, low, high, rgba=p.colour)
    body.box("sill", (x1, y0 - 0.015, 0.0), (x1 + 0.04, y1 + 0.015, 0.016), rgba=p.colour)
    body.box("ledge", (x0 - 0.04, y0 - 0.015, 0.0), (x0, y1 + 0.015, 0.016), rgba=p.colour)
    for number, z in enumerate((c0, c1 - 0.0006)):
        lower = (-p.sash_depth_m - 0.004, b0, z)
        body.visual.box(f"track_{number}", lower, (p.sash_depth_m + 0.004, b1, z + 0.0006), rgba=DARK)


def _add_sash(
    builder: LinkBuilder,
    name: str,
    p: SlidingWindowParameters,
    at: tuple[float, float, float],
    half_w: float,
    half_h: float,
) -> None:
    """Adds a pane between two stiles and two rails; its back is at `at`."""
    x, y, z = at
    w, front = p.sash_m, x + p.sash_depth_m
    sections = {
        "stile_low_y": ((x, y - half_w, z - half_h), (front, y - half_w + w, z + half_h)),
        "stile_high_y": ((x, y + half_w - w, z - half_h), (front, y + half_w, z + half_h)),
        "rail_low": ((x, y - half_w + w, z - half_h), (front, y + half_w - w, z - half_h + w)),
        "rail_high": ((x, y - half_w + w, z + half_h - w), (front, y + half_w - w, z + half_h)),
    }
    for section, (low, high) in sections.items():
        builder.box(f"{name}_{section}", low, high, rgba=p.colour)
    middle = x + p.sash_depth_m / 2
    low, high = (middle - 0.003, y - half_w + w, z - half_h + w), (middle + 0.003, y + half_w - w, z + half_h - w)
    builder.box(f"{name}_pane", low, high, rgba=p.pane_colour)
    for number, offset in enumerate((-0.02, 0.012)):  # two streaks of light
        pose = Pose.from_rpy([middle + 0.0033, y + offset, z + 0.02], [0.5, 0.0, 0.0])
        size = (0.0004, 0.012 if number else 0.005, min(half_h, half_w) * 1.0)
        builder.visual.turned_box(f"{name}_light_{number}", size, pose, rgba=_SHEEN)


def _add_pull(
    sash: LinkBuilder, p: SlidingWindowParameters, side: float, half_w: float, half_h: float, frame: PanelFrame
) -> tuple[PanelGrip, np.ndarray]:
    """Adds a rail along the leading stile with a grip before it; returns the grip and the push point for closing."""
    front, y = p.sash_depth_m, side * (half_w - p.sash_m / 2 - 0.004)
    half = 0.008
    tall = 0.55 * half_h
    low, high = (front, y - half, -tall), (front + p.rail_m, y + half, p.grip_rise_m + 0.05)
    sash.box("rail", low, high, rgba=p.grip_colour)
    z, end = p.grip_rise_m, front + p.grip_depth_m
    low = (front, y - p.grip_length_m / 2, z - p.grip_m / 2)
    sash.box("handle", low, (end, y + p.grip_length_m / 2, z + p.grip_m / 2), rgba=p.grip_colour)
    size = (p.grip_depth_m - p.rail_m, p.grip_m, p.grip_length_m)
    grip = grip_standing_out(DRAWER_FRONT, HandleType.knob, at=(-z, y), out=end - 0.012, size=size)
    # the face of the rail that looks in the opening direction
    push = np.array([front + p.rail_m / 2, y - side * half, -0.5 * tall])
    return replace(grip, frame=frame), push
