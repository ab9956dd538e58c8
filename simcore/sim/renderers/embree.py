"""Ray casting on the CPU by Intel's Embree: exact geometry through any lens, smooth edges, hard shadows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import pybullet as p

from unlatch.simcore.errors import WorldError
from unlatch.simcore.extras import import_extra
from unlatch.simcore.geometry import Fisheye, Pinhole
from unlatch.simcore.lru_cache import LRUCache
from unlatch.simcore.meshes.mesh_reader import SurfaceMesh, read_mesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.renderers.ray_scene import PlacedLink, Rays, RayScene
from unlatch.simcore.sim.renderers.ray_shading import hit_normals, shade_hits
from unlatch.simcore.sim.renderers.ray_surface import FaceShading, RayShape, RaySurface
from unlatch.simcore.sim.renderers.renderer import RawImages, RenderedWorld, Renderer, RenderRequest
from unlatch.simcore.sim.visuals.visual_geometry import bullet_primitive_mesh
from unlatch.simcore.sim.visuals.visual_shapes import Paint, VisualShape

Array = np.ndarray

_MAX_SURFACES = 128
"""Links whose ray trees are kept between episodes."""
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
        self._surfaces: LRUCache[RaySurface] = LRUCache(_MAX_SURFACES)
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
                    surface = self._get_surface(body, [shape for shape, _ in shapes[index]])
                    paints = [paint for _, paint in shapes[index]]
                    colours = tuple(paint.rgba[:3] for paint in paints)
                    pictures = tuple(
                        (paint.picture or own) if textured else None
                        for paint, own, textured in zip(paints, surface.pictures, surface.textured, strict=True)
                    )
                    sheet = body.sheet is not None
                    found.append(PlacedLink(surface, body.link_pose(name), number, colours, pictures, sheet))
        if not found:
            return None
        surfaces = [link.surface for link in found]
        if self._shading is None or self._shading[0] != surfaces:
            counts = [len(surface.pictures) for surface in surfaces]
            self._shading = (surfaces, FaceShading.join([surface.shading for surface in surfaces], shapes=counts))
        return RayScene(found, self._shading[1])

    def _get_surface(self, body: Body, shapes: list[VisualShape]) -> RaySurface:
        """Returns the ray surface of a link's visual shapes."""
        keys = tuple(_shape_key(body, shape) for shape in shapes)

        def make() -> RaySurface:
            return RaySurface.from_shapes([(shape.T_link_shape, _make_ray_shape(body, shape)) for shape in shapes])

        poses = tuple((*shape.T_link_shape.p.tolist(), *shape.T_link_shape.quat_xyzw.tolist()) for shape in shapes)
        return self._surfaces.get((keys, poses), make)


def _shape_key(body: Body, shape: VisualShape) -> Hashable:
    """Returns a cache key that determines a shape's triangles."""
    if body.sheet is not None:
        uvs = body.sheet.corner_uvs
        return (body.sheet.mesh.vertices.tobytes(), b"" if uvs is None else uvs.tobytes())
    if shape.kind == p.GEOM_MESH:
        status = Path(shape.path).stat()
        return (shape.path, status.st_mtime_ns, status.st_size, shape.size)
    return (shape.kind, shape.size)


def _make_ray_shape(body: Body, shape: VisualShape) -> RayShape:
    if body.sheet is not None:
        return RayShape.from_surface(body.sheet, np.ones(3))
    if shape.kind == p.GEOM_MESH:
        surface = read_mesh(Path(shape.path), allow_empty=True, with_shading=True)
        return RayShape.from_surface(surface, np.array(shape.size))
    mesh = bullet_primitive_mesh(body, shape)
    uvs = _span_texture(mesh, box=shape.kind == p.GEOM_BOX)
    return RayShape.from_surface(SurfaceMesh(mesh, corner_uvs=uvs), np.ones(3))


def _span_texture(mesh: TriangleMesh, *, box: bool) -> Array:
    """Returns texture coordinates (F, 3, 2) that span each side of a box, or once around a round shape."""
    corners, low, high = mesh.triangles, mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    shares = (corners - low) / (high - low)  # (F, 3, 3)
    if not box:
        around = np.arctan2(corners[..., 1], corners[..., 0]) / (2.0 * np.pi) + 0.5
        back = around < around.max(axis=1, keepdims=True) - 0.5  # beyond the seam the coordinates continue
        return np.stack([around + back, shares[..., 2]], axis=-1)
    facing = np.argmin(np.ptp(shares, axis=1), axis=1)
    axes = np.array([[1, 2], [0, 2], [0, 1]])[facing]  # (F, 2)
    return np.take_along_axis(shares, np.repeat(axes[:, None], 3, axis=1), axis=2)


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
