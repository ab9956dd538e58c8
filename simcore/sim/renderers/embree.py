"""Rays cast on the processor by Intel's Embree: exact geometry through any lens, clean edges, hard shadows."""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pybullet as p

from simcore.errors import WorldError
from simcore.geometry import Fisheye, Pinhole
from simcore.geometry.surface_file import Surface, read_surface
from simcore.sim.bodies import Body
from simcore.sim.renderers.exposure import Exposure
from simcore.sim.renderers.ray_scene import Hits, Placed, RayScene
from simcore.sim.renderers.ray_shading import Shaded, normals_of, shaded
from simcore.sim.renderers.ray_surface import RaySurface, SurfaceCache
from simcore.sim.renderers.renderer import RawImages, Renderer
from simcore.sim.visual_geometry import primitive_mesh
from simcore.sim.visual_shapes import Paint, VisualShape

if TYPE_CHECKING:
    from simcore.sim.world import World

Array = np.ndarray

_MOST_SURFACES = 512
_QUARTERS = ((-0.25, -0.25), (0.25, -0.25), (-0.25, 0.25), (0.25, 0.25))
"""Where in a pixel on an edge its colour is sampled, from its middle [pixels]."""
_BENDS = 0.9
"""Cosine of the angle between normals of two neighbours from which there is an edge between them."""


class EmbreeRenderer(Renderer):
    """Casts one ray a pixel, and four where colours have an edge; one core.

    Depth, labels and normals are those of the triangles on each pixel's ray. Shapes are seen from both sides, panels of
    `scenery.py` from their front; what is wholly transparent is not seen.
    """

    name: ClassVar[str] = "embree"
    lenses: ClassVar[tuple[type[Pinhole] | type[Fisheye], ...]] = (Pinhole, Fisheye)

    def __init__(self) -> None:
        self._surfaces = SurfaceCache(_MOST_SURFACES)
        self._directions: tuple[Pinhole | Fisheye, Array, Array] | None = None

    @property
    def version(self) -> str:
        """See `Renderer`."""
        return f"embreex {version('embreex')}"

    def open(self, world: World) -> None:
        """See `Renderer`."""
        if find_spec("embreex") is None:
            raise WorldError(
                "renderer=embree is not there: package 'embreex' is not installed. It comes with the extra 'raycast'. "
                "Install it: pip install 'unlatch[raycast]', or use renderer=tiny.",
                renderer=self.name,
            )

    def render(self, world: World, exposure: Exposure) -> RawImages:
        """See `Renderer`."""
        optics = exposure.optics
        pixels, directions = self._rays(optics)
        scene = RayScene(self._shapes(world))
        hits = _cast(scene, exposure, directions)
        shape = (optics.height, optics.width)
        link_ids = np.array([0, *(placed.link_id for placed in scene.shapes)], dtype=np.int32)
        along: Array = hits.reach.astype(np.float32)
        forward = directions[:, 2]
        with np.errstate(invalid="ignore"):
            depth = np.where(forward > 0.0, along * forward, np.inf)
        normals = rgb = None
        if exposure.normals or exposure.colours:
            normals = normals_of(scene, hits, exposure.T_world_camera, directions)
        if exposure.colours and normals is not None:
            rgb = self._colours(world, scene, exposure, hits, normals)
        wide = isinstance(optics, Fisheye)
        return RawImages(
            _image(shape, pixels, np.zeros((len(along), 3)) if rgb is None else np.rint(rgb), 0).astype(np.uint8),
            _image(shape, pixels, depth, np.inf).astype(np.float32),
            _image(shape, pixels, link_ids[hits.which + 1], 0),
            _image(shape, pixels, along, np.inf) if wide else None,
            _image(shape, pixels, normals, 0.0) if exposure.normals and normals is not None else None,
        )

    def close(self) -> None:
        """See `Renderer`."""

    def _colours(self, world: World, scene: RayScene, exposure: Exposure, hits: Hits, normals: Array) -> Array:
        """(N, 3) colours; of pixels on an edge the mean of four rays."""
        pixels, directions = self._rays(exposure.optics)
        first = _shade(world, scene, exposure, hits, directions)
        rgb = first.rgb
        shape = (exposure.optics.height, exposure.optics.width)
        edges = _edges(
            _image(shape, pixels, hits.which, -1),
            _image(shape, pixels, first.lit, False),
            _image(shape, pixels, normals, 0.0),
        )
        places = np.flatnonzero(edges.ravel()[pixels])
        if not len(places):
            return rgb
        rows, columns = np.divmod(pixels[places], shape[1])
        total: Array = np.zeros((len(places), 3))
        for right, down in _QUARTERS:
            rays = exposure.optics.rays_at(columns + right, rows + down)
            known = np.isfinite(rays).all(axis=1)
            rays[~known] = directions[places[~known]]
            total += _shade(world, scene, exposure, _cast(scene, exposure, rays), rays).rgb
        rgb[places] = total / len(_QUARTERS)
        return rgb

    def _rays(self, optics: Pinhole | Fisheye) -> tuple[Array, Array]:
        """Places (N,) of the pixels that see anything, and directions (N, 3) of their rays; kept for the next look."""
        if self._directions is None or self._directions[0] != optics:
            rays = optics.rays().reshape(-1, 3)
            pixels = np.flatnonzero(np.isfinite(rays).all(axis=1))
            self._directions = (optics, pixels, rays[pixels])
        return self._directions[1:]

    def _shapes(self, world: World) -> list[Placed]:
        found: list[Placed] = []
        number = 0
        for body in world.seen_bodies():
            ids = {}
            for index in body.link_names:
                number += 1
                ids[index] = number
            for shape in body.visual_shapes:
                paint = world.paint.get((shape.body, shape.link, shape.index), Paint(shape.rgba, None))
                if paint.rgba[3] <= 0.0:
                    continue
                surface = self._surface(body, shape)
                T_world_shape = body.link_pose(body.link_names[shape.link]) @ shape.T_link_shape
                colour, picture = np.array(paint.rgba[:3]), paint.picture or surface.picture
                sheet = body.sheet is not None
                found.append(Placed(surface, T_world_shape, ids[shape.link], colour, picture, sheet))
        return found

    def _surface(self, body: Body, shape: VisualShape) -> RaySurface:
        sheet, kind, size = body.sheet, shape.kind, shape.size
        if sheet is not None:
            made = (sheet.vertices.tobytes(), b"" if sheet.uvs is None else sheet.uvs.tobytes())
            return self._surfaces.get(made, lambda: RaySurface.of(sheet, np.ones(3)))
        if kind == p.GEOM_MESH:
            path = Path(shape.path)
            status = path.stat()
            read = (path, status.st_mtime_ns, status.st_size, size)
            return self._surfaces.get(read, lambda: RaySurface.of(read_surface(path), np.array(size)))
        return self._surfaces.get((kind, size), lambda: RaySurface.of(primitive_surface(body, kind, size), np.ones(3)))


