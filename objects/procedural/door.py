"""A small door in a frame, with a lever handle.

The handle has the size of a real one (levers of 10 to 14 cm, 45 to 60 mm off the leaf, as in catalogues of door
furniture). The leaf is that of a hatch or a practice bench, 36 to 48 cm wide and 50 to 66 cm high: an arm on a table
cannot reach the handle of a door of two metres.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.annotation import HandleType, PartKind
from unlatch.objects.procedural.building.assembly import Assembly, ObjectGenerator, PartMotion, door_motion
from unlatch.objects.procedural.building.carcass import Carcass
from unlatch.objects.procedural.building.drawing import Colour, draw_fields, draw_uniform, either, uniform, whole
from unlatch.objects.procedural.building.finishes import (
    BRASS,
    CHROME,
    DARK,
    WOODS,
    board_texture,
    darker,
    draw_contrast,
)
from unlatch.objects.procedural.building.inset_door import InsetDoor
from unlatch.objects.procedural.building.link_builder import DRAWER_FRONT, LinkBuilder, PanelBuilder, X
from unlatch.objects.procedural.building.panel_handles import HandlePlace, edge_grip, grip_standing_out

_PLATE_M = 0.006


@dataclass(frozen=True)
class DoorParameters:
    """The values that vary between doors."""

    width_m: Annotated[float, uniform(0.44, 0.56)]
    """Of the frame."""
    height_m: Annotated[float, uniform(0.56, 0.74)]
    depth_m: Annotated[float, uniform(0.09, 0.13)]
    """Of the frame."""
    frame_m: Annotated[float, uniform(0.035, 0.05)]
    """Width of the frame's posts."""
    leaf_m: Annotated[float, uniform(0.028, 0.036)]
    hinge_side: Annotated[str, either("left", "right")]
    limit_rad: Annotated[float, uniform(1.5, 1.9)]
    lever_m: Annotated[float, uniform(0.105, 0.135)]
    """From the lever's axis to its end."""
    standoff_m: Annotated[float, uniform(0.036, 0.046)]
    """Free gap between leaf and lever."""
    lever_height_m: float
    """Across the lever, where the fingers close."""
    lever_depth_m: float
    backset_m: Annotated[float, uniform(0.045, 0.06)]
    """From the free edge to the lever's axis."""
    lever_rise_m: Annotated[float, uniform(-0.04, 0.04)]
    """Of the lever's axis over the middle of the leaf."""
    lever_range_rad: Annotated[float, uniform(0.6, 0.9)]
    lever_style: str
    """`round` or `flat`."""
    panels: Annotated[int, whole(0, 3)]
    """Fields on the leaf."""
    friction_n_m: Annotated[float, uniform(0.3, 1.0)]
    damping_n_m_s: Annotated[float, uniform(0.1, 0.4)]
    lever_friction_n_m: Annotated[float, uniform(0.4, 1.0)]
    lever_damping_n_m_s: Annotated[float, uniform(0.005, 0.02)]
    density_kg_m3: Annotated[float, uniform(450.0, 650.0)]
    colour: Colour
    leaf_colour: Colour
    metal: Colour
    handle_kind: str = "lever"
    """Kind of its handle, for the record; it is always the same."""


def draw_parameters(rng: np.random.Generator) -> DoorParameters:
    """Draws a door."""
    wood = WOODS[int(rng.integers(len(WOODS)))]
    style = "round" if rng.random() < 0.5 else "flat"
    height = draw_uniform(rng, 0.016, 0.022)
    return draw_fields(
        DoorParameters,
        rng,
        lever_height_m=height,
        lever_depth_m=lambda: height if style == "round" else draw_uniform(rng, 0.010, 0.014),
        lever_style=style,
        colour=wood[0],
        leaf_colour=wood[1],
        metal=lambda: draw_contrast(rng, (CHROME, BRASS, DARK), wood[1]),
    )


