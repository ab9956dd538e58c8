"""The appearance of bodies and the light of a world as views."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from unlatch.simcore.sim.views.attribute_view import AttributeView
from unlatch.simcore.sim.visuals.appearance import OWN, PLAIN, LinkAppearance
from unlatch.simcore.sim.world import World

Array = np.ndarray

MOST_TEXTURE = 1_000_000
"""Largest number of a generated texture."""
_BRIGHTEST = 10.0


class AppearanceView(AttributeView):
    """Tint, colour and texture of a body's links, in the single environment of an episode."""

    kind = "appearance view"

    def __init__(self, appearance: LinkAppearance, *, name: str, links: list[str]) -> None:
        super().__init__(name)
        one_a_link, show = f"one a link: {', '.join(links)}", appearance.show
        words = f"red, green, blue for all links, or {one_a_link}"
        self._add_array("tint", appearance, "tints", "-", words, after=show, least=0.0, most=_BRIGHTEST, repeat=3)
        self._add_array("colour", appearance, "colours", "-", words, after=show, least=OWN, most=1.0, repeat=3)
        self._add_array(
            "texture",
            appearance,
            "textures",
            "-",
            f"number for all links, or {one_a_link}",
            convert=lambda values: np.floor(values).astype(int),
            after=show,
            least=float(PLAIN),
            most=float(MOST_TEXTURE),
            repeat=1,
        )


class LightView(AttributeView):
    """Direction, colour and strengths of the light, in the single environment of an episode."""

    kind = "light view"

    def __init__(self, world: World, *, name: str = "light") -> None:
        super().__init__(name)
        self._world = world
        self._add_field("direction", 3, "x, y, z towards the light", None, None, lambda values: tuple(values.tolist()))
        self._add_field("colour", 3, "red, green, blue", 0.0, 1.0, lambda values: tuple(values.tolist()))
        for field in ("ambient", "diffuse", "specular"):
            self._add_field(field, 1, "strength", 0.0, 1.0, lambda values: float(values[0]))
        self._add_field("shadow", 1, "0 or 1", 0.0, 1.0, lambda values: bool(values[0] >= 0.5))

    def _add_field(
        self, field: str, width: int, words: str, least: float | None, most: float | None, made: Callable[[Array], Any]
    ) -> None:
        def read(_env: int) -> Array:
            return np.atleast_1d(np.array(getattr(self._world.light, field), dtype=float))

        def write(_env: int, values: Array) -> None:
            self._world.light = replace(self._world.light, **{field: made(values)})

        self._add_attribute(field, width, "-", words, read, write, least=least, most=most)
