"""Round vessels with a lid that is hinged behind, for pots and bins."""

from __future__ import annotations

from dataclasses import dataclass

from unlatch.objects.procedural.building.carcass import add_ring_wall
from unlatch.objects.procedural.building.drawing import Colour
from unlatch.objects.procedural.building.link_builder import LinkBuilder, PanelBuilder

GAP_M = 0.002
"""Gap between the rim and the lid."""


@dataclass(frozen=True)
class RoundLid:
    """A vessel about the z axis, open above, and the place of its lid."""

    radius_m: float
    """Outer radius of the vessel."""
    wall_m: float
    foot_m: float
    """Height of its bottom over the ground."""
    rim_m: float
    """Height of its upper edge."""
    lid_m: float
    """Thickness of the lid at its edge."""
    overhang_m: float
    """Radius of the lid minus that of the vessel."""

    @property
    def lid_radius_m(self) -> float:
        """Radius of the lid [m]."""
        return self.radius_m + self.overhang_m

    @property
    def hinge(self) -> tuple[float, float, float]:
        """(3,) the hinge, behind the rim, in the body's frame [m]."""
        return -self.lid_radius_m, 0.0, self.rim_m

    @property
    def face_m(self) -> float:
        """Height of the lid's outer face over the hinge [m]."""
        return GAP_M + self.lid_m

    def add_vessel(self, body: LinkBuilder, *, rgba: Colour, inside: Colour, count: int = 24) -> None:
        """Adds wall, floor, and a darker visual floor."""
        add_ring_wall(
            body,
            "wall",
            radius_m=self.radius_m,
            wall_m=self.wall_m,
            height=(self.foot_m, self.rim_m),
            rgba=rgba,
            count=count,
        )
        inner, floor = self.radius_m - self.wall_m, self.foot_m + self.wall_m
        middle = (self.foot_m + floor) / 2
        body.cylinder("floor", (0, 0, middle), axis="z", radius=inner, length=self.wall_m, rgba=rgba)
        body.visual.cylinder("bottom", (0, 0, floor), axis="z", radius=inner * 0.99, length=0.001, rgba=inside)

    def add_hinge(self, body: LinkBuilder, *, rgba: Colour) -> None:
        """Adds a bracket behind the rim, under the lid."""
        x, _, z = self.hinge
        lower, upper = (x, -0.022, z - 0.022), (-self.radius_m + self.wall_m * 0.5, 0.022, z)
        body.box("bracket", lower, upper, rgba=rgba)
        body.visual.cylinder("hinge", (x, 0.0, z), axis="y", radius=0.005, length=0.05, rgba=rgba)

    def add_disc(self, lid: PanelBuilder, *, rgba: Colour) -> None:
        """Adds the disc of the lid, whose frame is on the hinge."""
        r = self.lid_radius_m
        lid.cylinder("disc", (r, 0, GAP_M + self.lid_m / 2), axis="out", radius=r, length=self.lid_m, rgba=rgba)

    def add_dome(self, lid: PanelBuilder, *, shares: tuple[float, ...], step_m: float, rgba: Colour) -> float:
        """Adds discs on the lid, each smaller than the one below; returns the height of the top over the hinge [m]."""
        r, top = self.lid_radius_m, self.face_m
        for number, share in enumerate(shares):
            lid.cylinder(
                f"dome_{number}", (r, 0, top + step_m / 2), axis="out", radius=r * share, length=step_m, rgba=rgba
            )
            top += step_m
        return top
