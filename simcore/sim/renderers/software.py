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
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.process import load_library
from unlatch.simcore.sim.bodies import Body
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
    can_simplify,
    drawn_links,
    geometry_key,
    levels_of_detail,
    shape_geometry,
    simplify_shape,
)
from unlatch.simcore.sim.renderers.renderer import RawImages, RenderedWorld, Renderer, RenderRequest
from unlatch.simcore.sim.visuals.visual_shapes import Light, Paint

SKY_SIDE = 65
"""Rows and columns of a map of the surroundings."""
_LINEAR_STEPS = 4096
_MAX_FACETS = 3
_BLOCK = 16
_MAX_GEOMETRIES = 512
"""Links whose triangles are kept between episodes."""
_MAX_VIEWS = 6
"""Cameras whose picture of what stands still is kept."""
_MAX_LEVELS = 64
"""Choices of levels of detail whose shapes are kept: each camera makes another one as things move."""
_SHADOW_SPAN_M = 3.4
"""Length of a side of the shadow map [m]: the renderer for graphics cards has the same."""
_SHADOW_SIDES = {256: 512, 10**9: 1024}
"""Texels along a side of the shadow map, for pictures of up to that many rows or columns."""
_SHADOW_MIDDLE_M = (0.4, 0.0, 0.3)
"""Where the shadow map is centred, world frame [m]."""
_SHADOW_LEVEL = 2
"""Level of detail of what casts shadows: its surfaces move by 2 mm at most, less than half a texel."""
_HORIZON, _ZENITH = (0xDF, 0xE3, 0xE6), (0xF4, 0xF5, 0xF6)
"""Levels of the background at the lower and the upper edge of a picture."""

_ARRAYS = ("vertices", "normals", "uvs", "face_normals", "faces")
_POINTERS = (*_ARRAYS, "shadow_vertices", "shadow_faces", "texture", "radiance")
_COUNTS = ("link", "first_face", "n_vertices", "n_faces", "n_shadow_vertices", "n_shadow_faces")
_FLAGS = ("is_sheet", "is_clear", "moves", "link_id")
_SHAPE = np.dtype(
    [
        *((name, np.int32) for name in (*_COUNTS, *_FLAGS)),
        ("low", np.float32, 3),
        ("high", np.float32, 3),
        ("colour", np.float32, 3),
        *((name, np.float32) for name in ("alpha", "roughness", "metalness", "emission")),
        ("stays", np.int32),
        *((name, np.uintp) for name in _POINTERS),
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
        ("sun_gloss", _FLOAT),
        ("sky_strength", _FLOAT),
        ("brightest", _FLOAT),
        ("has_shadow", _INT),
        ("is_even", _INT),
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
        ("wide", _POINTER),
        ("changed", _Rect),
    ]


_LAYER = ("near", "kept_near", "face", "kept_face")


class _Layer(ctypes.Structure):
    _fields_ = [(name, _POINTER) for name in _LAYER]


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
        ("kept_bounds", _POINTER),
        ("background", _POINTER),
        ("n_kept", _INT),
        ("is_fine", _INT),
        ("drawn", _Rect),
        ("clear", _Rect),
        ("cleared", _FLOAT),
        ("unused", _FLOAT),
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
        ("raster_draw_geometry", 5),
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
        return self._render(world, request, world.light)

    def render_albedo(self, world: RenderedWorld, request: RenderRequest) -> RawImages:
        """As `render`, but the colours are those of the surfaces alone, without light and shadow."""
        return self._render(world, request, None)

    def _render(self, world: RenderedWorld, request: RenderRequest, light: Light | None) -> RawImages:
        pinhole = request.optics
        if not isinstance(pinhole, Pinhole):
            raise WorldError("renderer=software draws through a pinhole. Assemble other lenses from pinhole images.")
        scene = self._update_scene(world)
        rgb: Array = np.zeros((pinhole.height, pinhole.width, 3), dtype=np.uint8)
        if request.colours:
            view = self._get_view(pinhole, request, 2 if request.smooth else 1, scene)
            scene.set_light(light, shadow=light is not None and request.shadow and light.shadow)
            scene.set_visible_triangles(pinhole, request.T_world_camera)
            rgb = view.draw_picture(scene, scene.draw_shadows(pinhole))
        if request.depth or request.labels or request.normals:
            if request.exact:
                scene.set_all_triangles()
            else:
                scene.set_visible_triangles(pinhole, request.T_world_camera)
            return self._get_view(pinhole, request, 0, scene).draw_geometry(scene, request, rgb)
        shape = rgb.shape[:2]
        return RawImages(rgb, np.full(shape, np.inf, dtype=np.float32), np.zeros(shape, dtype=np.int32))

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
                _shared_geometries().get(geometry_key(link.body, link.shapes), partial(_read_shapes, link))
                for link in links
            ]
            self._scene = _DrawnScene(key, dict(world.paint), links, shapes)
        self._scene.update_poses()
        return self._scene

    def _get_view(
        self, pinhole: Pinhole, request: RenderRequest, samples_along: int, scene: _DrawnScene
    ) -> _CameraView:
        """Returns the arrays of a camera; one that stands still has its own, which are kept."""
        lens = (pinhole, samples_along, scene.has_clear)
        camera = (*lens, request.fine, request.near_m, request.far_m, request.T_world_camera.matrix.tobytes())
        stands_still = camera in self._cameras
        self._cameras[camera] = None
        self._cameras.move_to_end(camera)
        if len(self._cameras) > 2 * _MAX_VIEWS:
            self._cameras.popitem(last=False)
        view = self._views.get(camera if stands_still else lens, partial(_CameraView, *lens))
        view.set_camera(request, keeps=stands_still)
        return view


