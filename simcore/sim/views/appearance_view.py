"""A body's appearance as a view."""

from __future__ import annotations

import numpy as np

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
