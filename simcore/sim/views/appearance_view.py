"""A body's appearance as a view."""

from __future__ import annotations

import numpy as np

from unlatch.simcore.sim.views.attribute import ViewAttribute
from unlatch.simcore.sim.views.attribute_view import AttributeView
from unlatch.simcore.sim.visuals.appearance import OWN, PLAIN, LinkAppearance

Array = np.ndarray

MOST_TEXTURE = 1_000_000
"""Largest number of a generated texture."""
_BRIGHTEST = 10.0


class AppearanceView(AttributeView):
    """Tint, colour and texture of a body's links, in the single environment of an episode."""

    kind = "appearance view"

    def __init__(self, appearance: LinkAppearance, *, name: str, links: list[str]) -> None:
        """Makes a view.

        Args:
            appearance: What the view changes.
            name: Name of the body.
            links: Names of its links.
        """
        super().__init__(name)
        one_a_link = f"one a link: {', '.join(links)}"

        def tints(_env: int) -> Array:
            return appearance.tints.ravel().copy()

        def set_tints(_env: int, values: Array) -> None:
            appearance.tints = np.reshape(values, (-1, 3)).copy()
            appearance.show()

        def colours(_env: int) -> Array:
            return appearance.colours.ravel().copy()

        def set_colours(_env: int, values: Array) -> None:
            appearance.colours = np.reshape(values, (-1, 3)).copy()
            appearance.show()

        def textures(_env: int) -> Array:
            return appearance.textures.astype(float)

        def set_textures(_env: int, values: Array) -> None:
            appearance.textures = np.floor(values).astype(int)
            appearance.show()

        words = f"red, green, blue for all links, or {one_a_link}"
        width, count = 3 * len(links), len(links)
        self._add(ViewAttribute("tint", width, "-", words, tints, set_tints, least=0.0, most=_BRIGHTEST, repeat=3))
        self._add(ViewAttribute("colour", width, "-", words, colours, set_colours, least=OWN, most=1.0, repeat=3))
        self._add(
            ViewAttribute(
                "texture",
                count,
                "-",
                f"number for all links, or {one_a_link}",
                textures,
                set_textures,
                least=float(PLAIN),
                most=float(MOST_TEXTURE),
                repeat=1,
            )
        )
