"""Ray casting on the CPU by Intel's Embree: exact geometry through any lens, smooth edges, hard shadows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import ClassVar, NamedTuple

import numpy as np

from unlatch.simcore.cache import LRUCache
from unlatch.simcore.cameras import Fisheye, Pinhole
from unlatch.simcore.errors import WorldError
from unlatch.simcore.registry import import_extra
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.renderers.link_geometry import drawn_links, shape_key, shape_scale, shape_surface
from unlatch.simcore.sim.renderers.ray_casting import (
    FaceShading,
    PlacedLink,
    Rays,
    RayScene,
    RayShape,
    RaySurface,
    hit_normals,
    shade_hits,
)
from unlatch.simcore.sim.renderers.renderer import RawImages, RenderedWorld, Renderer, RenderRequest
from unlatch.simcore.sim.visuals.visual_shapes import VisualShape

Array = np.ndarray

_QUARTER_OFFSETS = ((-0.25, -0.25), (0.25, -0.25), (-0.25, 0.25), (0.25, 0.25))
"""Sample positions of a pixel on an edge, from its centre [pixels]."""
_EDGE_COSINE = 0.9
"""There is an edge between two pixels if the cosine of the angle between their normals is below this."""


class EmbreeRenderer(Renderer):
    """Casts one ray per pixel, and four more for the colour of pixels on an edge; on one core.

    Depth, labels and normals are those of the triangles on each pixel's ray. Shapes have two visible sides, panels of
    `scenery.py` one. Fully transparent shapes are invisible.
    """

    name: ClassVar[str] = "embree"
    lenses: ClassVar[tuple[type[Pinhole] | type[Fisheye], ...]] = (Pinhole, Fisheye)

    def __init__(self) -> None:
        self._surfaces: LRUCache[RaySurface] = LRUCache(128)  # links whose ray trees are kept between episodes
        self._shading: tuple[list[RaySurface], FaceShading] | None = None
        self._rays: tuple[Pinhole | Fisheye, Array, Rays] | None = None

    @property
    def version(self) -> str:
        """See `Renderer`."""
        return f"embreex {version('embreex')}"

    def open(self, world: RenderedWorld) -> None:
        """See `Renderer`."""
        import_extra("embreex", extra="raycast", needed_by="renderer=embree", error=WorldError)

    def render(self, world: RenderedWorld, request: RenderRequest) -> RawImages:
        """See `Renderer`."""
        optics = request.optics
        pixels, rays = self._get_rays(optics)
        scene = self._place_links(world)
        if scene is None:
            return _empty_images(optics, pixels)
        seen = _RayValues.concatenate([_cast_rays(world, scene, request, batch) for batch in rays.batches()])
        link_ids = np.array([*(link.link_id for link in scene.links), 0], dtype=np.int32)  # the last one for index -1
        forward = rays.directions[:, 2]
        with np.errstate(invalid="ignore"):
            depth: Array = np.where(forward > 0.0, seen.reach * forward, np.inf)
        if request.colours:
            _smooth_edges(world, scene, request, seen, pixels, rays)
        return RawImages(
            _to_image(optics, pixels, np.rint(seen.rgb).astype(np.uint8), 0),
            _to_image(optics, pixels, depth.astype(np.float32), np.inf),
            _to_image(optics, pixels, link_ids[seen.link_index], 0),
            _to_image(optics, pixels, seen.reach, np.inf) if isinstance(optics, Fisheye) else None,
            _to_image(optics, pixels, seen.normals, 0.0) if request.normals else None,
        )

    def _get_rays(self, optics: Pinhole | Fisheye) -> tuple[Array, Rays]:
        """Returns indices (N,) of the pixels within the lens, and their rays; the last ones are kept."""
        if self._rays is None or self._rays[0] != optics:
            directions: Array = optics.rays().reshape(-1, 3).astype(np.float32)
            pixels = np.flatnonzero(np.isfinite(directions).all(axis=1))
            pinhole = optics if isinstance(optics, Pinhole) else None
            rays = Rays(directions[pixels], pinhole, flat=pinhole is not None)
            self._rays = (optics, pixels, rays)
        return self._rays[1:]

    def _place_links(self, world: RenderedWorld) -> RayScene | None:
        """Returns the links of a world at their present poses; None if nothing is visible."""
        found: list[PlacedLink] = []
        for link in drawn_links(world):
            surface = self._get_surface(link.body, link.shapes)
            colours = tuple(paint.rgba[:3] for paint in link.paints)
            pictures = tuple(
                (paint.picture or own) if textured else None
                for paint, own, textured in zip(link.paints, surface.pictures, surface.textured, strict=True)
            )
            pose, sheet = link.body.link_pose(link.name), link.body.sheet
            found.append(PlacedLink(surface, pose, link.link_id, colours, pictures, sheet))
        if not found:
            return None
        surfaces = [link.surface for link in found]
        if self._shading is None or self._shading[0] != surfaces:
            counts = [len(surface.pictures) for surface in surfaces]
            self._shading = (surfaces, FaceShading.join([surface.shading for surface in surfaces], shapes=counts))
        return RayScene(found, self._shading[1])

    def _get_surface(self, body: Body, shapes: Sequence[VisualShape]) -> RaySurface:
        """Returns the ray surface of a link's visual shapes."""
        keys = tuple(shape_key(body, shape) for shape in shapes)

        def make() -> RaySurface:
            return RaySurface.from_shapes(
                [
                    (
                        shape.T_link_shape,
                        RayShape.from_surface(shape_surface(body, shape), np.array(shape_scale(body, shape))),
                    )
                    for shape in shapes
                ]
            )

        poses = tuple((*shape.T_link_shape.p.tolist(), *shape.T_link_shape.quat_xyzw.tolist()) for shape in shapes)
        return self._surfaces.get((keys, poses), make)


