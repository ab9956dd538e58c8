"""The software renderer: triangles, textures, sun, surroundings, shadows and darkened corners, on one core.

`simcore/sim/native/raster.c` draws; this module tells it what is visible, and how it looks.
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from PIL import Image

from unlatch.simcore.cache import LRUCache, arrays_key, kept_arrays
from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Array
from unlatch.simcore.sim.core import load_library
from unlatch.simcore.sim.renderers.light import (
    HEADROOM,
    SKY,
    SUN,
    decode_srgb,
    encode_srgb,
    environment_light,
    tone_map,
)
from unlatch.simcore.sim.renderers.link_geometry import (
    DrawnLink,
    ShapeGeometry,
    drawn_links,
    geometry_key,
    merge_near_vertices,
    shape_geometry,
)
from unlatch.simcore.sim.renderers.renderer import RawImages, RenderedWorld, Renderer, RenderRequest
from unlatch.simcore.sim.visuals.visual_shapes import Light, Paint

SKY_SIDE = 65
"""Rows and columns of a map of the surroundings."""
_LINEAR_STEPS = 4096
_MAX_FACETS = 3
_MAX_GEOMETRIES = 512
"""Links whose triangles are kept between episodes."""
_MAX_VIEWS = 6
"""Cameras whose picture of what stands still is kept."""
_SHADOW_SIDE, _SHADOW_SPAN_M = 1024, 3.4
"""Texels along a side of the shadow map, and length of that side [m]: the renderer for graphics cards has the same."""
_SHADOW_MIDDLE_M = (0.4, 0.0, 0.3)
"""Where the shadow map is centred, world frame [m]."""
_HORIZON, _ZENITH = (0xDF, 0xE3, 0xE6), (0xF4, 0xF5, 0xF6)
"""Levels of the background at the lower and the upper edge of a picture."""

_POINTERS = ("vertices", "normals", "uvs", "face_normals", "shadow_vertices", "faces", "shadow_faces", "texture")
_COUNTS = ("link", "first_face", "n_vertices", "n_faces", "n_shadow_vertices", "n_shadow_faces")
_FLAGS = ("is_sheet", "is_clear", "moves", "link_id")
_SHAPE = np.dtype(
    [
        *((name, np.int32) for name in (*_COUNTS, *_FLAGS)),
        ("centre", np.float32, 3),
        ("radius", np.float32),
        ("colour", np.float32, 3),
        *((name, np.float32) for name in ("alpha", "roughness", "metalness", "emission", "unused")),
        *((name, np.uintp) for name in (*_POINTERS, "radiance")),
    ],
    align=True,
)
"""`Shape` of raster.h."""
_INT, _POINTER, _NUMBER, _FLOAT = ctypes.c_int32, ctypes.c_void_p, ctypes.c_double, ctypes.c_float


class _Texture(ctypes.Structure):
    _fields_ = [("n_levels", _INT), ("width", _INT), ("height", _INT), ("unused", _INT), ("texels", _POINTER)]


class _Scene(ctypes.Structure):
    _fields_ = [
        ("n_shapes", _INT),
        ("n_links", _INT),
        ("shapes", _POINTER),
        ("poses", _POINTER),
        ("sun", _NUMBER * 3),
        ("sun_colour", _FLOAT * 3),
        ("sky_strength", _FLOAT),
        ("brightest", _FLOAT),
        ("has_shadow", _INT),
        ("irradiance", _POINTER),
        ("levels", _POINTER),
        ("linear", _POINTER),
    ]


_Rect = _INT * 4


class _ShadowMap(ctypes.Structure):
    _fields_ = [
        ("side", _INT),
        ("unused", _INT),
        ("R", _NUMBER * 9),
        ("middle", _NUMBER * 3),
        ("texel_m", _NUMBER),
        ("kept", _POINTER),
        ("now", _POINTER),
        ("changed", _Rect),
    ]


class _Layer(ctypes.Structure):
    _fields_ = [(name, _POINTER) for name in ("near", "kept_near", "face", "kept_face")]


_PER_PIXEL: dict[str, tuple[Any, int]] = {
    "first": (np.int32, 1),
    "count": (np.uint8, 1),
    "depth": (np.float32, 1),
    "normals": (np.float32, 3),
    "taken": (np.float32, 1),
    "rgb": (np.uint8, 3),
}
"""Arrays of a view by pixel: type and number of values; each has a kept one beside it."""


class _View(ctypes.Structure):
    _fields_ = [
        *((name, _INT) for name in ("width", "height", "samples_along", "is_kept", "keeps", "has_clear")),
        *((name, _NUMBER) for name in ("fx", "fy", "cx", "cy", "near", "far")),
        ("T_camera_world", _NUMBER * 12),
        ("layers", _Layer * 2),
        ("facets", _POINTER),
        *((f"{kept}{name}", _POINTER) for name in _PER_PIXEL for kept in ("", "kept_")),
        ("background", _POINTER),
        ("n_kept", _INT),
        ("unused", _INT),
        ("drawn", _Rect),
        ("lit", _Rect),
    ]


@cache
def _library() -> Any:
    """Loads the renderer.

    Raises:
        WorldError: It is not built, or is another version's.
    """
    library = load_library()
    for name, n_arguments in (
        ("raster_keep_shadows", 2),
        ("raster_draw_shadows", 2),
        ("raster_draw_picture", 3),
        ("raster_draw_geometry", 2),
        ("raster_read_geometry", 5),
        ("raster_sizes", 1),
    ):
        getattr(library, name).argtypes = (_POINTER,) * n_arguments
    sizes: Array = np.zeros(9, dtype=np.int32)
    library.raster_sizes(sizes.ctypes.data)
    facet = 12 * 4
    expected = [ctypes.sizeof(_Texture), _SHAPE.itemsize, ctypes.sizeof(_Scene), ctypes.sizeof(_ShadowMap), facet]
    expected += [ctypes.sizeof(_View), SKY_SIDE, _LINEAR_STEPS, _MAX_FACETS]
    if sizes.tolist() != expected:
        raise WorldError(
            f"The software renderer of Unlatch does not fit: its structures are {sizes.tolist()} (expected "
            f"{expected}). Install Unlatch anew, in a clone with: pip install -e ."
        )
    return library


def _draw(name: str, *structures: Any) -> None:
    """Calls a function of the library with structures and arrays; None is a null pointer."""
    pointers = [
        None if item is None else item.ctypes.data if isinstance(item, np.ndarray) else ctypes.addressof(item)
        for item in structures
    ]
    if not getattr(_library(), name)(*pointers):
        raise WorldError("The software renderer got no memory. Draw a smaller picture, or close other programs.")


class SoftwareRenderer(Renderer):
    """Draws with the processor: the same picture, to the bit, of the same scene on one machine.

    Colours, depth, links and normals are of one drawing of all triangles; the shadow map alone has fewer. What stands
    still is drawn and lit once by each camera that stands still, which changes no picture.
    """

    name: ClassVar[str] = "software"

    def __init__(self) -> None:
        self._geometries: LRUCache[list[_ShapeArrays]] = LRUCache(_MAX_GEOMETRIES)
        self._views: LRUCache[_CameraView] = LRUCache(_MAX_VIEWS)
        self._cameras: OrderedDict[object, None] = OrderedDict()
        self._scene: _DrawnScene | None = None

    @property
    def version(self) -> str:
        """See `Renderer`."""
        return "unlatch software 1"

    def open(self, world: RenderedWorld) -> None:
        """See `Renderer`."""
        _library()

    def render(self, world: RenderedWorld, request: RenderRequest) -> RawImages:
        """See `Renderer`."""
        pinhole = request.optics
        if not isinstance(pinhole, Pinhole):
            raise WorldError("renderer=software draws through a pinhole. Assemble other lenses from pinhole images.")
        scene = self._update_scene(world)
        view = self._get_view(request, scene)
        shape = (pinhole.height, pinhole.width)
        if request.colours:
            scene.set_light(world.light, shadow=request.shadow and world.light.shadow)
            scene.draw_shadows()
            view.draw_picture(scene)
            rgb = view.arrays["rgb"].copy()
        else:
            view.draw_geometry(scene)
            rgb = np.zeros((*shape, 3), dtype=np.uint8)
        return view.read(scene, request, rgb)

    def close(self) -> None:
        """See `Renderer`."""
        self._scene = None
        self._views = LRUCache(_MAX_VIEWS)

    def _update_scene(self, world: RenderedWorld) -> _DrawnScene:
        """Returns what is visible now; it is read anew only if bodies or paint have changed."""
        key = [(body, body.visual_shapes) for body in world.seen_bodies()]
        if self._scene is None or self._scene.key != key or self._scene.paint != world.paint:
            links = list(drawn_links(world))
            shapes = [
                self._geometries.get(geometry_key(link.body, link.shapes), partial(_read_shapes, link))
                for link in links
            ]
            self._scene = _DrawnScene(key, dict(world.paint), links, shapes)
        self._scene.update_poses()
        return self._scene

    def _get_view(self, request: RenderRequest, scene: _DrawnScene) -> _CameraView:
        """Returns the arrays of a camera; one that stands still has its own, which are kept."""
        samples_along = 2 if request.colours and request.smooth else 1
        lens = (request.optics, samples_along, scene.has_clear)
        camera = (*lens, request.near_m, request.far_m, request.T_world_camera.matrix.tobytes())
        stands_still = request.colours and camera in self._cameras
        self._cameras[camera] = None
        self._cameras.move_to_end(camera)
        if len(self._cameras) > 2 * _MAX_VIEWS:
            self._cameras.popitem(last=False)
        view = self._views.get(camera if stands_still else lens, partial(_CameraView, *lens))
        view.set_camera(request, keeps=stands_still)
        return view


class _ShapeArrays(NamedTuple):
    """One shape of a link, as the renderer reads it."""

    geometry: ShapeGeometry
    arrays: dict[str, Array]
    centre: Array
    radius_m: float


def _read_shapes(link: DrawnLink) -> list[_ShapeArrays]:
    return [_shape_arrays(shape_geometry(link.body, shape)) for shape in link.shapes]


def _shape_arrays(geometry: ShapeGeometry) -> _ShapeArrays:
    vertices, faces = geometry.vertices, geometry.faces.astype(np.int32)
    corners = vertices[faces].astype(float)
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(across, axis=1, keepdims=True)
    shadow_vertices, shadow_faces = merge_near_vertices(vertices, faces, _SHADOW_SPAN_M / _SHADOW_SIDE)
    arrays = {
        "vertices": vertices,
        "normals": geometry.normals,
        "uvs": geometry.uvs,
        "faces": faces,
        "face_normals": (across / np.maximum(lengths, 1e-30)).astype(np.float32),
        "shadow_vertices": shadow_vertices,
        "shadow_faces": shadow_faces,
    }
    middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2.0
    radius_m = float(np.linalg.norm(vertices - middle, axis=1).max()) * (1.0 + 1e-5)  # for rounding
    return _ShapeArrays(geometry, {key: np.ascontiguousarray(each) for key, each in arrays.items()}, middle, radius_m)


class _DrawnScene:
    """The visible links of a world, their poses and their light."""

    def __init__(
        self,
        key: list[Any],
        paint: dict[tuple[int, int, int], Paint],
        links: list[DrawnLink],
        geometries: Sequence[list[_ShapeArrays]],
    ) -> None:
        self.key, self.paint = key, paint
        self.generation = 0
        """Changes when what is kept of pictures is not valid any more."""
        self._links = links
        self._poses: list[Any] = [None] * len(links)
        self._matrices = np.zeros((len(links), 3, 4))
        self._moves = np.zeros(len(links), dtype=bool)
        self._geometries = geometries  # the renderer reads their arrays
        self._textures: dict[Path, _LoadedTexture] = {}
        shapes = [
            self._describe_shape(place, link, paint, shape)
            for place, (link, found) in enumerate(zip(links, geometries, strict=True))
            for shape, paint in zip(found, link.paints, strict=True)
        ]
        self._shapes: Array = np.array(shapes, dtype=_SHAPE)
        self._shapes["first_face"] = np.cumsum([0, *self._shapes["n_faces"]])[:-1]
        self.has_clear = bool(self._shapes["is_clear"].any())
        self.struct = _Scene(
            n_shapes=len(shapes),
            n_links=len(links),
            shapes=self._shapes.ctypes.data,
            poses=self._matrices.ctypes.data,
            brightest=HEADROOM,
            irradiance=_sky_map(1.0).ctypes.data,
            levels=_levels().ctypes.data,
            linear=_linear_values().ctypes.data,
        )
        self._light: tuple[Light, bool] | None = None
        self._distances = np.zeros((2, _SHADOW_SIDE, _SHADOW_SIDE), dtype=np.float32)
        self.shadows = _ShadowMap(
            side=_SHADOW_SIDE,
            middle=_SHADOW_MIDDLE_M,
            texel_m=_SHADOW_SPAN_M / _SHADOW_SIDE,
            kept=self._distances[0].ctypes.data,
            now=self._distances[1].ctypes.data,
        )
        self._drawn_shadows: int | None = None
        self._has_moved = True

    def _describe_shape(self, place: int, link: DrawnLink, paint: Paint, shape: _ShapeArrays) -> tuple[Any, ...]:
        """Returns the values of a `Shape`."""
        geometry, arrays = shape.geometry, shape.arrays
        finish = geometry.finish
        picture = (paint.picture or geometry.picture) if geometry.textured else None
        is_clear = paint.rgba[3] < 1.0
        casts = not (link.body.sheet or is_clear or finish.emission > 0.0)
        pointers = {name: array.ctypes.data for name, array in arrays.items()}
        pointers["texture"] = 0 if picture is None else self._find_texture(picture)
        return (
            place,
            0,
            len(arrays["vertices"]),
            len(arrays["faces"]),
            len(arrays["shadow_vertices"]),
            len(arrays["shadow_faces"]) if casts else 0,
            link.body.sheet,
            is_clear,
            0,
            link.link_id,
            tuple(shape.centre),
            shape.radius_m,
            tuple(decode_srgb(np.array(paint.rgba[:3], dtype=float))),
            paint.rgba[3],
            finish.roughness,
            finish.metalness,
            finish.emission,
            0.0,
            *(pointers[name] for name in _POINTERS),
            _sky_map(round(finish.roughness, 2)).ctypes.data,
        )

    def _find_texture(self, path: Path) -> int:
        """Returns the address of a texture, which lives as long as this scene."""
        self._textures.setdefault(path, _read_texture(path))
        return ctypes.addressof(self._textures[path].struct)

    def update_poses(self) -> None:
        """Reads the poses of links. One that has moved is drawn anew in every picture from now on."""
        first = self._poses[:1] == [None]
        for place, link in enumerate(self._links):
            pose = link.body.link_pose(link.name)
            if pose is self._poses[place]:
                continue
            self._poses[place] = pose
            matrix = pose.matrix[:3]
            if np.array_equal(self._matrices[place], matrix):
                continue
            self._matrices[place] = matrix
            self._has_moved = True
            if not first and not self._moves[place]:
                self._moves[place] = True
                self._shapes["moves"][self._shapes["link"] == place] = 1
                self.generation += 1

    def set_light(self, light: Light, *, shadow: bool) -> None:
        """Sets the light; `shadow` is whether things cast shadows."""
        if self._light == (light, shadow):
            return
        self._light = (light, shadow)
        self.generation += 1
        default = Light()
        towards = np.array(light.direction) / max(float(np.linalg.norm(light.direction)), 1e-9)
        aside = np.cross(np.eye(3)[int(np.argmin(np.abs(towards)))], towards)
        aside /= np.linalg.norm(aside)
        self.struct.sun[:] = towards.tolist()
        self.struct.sun_colour[:] = [SUN * light.diffuse / default.diffuse * value for value in light.colour]
        self.struct.sky_strength = SKY * light.ambient / default.ambient
        self.struct.has_shadow = int(shadow)
        self.shadows.R[:] = [*aside, *np.cross(towards, aside), *towards]

    def draw_shadows(self) -> None:
        """Draws the shadow map, if anything has changed in it."""
        if self._drawn_shadows != self.generation:
            _draw("raster_keep_shadows", self.struct, self.shadows)
        if self._drawn_shadows != self.generation or self._has_moved:
            _draw("raster_draw_shadows", self.struct, self.shadows)
        self._drawn_shadows, self._has_moved = self.generation, False


class _CameraView:
    """The arrays of one camera; see `View` of raster.h."""

    def __init__(self, pinhole: Pinhole, samples_along: int, has_clear: bool) -> None:
        width, height = pinhole.width, pinhole.height
        self._generation: tuple[object, int] | None = None
        self.arrays: dict[str, Array] = {}
        border = samples_along - 1
        grid = (samples_along * height + border, samples_along * width + border)
        self.struct = struct = _View(
            width=width,
            height=height,
            samples_along=samples_along,
            has_clear=has_clear,
            fx=pinhole.fx,
            fy=pinhole.fy,
            cx=pinhole.cx,
            cy=pinhole.cy,
        )
        # memory that is never written is never taken from the system
        for name, (kind, count) in _PER_PIXEL.items():
            for key in (name, f"kept_{name}"):
                self.arrays[key] = np.empty((height, width, count), dtype=kind)
        self.arrays["facets"] = np.empty((2 * _MAX_FACETS * height * width, 12), dtype=np.float32)
        self.arrays["background"] = _background(height)
        for key, array in self.arrays.items():
            setattr(struct, key, array.ctypes.data)
        self._layers = [
            {name: np.empty(grid, dtype=np.float32 if "near" in name else np.int32) for name, _ in _Layer._fields_}
            for _ in range(1 + has_clear)
        ]
        for number, layer in enumerate(self._layers):
            for name, array in layer.items():
                setattr(struct.layers[number], name, array.ctypes.data)

    def set_camera(self, request: RenderRequest, *, keeps: bool) -> None:
        """Sets pose and range of the camera; `keeps` is whether what stands still is kept for its next picture."""
        self.struct.T_camera_world[:] = request.T_world_camera.inverse().matrix[:3].ravel().tolist()
        self.struct.near, self.struct.far = request.near_m, request.far_m
        self.struct.keeps = keeps

    def draw_picture(self, scene: _DrawnScene) -> None:
        """Draws samples and colours."""
        if self._generation is None or self._generation[0] is not scene or self._generation[1] != scene.generation:
            self.struct.is_kept = 0
        self._generation = (scene, scene.generation)
        _draw("raster_draw_picture", scene.struct, scene.shadows, self.struct)

    def draw_geometry(self, scene: _DrawnScene) -> None:
        """Draws samples alone."""
        _draw("raster_draw_geometry", scene.struct, self.struct)

    def read(self, scene: _DrawnScene, request: RenderRequest, rgb: Array) -> RawImages:
        """Returns the images of the drawn samples, with the colours `rgb`."""
        shape = rgb.shape[:2]
        depth = np.full(shape, np.inf, dtype=np.float32)
        link_ids: Array = np.zeros(shape, dtype=np.int32)
        normals: Array | None = np.zeros((*shape, 3), dtype=np.float32) if request.normals else None
        if request.depth or request.labels or request.normals:
            _draw("raster_read_geometry", scene.struct, self.struct, depth, link_ids, normals)
        return RawImages(rgb, depth, link_ids, normals=normals)


class _LoadedTexture(NamedTuple):
    struct: _Texture
    texels: Array


def _read_texture(path: Path) -> _LoadedTexture:
    """Returns the texture of a file; a changed file is read again."""
    status = path.stat()
    return _load_texture(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _load_texture(path: Path, _mtime_ns: int, _size: int) -> _LoadedTexture:
    with Image.open(path) as image:
        level: Array = np.asarray(image.convert("RGB"), dtype=np.float32)
    height, width = level.shape[:2]
    levels = [level]
    while max(level.shape[:2]) > 1:
        rows, columns = (max(1, size // 2) for size in level.shape[:2])
        level = level[: 2 * rows, : 2 * columns]
        level = level.reshape(rows, level.shape[0] // rows, columns, level.shape[1] // columns, 3).mean(axis=(1, 3))
        levels.append(level)
    texels = np.concatenate([np.rint(each).astype(np.uint8).ravel() for each in levels])
    return _LoadedTexture(_Texture(len(levels), width, height, 0, texels.ctypes.data), texels)


def octahedral_directions(side: int) -> Array:
    """Returns the unit directions (side, side, 3) of the map of an octahedron: rows along y, columns along x."""
    at = np.linspace(-1.0, 1.0, side)
    x, y = np.meshgrid(at, at)
    z = 1.0 - np.abs(x) - np.abs(y)
    below = z < 0.0
    folded_x = (1.0 - np.abs(y)) * np.where(x < 0.0, -1.0, 1.0)
    folded_y = (1.0 - np.abs(x)) * np.where(y < 0.0, -1.0, 1.0)
    found = np.stack([np.where(below, folded_x, x), np.where(below, folded_y, y), z], axis=-1)
    return found / np.linalg.norm(found, axis=-1, keepdims=True)


@cache
def _sky_map(roughness: float) -> Array:
    """Returns the light (side, side, 3) float32 that a surface of a roughness reflects, by direction; 1: a matt one."""
    key = arrays_key(__file__, SKY_SIDE, np.array(roughness))
    return kept_arrays("surroundings", key, lambda: {"light": _blur_sky(roughness)})["light"]


def _blur_sky(roughness: float) -> Array:
    """Computes `_sky_map`.

    Graphics cards read a cube of pictures whose level follows from the roughness, as pygfx chooses it: texels of the
    last level are a face each, 90 degrees wide. The same width as a standard deviation is half a texel. Levels are
    means of sRGB values, which soft boxes light less than means of light.
    """
    width_rad = 0.25 * np.pi * min(1.0, np.pi * roughness**2 / (1.0 + roughness))
    rows = int(np.clip(np.ceil(2.0 / max(width_rad, 1e-3)), 8, 32))
    if width_rad < 1.0 / 32:
        return environment_light(octahedral_directions(SKY_SIDE)).astype(np.float32)
    at = (np.arange(rows) + 0.5) / rows * 2.0 - 1.0
    u, v = np.meshgrid(at, at)
    face = np.stack([np.ones_like(u), u, v], axis=-1).reshape(-1, 3)
    faces = np.concatenate([sign * np.roll(face, turn, axis=1) for sign in (1.0, -1.0) for turn in range(3)])
    lengths = np.linalg.norm(faces, axis=1, keepdims=True)
    sources, areas = faces / lengths, 1.0 / lengths[:, 0] ** 3
    seen = encode_srgb(environment_light(sources))
    cosines = octahedral_directions(SKY_SIDE).reshape(-1, 3) @ sources.T
    weights = areas * np.exp((cosines - 1.0) / width_rad**2)
    mixed = weights @ seen / weights.sum(axis=1, keepdims=True)
    return decode_srgb(mixed).reshape(SKY_SIDE, SKY_SIDE, 3).astype(np.float32)


@cache
def _levels() -> Array:
    """Returns the levels (4096,) uint8 of a picture by the root of the share of the largest brightness."""
    return tone_map(HEADROOM * (np.arange(_LINEAR_STEPS) / (_LINEAR_STEPS - 1)) ** 2)


@cache
def _linear_values() -> Array:
    return decode_srgb(np.arange(256) / 255.0).astype(np.float32)


@lru_cache(maxsize=8)
def _background(height: int) -> Array:
    """Returns the linear brightness (height, 3) of the background, darker towards the lower edge."""
    up = 1.0 - (np.arange(height)[:, None] + 0.5) / height
    mixed = np.array(_HORIZON) + up * (np.array(_ZENITH) - np.array(_HORIZON))
    return (HEADROOM * decode_srgb(mixed / 255.0)).astype(np.float32)