@cache
def _shared_geometries() -> LRUCache[list[_LinkShape]]:
    """Returns the triangles of links, which all renderers of a process share."""
    return LRUCache(_MAX_GEOMETRIES)


class _LinkShape:
    """One shape of a link, as the renderer reads it."""

    def __init__(self, geometry: ShapeGeometry) -> None:
        self.geometry = geometry
        self.has_levels = can_simplify(geometry)
        self.low, self.high = geometry.vertices.min(axis=0), geometry.vertices.max(axis=0)
        self._by_level: dict[int | None, dict[str, Array]] = {}

    def at_level(self, level: int | None) -> dict[str, Array]:
        """Returns its arrays at a level of detail; None: all triangles."""
        level = level if self.has_levels else None
        if level not in self._by_level:
            geometry = self.geometry if level is None else simplify_shape(self.geometry, level)
            self._by_level[level] = _shape_arrays(geometry)
        return self._by_level[level]


def _read_shapes(link: DrawnLink) -> list[_LinkShape]:
    return [_LinkShape(shape_geometry(link.body, shape)) for shape in link.shapes]


def _shape_arrays(geometry: ShapeGeometry) -> dict[str, Array]:
    mesh = TriangleMesh(geometry.vertices.astype(float), geometry.faces)
    across = mesh.area_normals
    normals = across / np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-30)
    return {
        "vertices": np.ascontiguousarray(geometry.vertices),
        "normals": np.ascontiguousarray(geometry.normals),
        "uvs": np.ascontiguousarray(geometry.uvs),
        "face_normals": np.ascontiguousarray(normals, dtype=np.float32),
        "faces": np.ascontiguousarray(geometry.faces, dtype=np.int32),
    }


