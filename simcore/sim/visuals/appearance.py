"""The appearance of links, as tint, colour and texture over those of the model; views of it, and of the scenery."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pybullet as p

from unlatch.simcore.errors import WorldError, unknown_entry
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.mesh_reader import SurfaceMesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.sim.attribute_views import AttributeView
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.visuals.visual_shapes import Finish, Paint, VisualShape
from unlatch.simcore.sim.world import World

Array = np.ndarray

OWN_COLOUR = -1.0
"""The colour value that means a link's own colour."""
OWN_TEXTURE = 0
"""The texture number that means a link's own texture, if it has one."""


class TextureStore:
    """Textures of one scene by number, each loaded once."""

    def __init__(self, file: Callable[[int], Path]) -> None:
        """Makes an empty store.

        `file` writes the picture of a number and returns its path; the picture of `OWN_TEXTURE` is white.
        """
        self.file_of = cache(file)
        """Returns the picture of a texture by its number."""


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
                self._shown[shape] = wanted
                rgba, number = wanted
                picture = None if number == OWN_TEXTURE else self._store.file_of(number)
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


Rgba = tuple[float, float, float, float]
SOLIDS = ("box", "cylinder", "sphere", "capsule")
"""Known shapes of solids."""


def add_panel(
    world: World,
    name: str,
    *,
    size_m: tuple[float, float],
    T_world_panel: Pose,
    rgba: Rgba,
    tile_m: float | tuple[float, float],
    finish: Finish | None = None,
    picture: Path | None = None,
) -> Body:
    """Adds a flat panel in the x-y plane of its frame, visible from its +z side.

    Args:
        world: A world with visual shapes.
        name: Its name.
        size_m: Its edges along x and y [m].
        T_world_panel: Pose of its centre.
        rgba: Colour.
        tile_m: Length after which a texture repeats, or one along x and one along y [m].
        finish: How it reflects light.
        picture: A picture that repeats on it.
    """
    x, y = 0.5 * size_m[0], 0.5 * size_m[1]
    u, v = np.array(size_m) / tile_m
    vertices = [[-x, -y, 0.0], [x, -y, 0.0], [x, y, 0.0], [-x, y, 0.0]]
    uvs = [[0.0, 0.0], [u, 0.0], [u, v], [0.0, v]]
    faces: Array = np.array([[0, 1, 2], [0, 2, 3]])
    surface = SurfaceMesh(TriangleMesh(np.array(vertices), faces), corner_uvs=np.array(uvs)[faces])
    panel = add_surface(world, name, surface, T_world_surface=T_world_panel, rgba=rgba, finish=finish, picture=picture)
    panel.sheet = True
    return panel


def add_surface(
    world: World,
    name: str,
    surface: SurfaceMesh,
    *,
    T_world_surface: Pose,
    rgba: Rgba,
    finish: Finish | None = None,
    picture: Path | None = None,
) -> Body:
    """Adds a surface of triangles.

    Args:
        world: A world with visual shapes.
        name: Its name.
        surface: Its triangles; with texture coordinates, if there is a picture.
        T_world_surface: Pose of its frame.
        rgba: Colour, multiplied with the picture.
        finish: How it reflects light.
        picture: A picture that repeats on it.
    """
    # Bullet never forgets a mesh, and nobody looks at this one
    body = _add_scenery(world, name, p.GEOM_BOX, {"halfExtents": [1e-4] * 3}, T_world_surface, rgba)
    body.surface, body.meshes[body.root_link] = replace(surface, texture=picture), surface.mesh
    body.finish = finish or body.finish
    return body


def carry(thing: Body, body: Body, link: str, T_link_thing: Pose) -> None:
    """Lets scenery follow a link of a body: it keeps its pose in the frame of the link."""
    last: list[Pose] = []

    def follow() -> None:
        T_world_link = body.link_pose(link)
        if not last or last[0] is not T_world_link:  # a link that has not moved keeps its `Pose` object
            thing.set_root_pose(T_world_link @ T_link_thing)
            last[:] = [T_world_link]

    thing.follow, thing.fixed = follow, False


def remove_scenery(world: World, name: str) -> None:
    """Removes scenery; unknown names are ignored."""
    body = world.scenery.pop(name, None)
    if body is not None:
        for key in [key for key in world.paint if key[0] == body.body_id]:
            del world.paint[key]
        p.removeBody(body.body_id, physicsClientId=world.client)


def add_solid(world: World, name: str, *, shape: str, size_m: float, T_world_solid: Pose, rgba: Rgba) -> Body:
    """Adds a solid about as wide and high as its size.

    Args:
        world: A world with visual shapes.
        name: Its name.
        shape: One of `SOLIDS`.
        size_m: Its size [m].
        T_world_solid: Pose of its centre.
        rgba: Colour.

    Raises:
        WorldError: The shape is unknown.
    """
    half = 0.5 * size_m
    sizes: dict[str, tuple[int, dict[str, Any]]] = {
        "box": (p.GEOM_BOX, {"halfExtents": [half, 0.7 * half, half]}),
        "cylinder": (p.GEOM_CYLINDER, {"radius": 0.7 * half, "length": size_m}),
        "sphere": (p.GEOM_SPHERE, {"radius": half}),
        "capsule": (p.GEOM_CAPSULE, {"radius": 0.5 * half, "length": half}),
    }
    if shape not in sizes:
        said, advice = f"A solid of shape '{shape}' is unknown.", "Name one of them."
        raise unknown_entry(said, shape, SOLIDS, advice=advice, error=WorldError)
    return _add_scenery(world, name, *sizes[shape], T_world_solid, rgba)


def _add_scenery(world: World, name: str, kind: int, shape: dict[str, Any], T_world_shape: Pose, rgba: Rgba) -> Body:
    if not world.visuals or name in world.scenery:
        raise WorldError(f"Scenery '{name}' exists already, or this World has no visual shapes. Open another World.")
    visual = p.createVisualShape(kind, **shape, rgbaColor=rgba, physicsClientId=world.client)
    body_id = p.createMultiBody(
        baseMass=0.0,
        baseVisualShapeIndex=visual,
        basePosition=T_world_shape.p.tolist(),
        baseOrientation=T_world_shape.quat_xyzw.tolist(),
        physicsClientId=world.client,
    )
    world.scenery[name] = Body(world.core, body_id, name=name, friction=0.0)
    return world.scenery[name]