def primitive_surface(body: Body, kind: int, size: tuple[float, ...]) -> Surface:
    """A box, ball, cylinder or capsule as triangles, as annotators have it."""
    mesh = primitive_mesh(body, kind, size)
    return Surface(mesh.vertices, mesh.faces)


def _cast(scene: RayScene, exposure: Exposure, directions: Array) -> Hits:
    return scene.first_hits(
        exposure.T_world_camera,
        directions,
        near=exposure.near_m,
        far=exposure.far_m,
        pinhole=isinstance(exposure.optics, Pinhole),
    )


def _shade(world: World, scene: RayScene, exposure: Exposure, hits: Hits, directions: Array) -> Shaded:
    return shaded(
        scene,
        hits,
        exposure.T_world_camera,
        directions,
        light=world.light,
        shadow=exposure.shadow and world.light.shadow,
        pixel_rad=1.0 / exposure.optics.fy,
    )


def _image(shape: tuple[int, int], pixels: Array, values: Array, elsewhere: float) -> Array:
    """An image of values (N, ...) at pixels (N,)."""
    if len(pixels) == shape[0] * shape[1]:
        return values.reshape(*shape, *values.shape[1:])
    image = np.full((shape[0] * shape[1], *values.shape[1:]), elsewhere, dtype=values.dtype)
    image[pixels] = values
    return image.reshape(*shape, *values.shape[1:])


def _edges(which: Array, lit: Array, normals: Array) -> Array:
    """(height, width) bool: pixels beside another shape, another side or the border of a shadow."""
    edges: Array = np.zeros(which.shape, dtype=bool)
    for here, there in (
        ((slice(None), slice(1, None)), (slice(None), slice(None, -1))),
        ((slice(1, None), slice(None)), (slice(None, -1), slice(None))),
    ):
        differ = (which[here] != which[there]) | (lit[here] != lit[there])
        differ |= (np.einsum("hwi,hwi->hw", normals[here], normals[there]) < _BENDS) & (which[here] >= 0)
        edges[here] |= differ
        edges[there] |= differ
    return edges
