"""Physically based pictures by pygfx on wgpu: Vulkan on a graphics card, or on Mesa's software."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache, partial
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np

from unlatch.simcore.cache import LRUCache
from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.errors import ConfigError, WorldError
from unlatch.simcore.extras import import_extra
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.process import CARD_VARIABLE, WORKER_VARIABLE, hide_native_output
from unlatch.simcore.sim.renderers import link_geometry
from unlatch.simcore.sim.renderers.light import HEADROOM, SKY, SUN, darken_corners, encode_srgb, environment_faces
from unlatch.simcore.sim.renderers.pygfx_links import LinkGeometry, ShownLink
from unlatch.simcore.sim.renderers.pygfx_passes import GeometryPass, make_picture_pass
from unlatch.simcore.sim.renderers.renderer import RawImages, RenderedWorld, Renderer, RenderRequest
from unlatch.simcore.sim.visuals.visual_shapes import Light, Paint

_RANKS = {"DiscreteGPU": 0, "IntegratedGPU": 1, "CPU": 3}
"""Kinds of cards, the fastest first; the rank of others is 2."""


def find_adapter() -> Any:
    """Returns the adapter of wgpu that this process draws on; None if there is none.

    Raises:
        ConfigError: `UNLATCH_CARD` is not the number of a card.
        RuntimeError: wgpu finds no adapter.
    """
    import wgpu

    card, worker = os.environ.get(CARD_VARIABLE), os.environ.get(WORKER_VARIABLE)
    if card is not None:
        return choose_card(wgpu.gpu.enumerate_adapters_sync(), card)
    preferred = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
    if worker is not None and is_usable(preferred):
        return share_cards(wgpu.gpu.enumerate_adapters_sync(), preferred, int(worker))
    return preferred if is_usable(preferred) else None


def is_usable(adapter: Any) -> bool:
    """Returns whether pygfx can draw with an adapter."""
    return adapter is not None and adapter.info["backend_type"] in ("Vulkan", "Metal", "D3D12")


def choose_card(adapters: Sequence[Any], number: str) -> Any:
    """Returns the adapter of a card's number: discrete cards come first, software last, each in the driver's order.

    Raises:
        ConfigError: There is no such card.
    """
    cards = sorted(filter(is_usable, adapters), key=lambda card: _RANKS.get(card.info["adapter_type"], 2))
    if number.isdecimal() and int(number) < len(cards):
        return cards[int(number)]
    known = ", ".join(f"{index} ({card.info['device']})" for index, card in enumerate(cards))
    raise ConfigError(
        f"{CARD_VARIABLE}='{number}' is not the number of a graphics card. Known: {known or 'none'}. Name one of them, "
        f"or unset {CARD_VARIABLE}.",
        key=CARD_VARIABLE,
    )


def share_cards(adapters: Sequence[Any], preferred: Any, worker: int) -> Any:
    """Returns the adapter of a worker: workers take turns on all cards of the preferred model.

    Cards of another model are left out, since their images differ by a few levels.
    """
    alike = [card for card in filter(is_usable, adapters) if _model_of(card) == _model_of(preferred)]
    return alike[worker % len(alike)] if len(alike) > 1 else preferred


def _model_of(card: Any) -> tuple[str, ...]:
    return tuple(card.info[key] for key in ("device", "adapter_type", "backend_type"))


_MAX_GEOMETRIES = 512
"""Links whose triangles are kept between episodes."""
_SHADOW_SPAN_M = 3.4
"""Width and depth of the region around the scene's middle that casts and receives shadows [m]."""
_SHADOW_BIAS = 0.0002
"""The part of the bias that every surface has; `use_sloped_bias` adds more to surfaces that the light grazes."""
_FINE_SCALE = 2
"""Samples per pixel along each side where edges are smoothed by averaging."""