class _DrawnScene:
    """The visible links of a world, their poses and their light."""

    def __init__(
        self,
        key: list[Any],
        paint: dict[tuple[int, int, int], Paint],
        links: list[DrawnLink],
        geometries: Sequence[list[_LinkShape]],
    ) -> None:
        self.key, self.paint = key, paint
        self.generation = 0
        """Changes when what is kept of pictures is not valid any more."""
        self._links = links
        self._places: dict[Body, list[int]] = {}
        """Places of the links of each body."""
        for place, link in enumerate(links):
            self._places.setdefault(link.body, []).append(place)
        self._poses: list[Any] = [None] * len(links)
        self._states: dict[Body, tuple[bytes, bytes]] = {}
        self._matrices = np.zeros((len(links), 3, 4))
        self._moves: Array = np.zeros(len(links), dtype=bool)
        self._geometries = geometries  # the renderer reads their arrays
        self._textures: dict[Path, _LoadedTexture] = {}
        self._members = [
            (place, shape, paint)
            for place, (link, found) in enumerate(zip(links, geometries, strict=True))
            for shape, paint in zip(found, link.paints, strict=True)
        ]
        self._shapes: Array = np.array([self._describe_shape(*member) for member in self._members], dtype=_SHAPE)
        self._shapes["first_face"] = np.cumsum([0, *self._shapes["n_faces"]])[:-1]
        self._with_levels = np.flatnonzero([shape.has_levels for _, shape, _ in self._members])
        self._by_levels: LRUCache[Array] = LRUCache(_MAX_LEVELS)
        self._at_level: dict[tuple[int, int], np.void] = {}
        """By number and level: the values of a shape at a level of detail."""
        self.has_clear = bool(self._shapes["is_clear"].any())
        self.struct = _Scene(
            n_shapes=len(self._members),
            n_links=len(links),
            shapes=self._shapes.ctypes.data,
            poses=self._matrices.ctypes.data,
            irradiance=_sky_map(1.0).ctypes.data,
            linear=_linear_values().ctypes.data,
        )
        self._light: tuple[Light | None, bool] | None = None
        self._shadows: dict[int, _Shadows] = {}
        self._n_moves = 0

    def _describe_shape(self, place: int, shape: _LinkShape, paint: Paint) -> tuple[Any, ...]:
        """Returns the values of a `Shape` with all triangles."""
        link, geometry, finish = self._links[place], shape.geometry, shape.geometry.finish
        picture = (paint.picture or geometry.picture) if geometry.textured else None
        is_clear = paint.rgba[3] < 1.0
        casts = not (link.body.sheet or is_clear or finish.emission > 0.0)
        arrays, shadow = shape.at_level(None), shape.at_level(_SHADOW_LEVEL)
        return (
            place,
            0,
            len(arrays["vertices"]),
            len(arrays["faces"]),
            len(shadow["vertices"]),
            len(shadow["faces"]) if casts else 0,
            link.body.sheet,
            is_clear,
            0,
            link.link_id,
            tuple(shape.low),
            tuple(shape.high),
            tuple(decode_srgb(np.array(paint.rgba[:3], dtype=float))),
            paint.rgba[3],
            finish.roughness,
            finish.metalness,
            finish.emission,
            _is_fixed(link),
            *(arrays[name].ctypes.data for name in _ARRAYS),
            shadow["vertices"].ctypes.data,
            shadow["faces"].ctypes.data,
            0 if picture is None else self._find_texture(picture),
            _sky_map(round(finish.roughness, 2)).ctypes.data,
        )

    def set_all_triangles(self) -> None:
        """Chooses all triangles of all shapes."""
        self._set_levels(np.full(len(self._with_levels), -1))

    def set_visible_triangles(self, pinhole: Pinhole, T_world_camera: Pose) -> None:
        """Chooses levels of detail at which surfaces move by less than half a pixel."""
        shapes = self._shapes[self._with_levels]
        T_world_link = self._matrices[shapes["link"]]
        eye = np.einsum("sji,sj->si", T_world_link[:, :, :3], T_world_camera.p - T_world_link[:, :, 3])
        beyond = np.maximum(np.maximum(shapes["low"] - eye, eye - shapes["high"]), 0.0)
        self._set_levels(levels_of_detail(np.linalg.norm(beyond, axis=1) / max(pinhole.fx, pinhole.fy)))

    def _set_levels(self, levels: Array) -> None:
        """Sets the levels (L,) of the shapes that have any; -1: all triangles."""
        shapes = self._by_levels.get(levels.tobytes(), partial(self._shapes_at, levels))
        shapes["moves"] = self._moves[shapes["link"]]
        self.struct.shapes = shapes.ctypes.data

    def _shapes_at(self, levels: Array) -> Array:
        """Returns the shapes at levels of detail."""
        shapes = self._shapes.copy()
        for number, level in zip(self._with_levels.tolist(), levels.tolist(), strict=True):
            if (number, level) not in self._at_level:
                arrays, row = self._members[number][1].at_level(None if level < 0 else level), shapes[number]
                row["n_vertices"], row["n_faces"] = len(arrays["vertices"]), len(arrays["faces"])
                for name in _ARRAYS:
                    row[name] = arrays[name].ctypes.data
                self._at_level[number, level] = row.copy()
            shapes[number] = self._at_level[number, level]
        return shapes

    def _find_texture(self, path: Path) -> int:
        """Returns the address of a texture, which lives as long as this scene."""
        self._textures.setdefault(path, _read_texture(path))
        return ctypes.addressof(self._textures[path].struct)

    def update_poses(self) -> None:
        """Reads the poses of links. One that has moved is drawn anew in every picture from now on."""
        first = self._poses[:1] == [None]
        for body, places in self._places.items():
            state = body.read_state()
            there = state.root[:7].tobytes(), state.links.tobytes()
            if there == self._states.get(body):
                continue
            self._states[body] = there
            for place in places:
                self._update_pose(place, self._links[place], first=first)

    def _update_pose(self, place: int, link: DrawnLink, *, first: bool) -> None:
        pose = link.body.link_pose(link.name)
        if pose is self._poses[place]:
            return
        self._poses[place] = pose
        matrix = pose.matrix[:3]
        if np.array_equal(self._matrices[place], matrix):
            return
        self._matrices[place] = matrix
        self._n_moves += 1
        if first:
            return
        if not self._moves[place]:
            # the links beyond the root will, too: what stands still is drawn once for all
            beyond = [each for each in self._places[link.body] if self._links[each].name != link.body.root_link]
            self._moves[[place, *beyond]] = True
            self.generation += 1
        elif _is_fixed(link):  # its shadow is kept, wherever it is
            self.generation += 1

    def set_light(self, light: Light | None, *, shadow: bool) -> None:
        """Sets the light; `shadow` is whether things cast shadows. None: pixels show the colours of surfaces."""
        if self._light == (light, shadow):
            return
        self._light = (light, shadow)
        self.generation += 1
        self.struct.is_even = int(light is None)
        self.struct.brightest = 1.0 if light is None else HEADROOM
        self.struct.levels = _levels(is_even=light is None).ctypes.data
        light, default = light or Light(), Light()
        towards = np.array(light.direction) / max(float(np.linalg.norm(light.direction)), 1e-9)
        aside = np.cross(np.eye(3)[int(np.argmin(np.abs(towards)))], towards)
        aside /= np.linalg.norm(aside)
        self.struct.sun[:] = towards.tolist()
        self.struct.sun_colour[:] = [SUN * light.diffuse / default.diffuse * value for value in light.colour]
        self.struct.sun_gloss = light.specular / default.specular
        self.struct.sky_strength = SKY * light.ambient / default.ambient
        self.struct.has_shadow = int(shadow)
        self._axes = np.array([aside, np.cross(towards, aside), towards])

    def draw_shadows(self, pinhole: Pinhole) -> _ShadowMap:
        """Returns the shadow map for pictures of a size; it is drawn again if anything has changed in it."""
        largest = max(pinhole.width, pinhole.height)
        side = next(side for most, side in _SHADOW_SIDES.items() if largest <= most)
        shadows = self._shadows.setdefault(side, _Shadows(side))
        shadows.draw(self.struct, self._axes, self.generation, self._n_moves)
        return shadows.struct


