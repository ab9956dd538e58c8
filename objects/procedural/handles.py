"""Handles on panels: bar, knob, cup, or only the free edge. Lengths are in metres."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from unlatch.objects.annotation import Handle, HandleType
from unlatch.objects.procedural.links import PanelBuilder, PanelFrame
from unlatch.objects.procedural.parameters import Colour, Draw, Drawn, draw_uniform, parameter_record
from unlatch.simcore.geometry import Array, Pose

_FINGER_DEPTH_M = 0.012
"""Distance of the middle between the fingertips from the edge that they hold."""
_PUSH_GAP_M = 0.065
"""Distance of the push point from the side of a handle: more than half of a hand's thickness."""
_EDGE_PUSH_M = 0.075
"""Distance of the push point from an edge that is held."""
_PUSH_INSET_M = 0.025
"""Distance of the push point from the side of a panel, beside its bar."""
PUSH_ROOM_M = _PUSH_INSET_M + 0.05
"""A bar leaves this much free at either end for a push."""
_POST_M = 0.014
"""Greatest thickness of the posts of a bar, across."""


@dataclass(frozen=True)
class PanelGrip:
    """Where a hand holds a panel; all values are in the frame of its link."""

    handle: Handle
    head: Array
    """(3,) middle of the graspable cross-section [m]."""
    frame: PanelFrame


class HandlePlace(NamedTuple):
    """Where a handle sits on a panel; only an edge needs the last three fields."""

    at: tuple[float, float]
    """Middle of the handle, across and along."""
    face: float
    """Where the outer face of the panel lies outwards."""
    edge: float = 0.0
    """Where the free edge of the panel lies across."""
    thickness: float = 0.0
    """Thickness of the panel at its free edge."""
    length: float = 0.0
    """Length of the free edge."""


class PanelHandle(ABC):
    """A handle of a panel. Each kind is a dataclass of the values that vary between its handles."""

    kind: ClassVar[str]
    """Its name in the record of an object."""

    @property
    @abstractmethod
    def extents_m(self) -> tuple[float, float, float]:
        """How far it stands out of the panel, and its extents across and along [m]."""

    @abstractmethod
    def add_to(self, panel: PanelBuilder, place: HandlePlace, rgba: Colour) -> PanelGrip:
        """Adds its shapes to a panel and returns where a hand holds it."""

    def push_point(self, frame: PanelFrame, place: HandlePlace) -> Array:
        """Returns (3,) the push point of a hinged panel: beside the handle, towards the hinge [m]."""
        return frame.at(place.at[0] - self.extents_m[1] / 2 - _PUSH_GAP_M, 0.0, place.face)

    def push_beside(self, frame: PanelFrame, place: HandlePlace) -> Array:
        """Returns (3,) the push point of a door that is hinged below: beside the end of its bar [m]."""
        return frame.at(place.at[0], place.length / 2 - _PUSH_INSET_M, place.face)

    def record(self) -> dict[str, float | str]:
        """Returns its kind and its values."""
        return {"kind": self.kind} | parameter_record(self)


@dataclass(frozen=True)
class BarHandle(PanelHandle):
    """A straight bar on two posts."""

    kind = "bar"
    overhang_m: ClassVar[float | None] = None
    """How far it reaches beyond each of its posts [m]; None: by half the width of a post."""
    section: str
    """`round` or `box`."""
    thickness_m: float
    """Across the bar, where the fingers close."""
    depth_m: float
    """Away from the panel; equal to the thickness of a round bar."""
    length_m: float
    """Overall length, with the posts."""
    standoff_m: float
    """Free gap between the panel and the bar."""
    post_m: float
    """Width of a post along the bar."""

    @property
    def extents_m(self) -> tuple[float, float, float]:
        """How far it stands out of the panel, and its full extents across and along [m]."""
        return self.standoff_m + self.depth_m, self.thickness_m, self.length_m

    def add_to(self, panel: PanelBuilder, place: HandlePlace, rgba: Colour) -> PanelGrip:
        """Adds the bar and its posts, and returns where a hand holds it: between the posts."""
        (across, along), half = place.at, self.length_m / 2
        middle = place.face + self.standoff_m + self.depth_m / 2
        overhang = self.post_m / 2 if self.overhang_m is None else self.overhang_m
        if self.section == "round":
            centre = (across, along, middle)
            radius = self.thickness_m / 2
            panel.cylinder("handle_bar", centre, axis="along", radius=radius, length=self.length_m, rgba=rgba)
        else:
            lower = (across - self.thickness_m / 2, along - half, middle - self.depth_m / 2)
            upper = (across + self.thickness_m / 2, along + half, middle + self.depth_m / 2)
            panel.box("handle_bar", lower, upper, rgba=rgba)
        post = min(self.thickness_m, _POST_M) / 2
        for number, sign in enumerate((-1.0, 1.0)):
            foot = along + sign * (half - (overhang + self.post_m / 2))
            lower = (across - post, foot - self.post_m / 2, place.face)
            panel.box(f"handle_post_{number}", lower, (across + post, foot + self.post_m / 2, middle), rgba=rgba)
        size = (self.depth_m, self.thickness_m, self.length_m - 2 * (self.post_m + 2 * overhang))
        return grip_standing_out(panel.frame, HandleType.bar, at=place.at, out=middle, size=size)


