"""The light of a world as a view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from unlatch.simcore.sim.views.attribute_view import AttributeView
from unlatch.simcore.sim.world import World

Array = np.ndarray


class LightView(AttributeView):
    """Direction, colour and strengths of the light, in the single environment of an episode."""

    kind = "light view"

    def __init__(self, world: World, *, name: str = "light") -> None:
        """Makes a view.

        Args:
            world: The world.
            name: Name of the view.
        """
        super().__init__(name)
        self._world = world
        self._add_field("direction", 3, "x, y, z towards the light", None, None, _triple)
        self._add_field("colour", 3, "red, green, blue", 0.0, 1.0, _triple)
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


def _triple(values: Array) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z
