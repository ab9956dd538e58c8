"""Makes an object from a seed; the generators of all categories share it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from unlatch.objects.procedural.building.assembly import Assembly
from unlatch.objects.procedural.building.generated_object import GeneratedObject
from unlatch.simcore.rng import stream

Drawn = TypeVar("Drawn")


@dataclass(frozen=True)
class ObjectGenerator(Generic[Drawn]):
    """The generator of one category: it draws parameters and builds the object from them."""

    category: str
    draw: Callable[[np.random.Generator], Drawn]
    """Draws all parameters, from a random stream of the seed and the category."""
    build: Callable[[Assembly, Drawn], GeneratedObject]
    """Fills an empty assembly and finishes it, without random numbers."""

    def __call__(self, seed: int, *, name: str | None = None) -> GeneratedObject:
        """Generates the object of a seed, any whole number from 0; without a name, the robot element has the
        category's.
        """
        drawn = self.draw(stream(seed, f"assets.procedural.{self.category}"))
        return self.build(Assembly(self.category, name=name or self.category, seed=seed), drawn)