class FlushBar(BarHandle):
    """A straight bar whose posts are at its ends."""

    overhang_m = 0.0


@dataclass(frozen=True)
class KnobHandle(PanelHandle):
    """A round head on a stem."""

    kind = "knob"
    head_name: ClassVar[str] = "handle_head"
    """Name of the shape of its head."""
    diameter_m: float
    head_m: float
    stem_m: float
    """Free length of the stem between the panel and the head."""

    @property
    def extents_m(self) -> tuple[float, float, float]:
        """How far it stands out of the panel, and its full extents across and along [m]."""
        return self.stem_m + self.head_m, self.diameter_m, self.diameter_m

    def add_to(self, panel: PanelBuilder, place: HandlePlace, rgba: Colour) -> PanelGrip:
        """Adds stem and head, and returns where a hand holds the head."""
        foot = (*place.at, place.face + self.stem_m / 2)
        panel.cylinder("handle_stem", foot, axis="out", radius=0.007, length=self.stem_m, rgba=rgba)
        head, radius = (*place.at, place.face + self.stem_m + self.head_m / 2), self.diameter_m / 2
        panel.cylinder(self.head_name, head, axis="out", radius=radius, length=self.head_m, rgba=rgba)
        size = (self.head_m, self.diameter_m, self.diameter_m)
        return grip_standing_out(panel.frame, HandleType.knob, at=place.at, out=head[2], size=size)


@dataclass(frozen=True)
class CupHandle(PanelHandle):
    """A cup pull: a shell that is open below, with a thick lip."""

    kind = "cup"
    length_m: float
    height_m: float
    """Across, where the fingers close."""
    depth_m: float
    """From the panel to the outside of the lip."""
    lip_m: float

    @property
    def extents_m(self) -> tuple[float, float, float]:
        """How far it stands out of the panel, and its full extents across and along [m]."""
        return self.depth_m, self.height_m, self.length_m

    def add_to(self, panel: PanelBuilder, place: HandlePlace, rgba: Colour) -> PanelGrip:
        """Adds a cup, closed above, behind and at its ends; the fingers close on its lip and its top."""
        (across, along), half, wall, face = place.at, self.length_m / 2, 0.004, place.face
        top, low, front = across - self.height_m / 2, across + self.height_m / 2, face + self.depth_m
        panel.box("handle_top", (top, along - half, face), (top + wall, along + half, front), rgba=rgba)
        panel.box("handle_lip", (top + wall, along - half, front - self.lip_m), (low, along + half, front), rgba=rgba)
        for number, sign in enumerate((-1.0, 1.0)):
            side = along + sign * (half - wall / 2)
            lower = (top + wall, side - wall / 2, face)
            panel.box(f"handle_end_{number}", lower, (low, side + wall / 2, front - self.lip_m), rgba=rgba)
        size = (self.lip_m, self.height_m, self.length_m)
        return grip_standing_out(panel.frame, HandleType.bar, at=place.at, out=front - self.lip_m / 2, size=size)