class PygfxRenderer(Renderer):
    """Draws colours with pygfx: roughness and metalness, soft shadows, light from all sides, smooth edges.

    Labels and depth are of a second drawing with one sample at the centre of each pixel (`GeometryPass`) and with all
    triangles. Colours are of meshes that have fewer triangles the further they are away (`level_of_detail`). Triangles
    and pictures are uploaded once; a new frame uploads only the poses of the links that moved.
    """

    name: ClassVar[str] = "pygfx"

    def __init__(self, *, all_triangles: bool = False) -> None:
        """Makes a renderer."""
        self.all_triangles = all_triangles
        """Whether all triangles of colours are drawn at any distance."""
        self._device: Any = None

    @property
    def version(self) -> str:
        """See `Renderer`."""
        return f"pygfx {version('pygfx')}"

    def open(self, world: RenderedWorld) -> None:
        """See `Renderer`."""
        for package in ("pygfx", "fast_simplification"):
            import_extra(package, extra="render", needed_by="renderer=pygfx", error=WorldError)
        self._device = open_device()
        self._exact, self._geometries, self._targets = _open_shared()
        self.stage = Stage()
        """The scene of pygfx that is drawn."""
        self._shown: dict[int, ShownLink] = {}
        self._read: tuple[list[Any], dict[tuple[int, int, int], Paint], list[link_geometry.DrawnLink]] | None = None

    def render(self, world: RenderedWorld, request: RenderRequest) -> RawImages:
        """See `Renderer`."""
        pinhole = request.optics
        if not isinstance(pinhole, Pinhole):
            raise WorldError("renderer=pygfx draws through a pinhole. Assemble other lenses from pinhole images.")
        shape = (pinhole.height, pinhole.width)
        shown = self._update_links(world, colours=request.colours)
        target = self._draw_colours(world, shown, pinhole, request) if request.colours else None
        if request.labels or request.depth or request.normals or request.fine:
            placed = [link.placed() for link in shown]
            # drawn before the colours are awaited, so that one wait is for both
            self._exact.draw(placed, pinhole, request.T_world_camera, near_m=request.near_m, far_m=request.far_m)
            link_ids, depth_m = self._exact.read()
        else:
            link_ids, depth_m = np.zeros(shape, dtype=np.int32), np.full(shape, np.inf, dtype=np.float32)
        rgb = np.zeros((*shape, 3), dtype=np.uint8) if target is None else target.read()
        if request.colours and request.fine:
            glowing = [link.link.link_id for link in shown if link.glows]
            rgb = darken_corners(rgb, depth_m, pinhole, glows=np.isin(link_ids, glowing))
        return RawImages(rgb, depth_m, link_ids)

    def _draw_colours(
        self, world: RenderedWorld, shown: Sequence[ShownLink], pinhole: Pinhole, request: RenderRequest
    ) -> _Target:
        """Begins to draw a picture; returns where it is read."""
        scale = _FINE_SCALE if request.smooth and request.fine else 1
        size = (pinhole.width, pinhole.height, scale, request.smooth and scale == 1)
        for link in shown:
            self.stage.add(link.show(self._level_of(link, pinhole, request.T_world_camera, scale)))
        target = self._targets.get(size, lambda: _Target(*size))
        self.stage.set_light(world.light, shadow=request.shadow and world.light.shadow)
        self.stage.set_camera(pinhole, request)
        target.draw(self.stage)
        return target

    def _level_of(self, link: ShownLink, pinhole: Pinhole, T_world_camera: Pose, scale: int) -> int | None:
        """Returns the level of detail of a link, by the size of a sample where it is nearest to the camera."""
        if self.all_triangles or link.geometry.sphere is None:
            return None
        distance_m = link_geometry.nearest_distance(*link.geometry.sphere, link.T_world_link, T_world_camera)
        return link_geometry.level_of_detail(link_geometry.pixel_size(pinhole, distance_m) / scale)

    def _update_links(self, world: RenderedWorld, *, colours: bool) -> list[ShownLink]:
        """Brings the drawn scene up to date with the world; returns its links."""
        found: dict[int, ShownLink] = {}
        for link in self._read_links(world):
            shown = self._shown.pop(link.link_id, None)
            if shown is None or shown.body is not link.body or shown.link.shapes != link.shapes:
                if shown is not None:
                    self.stage.remove(shown)
                make = partial(self._make_geometry, link)
                shown = ShownLink(link, self._geometries.get(link_geometry.geometry_key(link.body, link.shapes), make))
            if colours and shown.paints != link.paints:
                self.stage.remove(shown)
                shown.paint(link.paints)
            shown.T_world_link = link.body.link_pose(link.name)
            found[link.link_id] = shown
        for gone in self._shown.values():
            self.stage.remove(gone)
        self._shown = found
        return list(found.values())

    def _read_links(self, world: RenderedWorld) -> list[link_geometry.DrawnLink]:
        """Returns the visible links of the world, which are read again only if bodies or paint have changed."""
        shapes = [(body, body.visual_shapes) for body in world.seen_bodies()]
        if self._read is None or self._read[0] != shapes or self._read[1] != world.paint:
            self._read = (shapes, dict(world.paint), list(link_geometry.drawn_links(world)))
        return self._read[2]

    def _make_geometry(self, link: link_geometry.DrawnLink) -> LinkGeometry:
        shapes = [link_geometry.shape_geometry(link.body, shape) for shape in link.shapes]
        firsts = np.cumsum([0, *(len(shape.vertices) for shape in shapes)])
        mesh = self._exact.upload(
            np.concatenate([shape.vertices for shape in shapes]),
            np.concatenate([shape.faces + first for shape, first in zip(shapes, firsts, strict=False)]),
        )
        return LinkGeometry(shapes, mesh)


