"""The appearance of bodies and the light of a world as views."""

from __future__ import annotations

import numpy as np

from unlatch.simcore.sim.views.attribute_view import AttributeView
from unlatch.simcore.sim.visuals.appearance import OWN_COLOUR, OWN_TEXTURE, LinkAppearance
from unlatch.simcore.sim.world import World

Array = np.ndarray

MAX_TEXTURE = 1_000_000
"""Largest number of a generated texture."""
_BRIGHTEST = 10.0


class AppearanceView(AttributeView):
    """Tint, colour and texture of a body's links, in the single environment of an episode."""

    kind = "appearance view"

    def __init__(self, appearance: LinkAppearance, *, name: str, links: list[str]) -> None:
        super().__init__(name)
        one_per_link, show = f"one per link: {', '.join(links)}", appearance.show
        words = f"red, green, blue for all links, or {one_per_link}"
        self._add_array("tint", appearance, "tints", "-", words, after=show, least=0.0, most=_BRIGHTEST, repeat=3)
        self._add_array("colour", appearance, "colours", "-", words, after=show, least=OWN_COLOUR, most=1.0, repeat=3)
        self._add_array(
            "texture",
            appearance,
            "textures",
            "-",
            f"number for all links, or {one_per_link}",
            convert=lambda values: np.floor(values).astype(int),
            after=show,
            least=float(OWN_TEXTURE),
            most=float(MAX_TEXTURE),
            repeat=1,
        )


class LightView(AttributeView):
    """Direction, colour and strengths of the light, in the single environment of an episode."""

    kind = "light view"

    def __init__(self, world: World, *, name: str = "light") -> None:
        super().__init__(name)
        share = {"least": 0.0, "most": 1.0}
        self._add_field("direction", 3, "-", "x, y, z towards the light", world, "light", lambda v: tuple(v.tolist()))
        self._add_field("colour", 3, "-", "red, green, blue", world, "light", lambda v: tuple(v.tolist()), **share)
        for field in ("ambient", "diffuse", "specular"):
            self._add_field(field, 1, "-", "strength", world, "light", lambda v: float(v[0]), **share)
        self._add_field("shadow", 1, "-", "0 or 1", world, "light", lambda v: bool(v[0] >= 0.5), **share)
