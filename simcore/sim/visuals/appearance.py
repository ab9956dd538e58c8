"""The appearance of links, as tint, colour and texture over those of the model, and views of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pybullet as p

from unlatch.simcore.sim.attribute_views import AttributeView
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.visuals.visual_shapes import Paint, VisualShape
from unlatch.simcore.sim.world import World

Array = np.ndarray

OWN_COLOUR = -1.0
"""The colour value that means a link's own colour."""
OWN_TEXTURE = 0
"""The texture number that means a link's own texture, if it has one."""


class TextureStore:
    """Textures of one scene by number, each loaded once."""

    def __init__(self, world: World, file: Callable[[int], Path]) -> None:
        """Makes an empty store; a `reset` of the world invalidates it.

        `file` writes the picture of a number and returns its path; the picture of `OWN_TEXTURE` is white.
        """
        self.file_of = cache(file)
        """Returns the picture of a texture by its number."""
        self.id_of = cache(lambda number: p.loadTexture(str(self.file_of(number)), physicsClientId=world.client))
        """Returns the id that Bullet gave to the texture of a number."""


class LinkAppearance:
    """Tint, colour and texture of links; visible only in a world with visual shapes."""

    def __init__(self, world: World, bodies: Sequence[Body], textures: TextureStore, *, links: Sequence[int]) -> None:
        """Takes bodies with the same present appearance; links are given by Bullet's numbers.

        In a world without visual shapes, `bodies` may be empty.
        """
        count = len(links)
        self.tints: Array = np.ones((count, 3))
        """(L, 3) factors on red, green and blue."""
        self.colours: Array = np.full((count, 3), OWN_COLOUR)
        """(L, 3) red, green and blue in place of the model's, 0 to 1; below 0: the model's own."""
        self.textures: Array = np.full(count, OWN_TEXTURE)
        """(L,) numbers of textures."""
        self._store = textures
        self._client = world.client
        self._paint_of = world.paint
        self._row_of = {link: row for row, link in enumerate(links)}
        self._shapes = [shape for body in bodies for shape in body.visual_shapes] if world.visuals else []
        self._shown: dict[VisualShape, tuple[tuple[float, ...], int]] = {}

    def show(self) -> None:
        """Paints the links that have changed."""
        for shape in self._shapes:
            row = self._row_of.get(shape.link)
            if row is None:
                continue
            own = np.array(shape.rgba[:3])
            colour = np.where(self.colours[row] < 0.0, own, self.colours[row]) * self.tints[row]
            wanted = ((*np.clip(colour, 0.0, 1.0).tolist(), shape.rgba[3]), int(self.textures[row]))
            before = self._shown.get(shape, (shape.rgba, OWN_TEXTURE))
            if wanted != before:
                self._paint_shape(shape, *wanted, textured=before[1] != wanted[1])
                self._shown[shape] = wanted

    def _paint_shape(self, shape: VisualShape, rgba: tuple[float, ...], number: int, *, textured: bool) -> None:
        where = {"shapeIndex": shape.index, "physicsClientId": self._client}
        p.changeVisualShape(shape.body, shape.link, rgbaColor=rgba, **where)
        if textured:
            plain = number == OWN_TEXTURE and shape.texture >= 0
            texture = shape.texture if plain else self._store.id_of(number)
            p.changeVisualShape(shape.body, shape.link, textureUniqueId=texture, **where)
        own = number == OWN_TEXTURE and (shape.texture >= 0 or not textured)
        picture = None if own else self._store.file_of(number)
        self._paint_of[shape.body, shape.link, shape.index] = Paint(rgba, picture)


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