def _is_fixed(link: DrawnLink) -> bool:
    """Whether a link is fixed to the world, and moves only if its body is put elsewhere."""
    return link.body.fixed and link.name in link.body.mounted_links


class _Shadows:
    """A shadow map: distances along the light of what stands still, and of everything."""

    def __init__(self, side: int) -> None:
        self._distances: Array = np.empty((3, side, side), dtype=np.float32)
        kept, now, wide = (each.ctypes.data for each in self._distances)
        texel_m = _SHADOW_SPAN_M / side
        self.struct = _ShadowMap(side=side, middle=_SHADOW_MIDDLE_M, texel_m=texel_m, kept=kept, now=now, wide=wide)
        self._drawn: tuple[int, int] | None = None

    def draw(self, scene: _Scene, axes: Array, generation: int, n_moves: int) -> None:
        """Draws what has changed.

        Args:
            scene: The scene.
            axes: (3, 3) rows: right, down, and towards the light; world frame.
            generation: Number of changes of what stands still.
            n_moves: Number of motions.
        """
        if self._drawn == (generation, n_moves):
            return
        if self._drawn is None or self._drawn[0] != generation:
            self.struct.R[:] = axes.ravel().tolist()
            _draw("raster_keep_shadows", scene, self.struct)
        _draw("raster_draw_shadows", scene, self.struct)
        self._drawn = (generation, n_moves)


