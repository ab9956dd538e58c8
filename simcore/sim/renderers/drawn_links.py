"""The visible links of a world with their shapes and paint, as renderers that read meshes draw them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.renderers.renderer import RenderedWorld
from unlatch.simcore.sim.visuals.visual_shapes import Paint, VisualShape


@dataclass(frozen=True)
class DrawnLink:
    """One link that has visible shapes."""

    body: Body
    name: str
    """Name of the link."""
    link_id: int
    """As in `RawImages.link_ids`."""
    shapes: tuple[VisualShape, ...]
    """Its shapes that are not fully transparent."""
    paints: tuple[Paint, ...]
    """The appearance of each."""


def drawn_links(world: RenderedWorld) -> Iterator[DrawnLink]:
    """Yields the visible links of a world; a fully transparent shape is invisible."""
    number = 0
    for body in world.seen_bodies():
        shapes: dict[int, list[tuple[VisualShape, Paint]]] = {}
        for shape in body.visual_shapes:
            paint = world.paint.get((shape.body, shape.link, shape.index), Paint(shape.rgba, None))
            if paint.rgba[3] > 0.0:
                shapes.setdefault(shape.link, []).append((shape, paint))
        for index, name in body.link_names.items():
            number += 1
            if index in shapes:
                found, paints = zip(*shapes[index], strict=True)
                yield DrawnLink(body, name, number, found, paints)