class Stage:
    """The scene of pygfx: meshes, lights, surroundings and the camera."""

    def __init__(self) -> None:
        import pygfx as gfx

        self.scene = gfx.Scene()
        self.camera = _make_camera_class()()
        self._sun = _make_sun_class()()
        self._sun.shadow.camera.width = self._sun.shadow.camera.height = _SHADOW_SPAN_M
        self._sun.shadow.camera.depth_range = (0.0, 2.0 * _SHADOW_SPAN_M)
        self._sun.shadow.bias = _SHADOW_BIAS
        self._sun.shadow.cull_mode = "none"
        self._sky = gfx.AmbientLight(intensity=0.0)
        self.scene.add(gfx.Background(None, gfx.BackgroundMaterial("#dfe3e6", "#f4f5f6")), self._sun, self._sky)
        self.scene.environment = _environment_map()
        self._light: tuple[Light, bool] | None = None
        self._strength = 1.0
        self._meshes: list[Any] = []

    def add(self, meshes: Sequence[Any]) -> None:
        """Adds meshes."""
        for mesh in meshes:
            mesh.material.env_map_intensity = self._strength
            self._meshes.append(mesh)
            self.scene.add(mesh)

    def remove(self, link: ShownLink) -> None:
        """Removes the meshes of a link."""
        for mesh in link.objects:
            self._meshes.remove(mesh)
            self.scene.remove(mesh)

    def poses(self) -> dict[Any, Array]:
        """Returns the pose (4, 4) of every mesh that is drawn."""
        return {mesh: mesh.local.matrix.copy() for mesh in self._meshes if mesh.visible}

    def set_poses(self, matrices: dict[Any, Array]) -> None:
        """Draws the meshes that `poses` returned, where they were."""
        for mesh in self._meshes:
            if mesh.visible != (mesh in matrices):
                mesh.visible = mesh in matrices
            if mesh.visible and not np.array_equal(mesh.local.matrix, matrices[mesh]):
                mesh.local.matrix = matrices[mesh]

    def set_light(self, light: Light, *, shadow: bool) -> None:
        """Sets the light."""
        if self._light == (light, shadow):
            return
        self._light = (light, shadow)
        direction = np.array(light.direction) / max(float(np.linalg.norm(light.direction)), 1e-9)
        middle = np.array([0.4, 0.0, 0.3])
        self._sun.local.position = middle + _SHADOW_SPAN_M * direction
        self._sun.target.local.position = middle
        default = Light()
        self._sun.intensity = np.pi * SUN / HEADROOM * light.diffuse / default.diffuse
        self._sun.color = (*light.colour, 1.0)
        self._sun.cast_shadow = shadow
        self._strength = SKY / HEADROOM * light.ambient / default.ambient
        for mesh in self._meshes:
            mesh.material.env_map_intensity = self._strength
        self.renew_sun()

    def renew_sun(self) -> None:
        """Makes the next drawing compute what follows from the pose of the sun, as pygfx does in every drawing."""
        self._sun.is_new = True

    def set_camera(self, pinhole: Pinhole, request: RenderRequest) -> None:
        """Sets lens and pose of the camera."""
        near, far, width, height = request.near_m, request.far_m, pinhole.width, pinhole.height
        flip = np.diag([1.0, -1.0, -1.0, 1.0])
        self.camera.frustum = np.array(
            [
                [2.0 * pinhole.fx / width, 0.0, 1.0 - (2.0 * pinhole.cx + 1.0) / width, 0.0],
                [0.0, 2.0 * pinhole.fy / height, (2.0 * pinhole.cy + 1.0) / height - 1.0, 0.0],
                [0.0, 0.0, -far / (far - near), -far * near / (far - near)],
                [0.0, 0.0, -1.0, 0.0],
            ]
        )
        self.camera.flag_update()
        self.camera.local.matrix = request.T_world_camera.matrix @ flip