class _CameraView:
    """The arrays of one camera; see `View` of raster.h."""

    def __init__(self, pinhole: Pinhole, samples_along: int, has_clear: bool) -> None:
        """Makes arrays for colours, or for geometry alone if `samples_along` is 0."""
        width, height = pinhole.width, pinhole.height
        self.samples_along = samples_along
        self._drawn: tuple[object, int] | None = None
        self._arrays: dict[str, Array] = {}
        border = 1 if samples_along == 2 else 0
        along = max(samples_along, 1)
        n_samples = (along * height + border) * (along * width + border)
        self._struct = struct = _View(width=width, height=height, samples_along=along, has_clear=has_clear)
        struct.fx, struct.fy, struct.cx, struct.cy = pinhole.fx, pinhole.fy, pinhole.cx, pinhole.cy
        # memory that is never written is never taken from the system
        for name, (kind, count) in _PER_PIXEL.items() if samples_along else ():
            for key in (name, f"kept_{name}"):
                self._arrays[key] = np.empty((height, width, count), dtype=kind)
        if samples_along:
            self._arrays["facets"] = np.empty((2 * _MAX_FACETS * height * width, 12), dtype=np.float32)
            self._arrays["kept_bounds"] = np.empty((-(-height // _BLOCK), -(-width // _BLOCK), 4), dtype=np.float32)
            self._arrays["background"] = _background(height)
        for key, array in self._arrays.items():
            setattr(struct, key, array.ctypes.data)
        for number in range(1 + has_clear):
            for name in _LAYER:
                dtype = np.float32 if "near" in name else np.int32
                array = np.empty(n_samples + 1, dtype=dtype)  # the last one is not used: four are read at once
                self._arrays[f"{name}_{number}"] = array
                setattr(struct.layers[number], name, array.ctypes.data)

    def set_camera(self, request: RenderRequest, *, keeps: bool) -> None:
        """Sets pose and range of the camera; `keeps` is whether what stands still is kept for its next picture."""
        self._struct.T_camera_world[:] = request.T_world_camera.inverse().matrix[:3].ravel().tolist()
        self._struct.near, self._struct.far = request.near_m, request.far_m
        self._struct.keeps, self._struct.is_fine = keeps, request.fine

    def _begin(self, scene: _DrawnScene) -> None:
        """Forgets what is kept of another scene."""
        if self._drawn != (scene, scene.generation):
            self._struct.is_kept = 0
        self._drawn = (scene, scene.generation)

    def draw_picture(self, scene: _DrawnScene, shadows: _ShadowMap) -> Array:
        """Returns the colours (height, width, 3) uint8."""
        self._begin(scene)
        _draw("raster_draw_picture", scene.struct, shadows, self._struct)
        return self._arrays["rgb"].copy()

    def draw_geometry(self, scene: _DrawnScene, request: RenderRequest, rgb: Array) -> RawImages:
        """Returns exact depth, links and normals, beside the colours `rgb`."""
        self._begin(scene)
        depth, link_ids = np.empty(rgb.shape[:2], dtype=np.float32), np.empty(rgb.shape[:2], dtype=np.int32)
        normals = np.empty(rgb.shape, dtype=np.float32) if request.normals else None
        _draw("raster_draw_geometry", scene.struct, self._struct, depth, link_ids, normals)
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
        level = image.convert("RGB")
    width, height = level.size
    levels = [level]
    while max(level.size) > 1:
        level = level.resize([max(1, side // 2) for side in level.size], Image.Resampling.BOX)
        levels.append(level)
    texels = np.concatenate([np.asarray(each).ravel() for each in levels])
    return _LoadedTexture(_Texture(len(levels), width, height, 0, texels.ctypes.data), texels)


def octahedral_directions(side: int) -> Array:
    """Returns the unit directions (side, side, 3) of the map of an octahedron: rows along y, columns along x."""
    at = np.linspace(-1.0, 1.0, side)
    x: Array
    y: Array
    x, y = np.meshgrid(at, at)
    z = 1.0 - np.abs(x) - np.abs(y)
    below = z < 0.0
    folded_x = (1.0 - np.abs(y)) * np.where(x < 0.0, -1.0, 1.0)
    folded_y = (1.0 - np.abs(x)) * np.where(y < 0.0, -1.0, 1.0)
    found = np.stack([np.where(below, folded_x, x), np.where(below, folded_y, y), z], axis=-1)
    return found / np.linalg.norm(found, axis=-1, keepdims=True)


@cache
def _sky_map(roughness: float) -> Array:
    """Returns the light that a surface of a roughness reflects, by direction; 1: a matt one.

    These are (SKY_SIDE, SKY_SIDE, 3) numbers in one row, float32, and one more that is not used: the renderer reads
    four at once.
    """
    key = arrays_key(__file__, SKY_SIDE, np.array(roughness))
    light = kept_arrays("surroundings", key, lambda: {"light": _blur_sky(roughness)})["light"]
    return np.append(light, np.float32(0.0))


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
    u: Array
    v: Array
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
def _levels(*, is_even: bool) -> Array:
    """Returns the levels (4096,) uint8 of a picture by the root of the share of the largest brightness."""
    share = (np.arange(_LINEAR_STEPS) / (_LINEAR_STEPS - 1)) ** 2
    return np.rint(255.0 * encode_srgb(share)).astype(np.uint8) if is_even else tone_map(HEADROOM * share)


@cache
def _linear_values() -> Array:
    return decode_srgb(np.arange(256) / 255.0).astype(np.float32)


@lru_cache(maxsize=8)
def _background(height: int) -> Array:
    """Returns the linear brightness (height, 3) of the background, darker towards the lower edge."""
    up = 1.0 - (np.arange(height)[:, None] + 0.5) / height
    mixed = np.array(_HORIZON) + up * (np.array(_ZENITH) - np.array(_HORIZON))
    return (HEADROOM * decode_srgb(mixed / 255.0)).astype(np.float32)