class _RayValues(NamedTuple):
    """The visible values of N rays."""

    link_index: Array
    """(N,) index of the link, -1 for none."""
    reach: Array
    """(N,) as in `RayHits`."""
    normals: Array
    """(N, 3) in the camera frame; 0 unless normals or colours are wanted."""
    rgb: Array
    """(N, 3) 0 to 255; 0 unless colours are wanted."""
    lit: Array
    """(N,) bool: whether light reaches the surface."""

    @classmethod
    def concatenate(cls, parts: Sequence[_RayValues]) -> _RayValues:
        """Joins parts in their order."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


def _cast_rays(world: RenderedWorld, scene: RayScene, request: RenderRequest, rays: Rays) -> _RayValues:
    T_world_camera, count = request.T_world_camera, len(rays.directions)
    hits = scene.first_hits(T_world_camera, rays, near=request.near_m, far=request.far_m)
    normals: Array = np.zeros((count, 3), dtype=np.float32)
    rgb: Array = np.zeros((count, 3), dtype=np.float32)
    lit: Array = np.zeros(count, dtype=bool)
    if request.colours or request.normals:
        normals = hit_normals(scene, hits, T_world_camera, rays)
    if request.colours:
        shadow = request.shadow and world.light.shadow
        pixel_rad = 1.0 / request.optics.fy
        rgb, lit = shade_hits(scene, hits, T_world_camera, rays, light=world.light, shadow=shadow, pixel_rad=pixel_rad)
    return _RayValues(hits.link_index, hits.reach, normals, rgb, lit)


def _smooth_edges(
    world: RenderedWorld, scene: RayScene, request: RenderRequest, seen: _RayValues, pixels: Array, rays: Rays
) -> None:
    """Replaces the colour of pixels on an edge by the mean of four rays."""
    optics = request.optics
    edges = _find_edges(
        _to_image(optics, pixels, seen.link_index, -1),
        _to_image(optics, pixels, seen.lit, False),
        _to_image(optics, pixels, seen.normals, 0.0),
    )
    places = np.flatnonzero(edges.ravel()[pixels])
    if not len(places):
        return
    rows, columns = np.divmod(pixels[places], optics.width)
    right, down = np.array(_QUARTER_OFFSETS).T[:, :, None]
    directions: Array = optics.rays_at(columns + right, rows + down).astype(np.float32)  # (4, M, 3)
    directions = np.where(np.isfinite(directions), directions, rays.directions[places]).reshape(-1, 3)
    wanted = replace(request, normals=False)
    around = [_cast_rays(world, scene, wanted, batch) for batch in Rays(directions, None, rays.flat).batches()]
    seen.rgb[places] = _RayValues.concatenate(around).rgb.reshape(len(_QUARTER_OFFSETS), -1, 3).mean(axis=0)


def _empty_images(optics: Pinhole | Fisheye, pixels: Array) -> RawImages:
    """Returns the images of an empty world."""
    shape = (optics.height, optics.width)
    white: Array = np.full((len(pixels), 3), 255, dtype=np.uint8)
    far: Array = np.full(shape, np.inf, dtype=np.float32)
    ids: Array = np.zeros(shape, dtype=np.int32)
    return RawImages(_to_image(optics, pixels, white, 0), far, ids, far if isinstance(optics, Fisheye) else None)


def _to_image(optics: Pinhole | Fisheye, pixels: Array, values: Array, elsewhere: float) -> Array:
    """Returns an image of values (N, ...) at pixels (N,)."""
    shape = (optics.height, optics.width, *values.shape[1:])
    if len(pixels) == optics.height * optics.width:
        return values.reshape(shape)
    image = np.full((optics.height * optics.width, *values.shape[1:]), elsewhere, dtype=values.dtype)
    image[pixels] = values
    return image.reshape(shape)


def _find_edges(which: Array, lit: Array, normals: Array) -> Array:
    """(height, width) bool: pixels at the border of a link, a side or a shadow."""
    edges: Array = np.zeros(which.shape, dtype=bool)
    for here, there in (
        ((slice(None), slice(1, None)), (slice(None), slice(None, -1))),
        ((slice(1, None), slice(None)), (slice(None, -1), slice(None))),
    ):
        differ = (which[here] != which[there]) | (lit[here] != lit[there])
        differ |= (np.einsum("hwi,hwi->hw", normals[here], normals[there]) < _EDGE_COSINE) & (which[here] >= 0)
        edges[here] |= differ
        edges[there] |= differ
    return edges
