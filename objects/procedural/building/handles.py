"""Bar and knob handles on a front with the outward normal +x."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

import numpy as np

from unlatch.objects.annotation import Handle, HandleType
from unlatch.objects.procedural.building.drawing import Colour, draw_fields, draw_uniform, uniform
from unlatch.objects.procedural.building.link_builder import LinkBuilder
from unlatch.simcore.geometry import Pose


class Section(Enum):
    """Cross-section of a bar."""

    round = "round"
    box = "box"


@dataclass(frozen=True)
class BarParameters:
    """A straight bar on two posts."""

    section: Section
    thickness_m: float
    """Across the bar, where the fingers close."""
    depth_m: float
    """Away from the front; equal to the thickness of a round bar."""
    length_m: float
    """Overall length, with the posts."""
    standoff_m: Annotated[float, uniform(0.032, 0.045)]
    """Free gap between the front and the bar."""
    post_m: Annotated[float, uniform(0.01, 0.014)]
    """Width of a post along the bar."""

    @property
    def reach_m(self) -> float:
        """Distance from the front to the bar's axis [m]."""
        return self.standoff_m + self.depth_m / 2


def draw_bar(rng: np.random.Generator, *, length: tuple[float, float], thickness: tuple[float, float]) -> BarParameters:
    """Draws a bar from a range of lengths and one of thicknesses [m]."""
    section = Section.round if rng.random() < 0.5 else Section.box
    across = draw_uniform(rng, *thickness)
    depth = draw_uniform(rng, 0.012, 0.02)
    return draw_fields(
        BarParameters,
        rng,
        section=section,
        thickness_m=across,
        depth_m=across if section is Section.round else depth,
        length_m=lambda: draw_uniform(rng, *length),
    )


def add_bar(
    builder: LinkBuilder, bar: BarParameters, *, at_front: tuple[float, float, float], along: str, rgba: Colour
) -> Handle:
    """Adds a bar on posts and returns its handle, whose frame has x outwards and z along the bar. `at_front` is the
    point of the front face under the middle of the bar, in the link frame [m]; `along` is `y` (horizontal) or `z`
    (vertical).
    """
    front = np.asarray(at_front, dtype=float)
    unit_along = np.array([0.0, 1.0, 0.0]) if along == "y" else np.array([0.0, 0.0, 1.0])
    unit_across = np.array([0.0, 0.0, 1.0]) if along == "y" else np.array([0.0, 1.0, 0.0])
    centre = front + np.array([bar.reach_m, 0.0, 0.0])
    if bar.section is Section.round:
        builder.cylinder(
            "handle_bar", centre.tolist(), axis=along, radius=bar.thickness_m / 2, length=bar.length_m, rgba=rgba
        )
    else:
        half = (
            np.array([bar.depth_m / 2, 0.0, 0.0])
            + unit_across * bar.thickness_m / 2
            + unit_along * bar.length_m / 2
        )  # fmt: skip
        builder.box("handle_bar", (centre - half).tolist(), (centre + half).tolist(), rgba=rgba)
    for number, sign in enumerate((-1.0, 1.0)):
        middle = front + unit_along * sign * (bar.length_m - bar.post_m) / 2
        half = unit_along * bar.post_m / 2 + unit_across * min(bar.thickness_m, 0.014) / 2
        builder.box(
            f"handle_post_{number}",
            (middle - half).tolist(),
            (middle + half + np.array([bar.reach_m, 0.0, 0.0])).tolist(),
            rgba=rgba,
        )
    y_axis = np.cross(unit_along, [1.0, 0.0, 0.0])
    R_link_handle = np.column_stack([[1.0, 0.0, 0.0], y_axis, unit_along])  # (3, 3)
    return Handle(
        type=HandleType.bar,
        size=np.array([bar.depth_m, bar.thickness_m, bar.length_m - 2 * bar.post_m]),
        T_link_handle=Pose(R_link_handle, centre),
    )


@dataclass(frozen=True)
class KnobParameters:
    """A round head on a stem."""

    diameter_m: Annotated[float, uniform(0.028, 0.04)]
    head_m: Annotated[float, uniform(0.02, 0.026)]
    stem_m: Annotated[float, uniform(0.02, 0.028)]
    """Free length of the stem between the front and the head."""

    @property
    def reach_m(self) -> float:
        """Distance from the front to the middle of the head [m]."""
        return self.stem_m + self.head_m / 2


def draw_knob(rng: np.random.Generator) -> KnobParameters:
    """Draws a knob."""
    return draw_fields(KnobParameters, rng)


def add_knob(
    builder: LinkBuilder, knob: KnobParameters, *, at_front: tuple[float, float, float], rgba: Colour
) -> Handle:
    """Adds a knob with its axis normal to the front, and returns its handle, whose frame has x outwards and z up.
    `at_front` is the foot of the stem on the front face, in the link frame [m].
    """
    front = np.asarray(at_front, dtype=float)
    x = np.array([1.0, 0.0, 0.0])
    builder.cylinder(
        "handle_stem", (front + x * knob.stem_m / 2).tolist(), axis="x", radius=0.007, length=knob.stem_m, rgba=rgba
    )
    builder.cylinder(
        "handle_knob",
        (front + x * knob.reach_m).tolist(),
        axis="x",
        radius=knob.diameter_m / 2,
        length=knob.head_m,
        rgba=rgba,
    )
    return Handle(
        type=HandleType.knob,
        size=np.array([knob.head_m, knob.diameter_m, knob.diameter_m]),
        T_link_handle=Pose.from_translation(front + x * knob.reach_m),
    )