@cache
def _make_camera_class() -> type:
    import pygfx as gfx

    class PinholeCamera(gfx.Camera):  # type: ignore[misc]  # pygfx has no types
        """A camera with a given projection."""

        frustum = np.eye(4)

        def _update_projection_matrix(self) -> Array:
            return self.frustum

    return PinholeCamera


@cache
def _make_sun_class() -> type:
    import pygfx as gfx

    class Shadow(type(gfx.DirectionalLight().shadow)):  # type: ignore[misc]  # pygfx has no types
        """A shadow whose matrices are computed only if the sun is new."""

        def _gfx_update_uniform_buffer(self, light: Any) -> None:
            if light.is_new:
                super()._gfx_update_uniform_buffer(light)
                light.is_new = False

    class Sun(gfx.DirectionalLight):  # type: ignore[misc]
        """A light that stands still: pygfx would spend a tenth of each drawing on computing the same matrices."""

        is_new = True

        def __init__(self) -> None:
            super().__init__(cast_shadow=True)
            self._shadow = Shadow()

        def _gfx_update_uniform_buffer(self) -> None:
            if self.is_new:
                super()._gfx_update_uniform_buffer()

    return Sun


@cache
def _environment_map() -> Any:
    import pygfx as gfx

    faces = environment_faces(64)  # (6, 64, 64, 3) linear
    pixels = np.concatenate([encode_srgb(faces), np.ones((*faces.shape[:3], 1))], axis=-1).astype(np.float16)
    texture = gfx.Texture(
        np.ascontiguousarray(pixels), dim=2, size=(64, 64, 6), format="rgba16float", generate_mipmaps=True
    )
    return gfx.TextureMap(texture, filter="linear", mipmap_filter="linear")


class _Target:
    """What pygfx draws to: for one size of images, number of samples along a pixel, and filter of edges or none."""

    def __init__(self, width: int, height: int, scale: int, filtered: bool) -> None:
        import pygfx as gfx

        texture = gfx.Texture(dim=2, size=(width, height, 1), format="rgba8unorm", colorspace="physical")
        self._renderer = gfx.WgpuRenderer(
            texture,
            pixel_scale=scale,
            pixel_filter="nearest",
            enable_events=False,
            ppaa="fxaa" if filtered else "none",
        )
        self._picture = make_picture_pass(open_device(), width, height, scale)
        self._renderer.effect_passes = (*self._renderer.effect_passes, self._picture)
        # the last step of pygfx scales its drawing to a target, which takes as long as the drawing; nobody reads it
        self._unread = gfx.Texture(
            dim=2, size=(1, 1, 1), format="rgba8unorm", colorspace="physical", usage=texture.usage
        )

    def draw(self, stage: Stage) -> None:
        """Draws and asks for the picture."""
        self._renderer.render(stage.scene, stage.camera, clear=True, flush=False)
        self._renderer.flush(self._unread)
        self._picture.start_reading()

    def read(self) -> Array:
        """Returns the picture (height, width, 3) uint8."""
        return self._picture.read_picture()