@dataclass(frozen=True)
class EdgeHandle(PanelHandle):
    """No handle: the free edge of the panel is held."""

    kind = "edge"
    extents_m = (0.0, 0.0, 0.0)

    def add_to(self, panel: PanelBuilder, place: HandlePlace, rgba: Colour) -> PanelGrip:
        """Adds nothing, and returns the grip at the free edge; on a drawer's front this is the upper edge."""
        frame, outward = panel.frame, 1.0 if place.edge > 0 else -1.0
        head = frame.at(place.edge - outward * _FINGER_DEPTH_M, place.at[1], place.face - place.thickness / 2)
        x = outward * np.asarray(frame.across)
        R_link_handle = np.column_stack([x, np.cross(frame.along, x), frame.along])
        size = np.array([2 * _FINGER_DEPTH_M, place.thickness, place.length])
        return PanelGrip(Handle(HandleType.edge, size, Pose(R_link_handle, head)), head, frame)

    def push_point(self, frame: PanelFrame, place: HandlePlace) -> Array:
        """Returns (3,) a point on the middle line of the panel, clear of a hand at its edge [m]."""
        return frame.at(place.edge - _EDGE_PUSH_M, 0.0, place.face)

    push_beside = push_point


Range = tuple[float, float] | Callable[[Drawn], tuple[float, float]]
"""Least and greatest value, or what they are for the values drawn before."""


def bar(*, length: Range, thickness: tuple[float, float], kind: type[BarHandle] = BarHandle) -> Draw:
    """Declares a bar from a range of lengths and one of thicknesses [m]; `kind` is its class."""
    return lambda rng, p: _draw_bar(rng, _range_for(length, p), thickness, kind)


def handle(shares: dict[str, float], *, length: Range, thickness: tuple[float, float] = (0.010, 0.018)) -> Draw:
    """Declares a handle.

    Args:
        shares: How often it is a `bar`, `knob`, `cup` or `edge`.
        length: Range of lengths of a bar or a cup [m].
        thickness: Range of thicknesses of a bar [m].
    """

    def draw(rng: np.random.Generator, p: Drawn) -> PanelHandle:
        names = list(shares)
        chosen = names[int(rng.choice(len(names), p=list(shares.values())))]
        if chosen == "bar":
            return _draw_bar(rng, _range_for(length, p), thickness)
        if chosen == "knob":
            return draw_knob(rng)
        if chosen == "cup":
            return _draw_cup(rng, _range_for(length, p))
        return EdgeHandle()

    return draw


def draw_knob(rng: np.random.Generator, kind: type[KnobHandle] = KnobHandle) -> KnobHandle:
    """Draws a knob of a class."""
    return kind(
        diameter_m=draw_uniform(rng, 0.028, 0.04),
        head_m=draw_uniform(rng, 0.02, 0.026),
        stem_m=draw_uniform(rng, 0.02, 0.028),
    )


def _range_for(length: Range, p: Drawn) -> tuple[float, float]:
    return length(p) if callable(length) else length


def _draw_bar(
    rng: np.random.Generator,
    length: tuple[float, float],
    thickness: tuple[float, float],
    kind: type[BarHandle] = BarHandle,
) -> BarHandle:
    section = "round" if rng.random() < 0.5 else "box"
    across = draw_uniform(rng, *thickness)
    depth = draw_uniform(rng, 0.012, 0.02)
    return kind(
        section=section,
        thickness_m=across,
        depth_m=across if section == "round" else depth,
        length_m=draw_uniform(rng, *length),
        standoff_m=draw_uniform(rng, 0.032, 0.045),
        post_m=draw_uniform(rng, 0.01, 0.014),
    )


def _draw_cup(rng: np.random.Generator, length: tuple[float, float]) -> CupHandle:
    low, high = max(0.07, min(length) * 0.8), min(0.11, max(length))
    return CupHandle(
        length_m=draw_uniform(rng, low, high),
        height_m=draw_uniform(rng, 0.028, 0.036),
        depth_m=draw_uniform(rng, 0.030, 0.036),
        lip_m=draw_uniform(rng, 0.010, 0.012),
    )


def grip_standing_out(
    frame: PanelFrame, kind: HandleType, *, at: tuple[float, float], out: float, size: Sequence[float]
) -> PanelGrip:
    """Returns the grip about the middle of something that stands out of a panel; the fingers close across. `size` (3,)
    is depth outwards, thickness across and length along [m].
    """
    head = frame.at(*at, out)
    R_link_handle = np.column_stack([frame.out, frame.across, frame.along])
    return PanelGrip(Handle(kind, np.asarray(size, dtype=float), Pose(R_link_handle, head)), head, frame)