def build(assembly: Assembly, p: DoorParameters) -> None:
    """Builds a door.

    The door's frame lies on its hinge, at the outer edge of its face at mid height. The lever's frame is where its axis
    meets the leaf.
    """
    half = p.width_m / 2
    opening = Carcass((-p.depth_m / 2, -half, 0.0), (p.depth_m / 2, half, p.height_m), p.frame_m)
    inset = InsetDoor.of(opening, hinge_side=p.hinge_side, thickness_m=p.leaf_m)
    body = LinkBuilder("body")
    _add_frame(body, p, opening)
    inset.add_hinges(body, rgba=p.metal)
    assembly.add_body(body, mass_kg=body.mass_kg(p.density_kg_m3, digits=3), edge=(p.depth_m / 2, 0.0, p.height_m))

    frame, high, half_z = inset.frame, inset.span[1], inset.half_along
    leaf = PanelBuilder("door", frame)
    inset.add_slab(leaf, rgba=p.leaf_colour)
    _add_fields(leaf, p, inset)
    up = float(frame.along[2])
    axis_at = (high - p.backset_m, up * p.lever_rise_m)
    # the edge is held below the lever, clear of it
    along = -up * min(0.16 - p.lever_rise_m, half_z - 0.05)
    place = HandlePlace((high, along), 0.0, edge=high, thickness=p.leaf_m, length=2 * half_z)
    motion = door_motion(frame, inset.at, p)
    push = frame.at(0.78 * high, axis_at[1] - up * 0.12, 0.0)
    assembly.add_part(leaf, motion, edge_grip(frame, place), mass_kg=leaf.mass_kg(p.density_kg_m3), push=push)
    _add_lever(
        assembly, p, frame.at(*axis_at, 0.001), toward=-frame.across[1], top=frame.at(high / 2, up * half_z, 0.0)
    )
    assembly.set_texture(
        board_texture, p.colour, p.leaf_colour, darker(p.leaf_colour, 0.86), darker(p.colour, 0.8), darker(p.colour)
    )


generate = ObjectGenerator("door", draw_parameters, build)


def _add_frame(body: LinkBuilder, p: DoorParameters, opening: Carcass) -> None:
    """Adds two posts, a head, a sill, and feet in front and behind."""
    (x0, y0, _), (x1, y1, z1) = opening.low, opening.high
    (_, b0, c0), (_, b1, c1) = opening.inner
    for number, (a, b) in enumerate(((y0, b0), (b1, y1))):
        body.box(f"post_{number}", (x0, a, 0.0), (x1, b, z1), rgba=p.colour)
        for side, (c, d) in {"behind": (x0 - 0.06, x0), "front": (x1, x1 + 0.06)}.items():
            body.box(f"foot_{side}_{number}", (c, a, 0.0), (d, b, 0.03), rgba=darker(p.colour, 0.8))
    body.box("head", (x0, b0, c1), (x1, b1, z1), rgba=p.colour)
    body.box("sill", (x0, b0, 0.0), (x1, b1, c0), rgba=p.colour)
    # the leaf closes against these strips, which do not collide: it must not stick to them
    stop = x1 - p.leaf_m - 0.004
    for number, (a, b) in enumerate(((b0, b0 + 0.012), (b1 - 0.012, b1))):
        body.visual.box(f"stop_{number}", (stop - 0.012, a, c0), (stop, b, c1), rgba=darker(p.colour))


def _add_fields(leaf: PanelBuilder, p: DoorParameters, inset: InsetDoor) -> None:
    (low, high), half = inset.span, inset.half_along
    for number in range(p.panels):
        size = 2 * half / p.panels
        a, b = -half + number * size + 0.035, -half + (number + 1) * size - 0.035
        field = ((low + 0.05, a, 0.0), (high - p.backset_m - 0.045, b, 0.0006))
        leaf.visual.box(f"field_{number}", *field, rgba=darker(p.leaf_colour, 0.86))


def _add_lever(assembly: Assembly, p: DoorParameters, at: np.ndarray, *, toward: float, top: np.ndarray) -> None:
    """Adds the lever, which points to the hinge; its end moves down."""
    frame = DRAWER_FRONT
    lever = PanelBuilder("lever", frame)
    middle = _PLATE_M + p.standoff_m + p.lever_depth_m / 2
    height, depth = p.lever_height_m / 2, p.lever_depth_m / 2
    lever.cylinder("rose", (0, 0, _PLATE_M / 2), axis="out", radius=0.026, length=_PLATE_M, rgba=p.metal)
    lever.cylinder("neck", (0, 0, middle / 2), axis="out", radius=0.009, length=middle, rgba=p.metal)
    if p.lever_style == "round":
        centre = (0, toward * p.lever_m / 2, middle)
        lever.cylinder("handle", centre, axis="along", radius=height, length=p.lever_m + 0.018, rgba=p.metal)
    else:
        ends = sorted((-toward * 0.010, toward * p.lever_m))
        lever.box("handle", (-height, ends[0], middle - depth), (height, ends[1], middle + depth), rgba=p.metal)
    grip = grip_standing_out(
        frame,
        HandleType.bar,
        at=(0.0, toward * (p.lever_m - 0.018)),
        out=middle,
        size=(2 * depth, 2 * height, 0.045),
    )
    opens = -toward * p.lever_range_rad  # about +x, y turns to z: down if the lever points to -y
    friction, damping = p.lever_friction_n_m, p.lever_damping_n_m_s
    motion = PartMotion(PartKind.lever, "door", at.tolist(), X, opens, friction, damping)
    push = frame.at(-height, toward * (p.lever_m - 0.05), middle)
    assembly.add_part(lever, motion, grip, mass_kg=lever.mass_kg(4000.0), push=push, edge=top.tolist())