@cache
def _open_shared() -> tuple[GeometryPass, LRUCache[LinkGeometry], LRUCache[_Target]]:
    """Returns the exact drawing, the uploaded triangles and the targets, which all renderers of a process share."""
    return GeometryPass(open_device()), LRUCache(_MAX_GEOMETRIES), LRUCache(4)  # image sizes whose targets are kept


@cache
def open_device() -> Any:
    """Returns the device of wgpu, which all renderers of a process share.

    Raises:
        ConfigError: `UNLATCH_CARD` is not the number of a graphics card.
        WorldError: There is no Vulkan driver, nor Metal or Direct3D.
    """
    _read_struct_types()
    try:
        with hide_native_output():  # drivers complain about displays that they do not need
            adapter = find_adapter()
    except RuntimeError as exc:
        raise _no_driver(str(exc)) from exc
    if adapter is None:
        raise _no_driver("no adapter")
    import pygfx as gfx

    with hide_native_output():
        if CARD_VARIABLE in os.environ or "PYGFX_WGPU_ADAPTER_NAME" not in os.environ:  # pygfx's own choice
            _select(adapter)
        return gfx.renderers.wgpu.get_shared().device


def _select(adapter: Any) -> None:
    """Makes pygfx draw on an adapter. A process that has drawn with pygfx before stays where it is.

    Raises:
        ConfigError: It cannot draw on the card of `UNLATCH_CARD` any more.
    """
    import pygfx as gfx

    try:
        gfx.renderers.wgpu.select_adapter(adapter)
    except RuntimeError as exc:
        if CARD_VARIABLE in os.environ:
            raise ConfigError(
                f"{CARD_VARIABLE} cannot be followed: this process has drawn with pygfx before. Set it before "
                "the first picture.",
                key=CARD_VARIABLE,
            ) from exc


def _read_struct_types() -> None:
    """Reads the types of wgpu, as pointers and as arrays, with one run of the C parser of cffi.

    Else cffi parses the names of all types again at the first use of each struct and of each array, which takes two
    seconds of the first picture of a process. A version of cffi that keeps its types elsewhere is left as it is.
    """
    from wgpu.backends.wgpu_native._ffi import ffi

    known = getattr(ffi, "_parsed_types", None)
    if not isinstance(known, dict):
        return
    names = [name for name in ffi.list_types()[0] if name.startswith("WGPU") and not name.startswith("WGPUProc")]
    names += ["char", "uint8_t", "uint32_t", "intptr_t", "uintptr_t"]
    fields = " ".join(f"{name} *item_{index}; {name} (*array_{index})[];" for index, name in enumerate(names))
    types = [field.type for _, field in ffi.typeof(f"struct {{ {fields} }}").fields]
    for name, item, array in zip(names, types[::2], types[1::2], strict=True):
        spellings = {f"{name} *": item, f"{name}[]": array.item, f"{name} []": array.item}
        for spelling, found in ({name: item.item} if name.endswith("intptr_t") else spellings).items():
            known.setdefault(spelling, (found, False))  # False: not the type of a function


def _no_driver(reason: str) -> WorldError:
    return WorldError(
        f"renderer=pygfx cannot be started: no Vulkan driver was found ({reason}). Install a graphics driver, or "
        "Mesa's software renderer (Debian, Ubuntu: mesa-vulkan-drivers), or use renderer=software.",
        renderer="pygfx",
    )
