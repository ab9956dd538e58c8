"""Path tracing by Mitsuba 3, for pictures of record: light that bounces, soft shadows, reflections."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from PIL import Image

from unlatch.simcore.cache import LRUCache
from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.errors import WorldError
from unlatch.simcore.extras import import_extra
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.sim.renderers.light import SKY, SUN, decode_srgb, environment_light, tone_map
from unlatch.simcore.sim.renderers.link_geometry import (
    DrawnLink,
    ShapeGeometry,
    drawn_links,
    geometry_key,
    shape_geometry,
)
from unlatch.simcore.sim.renderers.renderer import RawImages, RenderedWorld, Renderer, RenderRequest
from unlatch.simcore.sim.renderers.software import SoftwareRenderer
from unlatch.simcore.sim.visuals.visual_shapes import Light, Paint

_SAMPLES, _FINE_SAMPLES = 12, 96
"""Paths per pixel, and for pictures that people look at."""
_LEAST_LLVM = 16
"""Oldest version of LLVM; Mitsuba's programs crash the compiler of an older one."""
_MAX_GEOMETRIES = 512
_SUN_M, _SUN_RADIUS_M = 8.0, 0.4
"""Distance and radius of the lamp that is the light of the world: the wider, the softer are shadows [m]."""
_MIDDLE_M = (0.4, 0.0, 0.2)
"""Where it points [m]."""
_BRIGHT = 0.9
"""Surfaces with less emission are drawn bright, but light nothing: each lamp would add noise."""
_DOWN = -0.5
"""A panel whose normal has a smaller z hangs above the scene: light comes through it from above."""


class MitsubaRenderer(Renderer):
    """Traces paths of light for colours and removes their noise.

    Labels and depth are those of the software renderer. Ceilings are left out, so that the surroundings light a
    room. It takes seconds for one image.
    """

    name: ClassVar[str] = "mitsuba"

    def __init__(self, *, samples: int | None = None) -> None:
        """Makes a renderer; `samples` is the number of paths per pixel, None: as the request is fine or not."""
        self._samples = samples
        self._exact = SoftwareRenderer()
        self._geometries: LRUCache[list[ShapeGeometry]] = LRUCache(_MAX_GEOMETRIES)
        self._meshes: dict[int, tuple[object, tuple[Paint, ...], Pose, list[Any]]] = {}
        self._lights: tuple[Light, dict[str, Any]] | None = None

    @property
    def version(self) -> str:
        """See `Renderer`."""
        return f"mitsuba {version('mitsuba')}"

    def open(self, world: RenderedWorld) -> None:
        """See `Renderer`."""
        for module in ("mitsuba", "pyoidn"):
            import_extra(module, extra="pathtrace", needed_by="renderer=mitsuba", error=WorldError)
        _load_mitsuba()

    def render(self, world: RenderedWorld, request: RenderRequest) -> RawImages:
        """See `Renderer`."""
        if not request.colours or not isinstance(request.optics, Pinhole):
            return self._exact.render(world, request)
        exact = self._exact.render_albedo(world, request)
        mi = _load_mitsuba()
        scene: dict[str, Any] = {
            "type": "scene",
            "integrator": {"type": "path", "max_depth": 6},  # segments of the longest path
            "sensor": _describe_sensor(request.optics, request),
            **self._get_lights(world.light),
        }
        for link, meshes in self._update_links(world):
            scene.update({f"link_{link.link_id}_{number}": mesh for number, mesh in enumerate(meshes)})
        samples = self._samples or (_FINE_SAMPLES if request.fine else _SAMPLES)
        loaded = mi.load_dict(scene)
        image = np.array(mi.render(loaded, spp=samples), dtype=np.float32)
        rgb = tone_map(_remove_noise(image[..., :3], exact.rgb))
        size = (request.optics.width, request.optics.height)
        if rgb.shape[1::-1] != size:  # its pixels are square
            rgb = np.asarray(Image.fromarray(rgb).resize(size, Image.Resampling.BILINEAR))
        return RawImages(rgb, exact.depth_m, exact.link_ids)

    def _update_links(self, world: RenderedWorld) -> list[tuple[DrawnLink, list[Any]]]:
        """Returns the meshes of each link; those of links that have neither moved nor changed are used again."""
        found: dict[int, tuple[object, tuple[Paint, ...], Pose, list[Any]]] = {}
        links = []
        for link in drawn_links(world):
            pose = link.body.link_pose(link.name)
            if link.body.sheet and pose.R[2, 2] < _DOWN:
                continue
            key = geometry_key(link.body, link.shapes)
            kept = self._meshes.get(link.link_id)
            if kept is None or kept[0] != key or kept[1] != link.paints or kept[2] is not pose:
                shapes = self._geometries.get(key, partial(_read_shapes, link))
                meshes = [_make_mesh(shape, paint, pose) for shape, paint in zip(shapes, link.paints, strict=True)]
                kept = (key, link.paints, pose, meshes)
            found[link.link_id] = kept
            links.append((link, kept[3]))
        self._meshes = found
        return links

    def _get_lights(self, light: Light) -> dict[str, Any]:
        if self._lights is None or self._lights[0] != light:
            self._lights = (light, {"sky": _make_sky(light), "sun": _make_sun(light)})
        return self._lights[1]


def _remove_noise(image: Array, surfaces: Array) -> Array:
    """Returns an image (height, width, 3) without the noise of few paths, by Intel's Open Image Denoise.

    The colours of the surfaces (height, width, 3) uint8 tell noise from texture. Those of Mitsuba take eight times as
    long as a path, and are noisy themselves.
    """
    import pyoidn

    height, width = image.shape[:2]
    resized = np.asarray(Image.fromarray(surfaces).resize((width, height), Image.Resampling.BILINEAR))
    albedo: Array = decode_srgb(resized / 255.0).astype(np.float32)
    return pyoidn.denoise(np.ascontiguousarray(image), np.ascontiguousarray(albedo), hdr=True)


def _read_shapes(link: DrawnLink) -> list[ShapeGeometry]:
    return [shape_geometry(link.body, shape) for shape in link.shapes]


@cache
def _load_mitsuba() -> Any:
    """Returns Mitsuba's module in the fastest variant of this machine: CUDA, LLVM, or plain C++."""
    import drjit as dr
    import mitsuba as mi

    variant = "scalar_rgb"
    if dr.has_backend(dr.JitBackend.CUDA):
        variant = "cuda_ad_rgb"
    elif dr.has_backend(dr.JitBackend.LLVM) and dr.detail.llvm_version()[0] >= _LEAST_LLVM:
        variant = "llvm_ad_rgb"
    mi.set_variant(variant)
    return mi


def _describe_sensor(pinhole: Pinhole, request: RenderRequest) -> dict[str, Any]:
    mi = _load_mitsuba()
    width = max(1, round(pinhole.width * pinhole.fy / pinhole.fx))
    flip = np.diag([-1.0, -1.0, 1.0, 1.0])  # x to the left, y up, z forward
    return {
        "type": "perspective",
        "to_world": mi.ScalarTransform4f(request.T_world_camera.matrix @ flip),
        "fov": float(np.degrees(2.0 * np.arctan(0.5 * pinhole.height / pinhole.fy))),
        "fov_axis": "y",
        "near_clip": request.near_m,
        "far_clip": request.far_m,
        "principal_point_offset_x": 0.5 - (pinhole.cx + 0.5) / pinhole.width,
        "principal_point_offset_y": 0.5 - (pinhole.cy + 0.5) / pinhole.height,
        "film": {
            "type": "hdrfilm",
            "width": width,
            "height": pinhole.height,
            "pixel_format": "rgb",
            "rfilter": {"type": "box"},  # the removal of noise expects pixels that share no paths
        },
        "sampler": {"type": "independent"},
    }


def _make_sky(light: Light) -> Any:
    """Returns the surroundings as a picture of all directions."""
    mi = _load_mitsuba()
    width, height = (128, 64)
    azimuth = (np.arange(width) + 0.5) / width * 2.0 * np.pi
    polar = ((np.arange(height) + 0.5) / height * np.pi)[:, None]
    # Mitsuba's map has y up; column 0 looks along -z of its frame
    across = np.sin(polar)
    along = [across * np.sin(azimuth), np.cos(polar) * np.ones_like(azimuth), -across * np.cos(azimuth)]
    T_world_map = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    sky = SKY * light.ambient / Light().ambient * environment_light(np.stack(along, axis=-1) @ T_world_map[:3, :3].T)
    bitmap = mi.Bitmap(sky.astype(np.float32))
    return mi.load_dict({"type": "envmap", "bitmap": bitmap, "to_world": mi.ScalarTransform4f(T_world_map)})


def _make_sun(light: Light) -> Any:
    """Returns the light of the world as a round lamp far away."""
    mi = _load_mitsuba()
    towards = np.array(light.direction) / max(float(np.linalg.norm(light.direction)), 1e-9)
    aside = np.cross(np.eye(3)[int(np.argmin(np.abs(towards)))], towards)
    aside /= np.linalg.norm(aside)
    T = Pose(
        np.column_stack([aside, np.cross(-towards, aside), -towards]), np.array(_MIDDLE_M) + _SUN_M * towards
    ).matrix
    T[:3, :2] *= _SUN_RADIUS_M
    solid_angle = np.pi * (_SUN_RADIUS_M / _SUN_M) ** 2
    strength = np.pi * SUN * light.diffuse / Light().diffuse / solid_angle
    radiance = {"type": "rgb", "value": [strength * value for value in light.colour]}
    return mi.load_dict(
        {"type": "disk", "to_world": mi.ScalarTransform4f(T), "emitter": {"type": "area", "radiance": radiance}}
    )


def _make_mesh(shape: ShapeGeometry, paint: Paint, T_world_link: Pose) -> Any:
    mi = _load_mitsuba()
    finish = shape.finish
    picture = (paint.picture or shape.picture) if shape.textured else None
    colour = decode_srgb(np.array(paint.rgba[:3], dtype=float))
    properties = mi.Properties()
    if finish.emission > _BRIGHT:
        radiance = _describe_colour(picture, finish.emission * colour)
        properties["emitter"] = mi.load_dict({"type": "area", "radiance": radiance})
    bsdf: dict[str, Any] = {
        "type": "principled",
        "base_color": _describe_colour(picture, colour),
        "roughness": max(finish.roughness, 0.03),
        "metallic": finish.metalness,
    }
    bsdf = {"type": "twosided", "bsdf": bsdf}
    if paint.rgba[3] < 1.0:
        bsdf = {"type": "mask", "opacity": float(paint.rgba[3]), "bsdf": bsdf}
    properties["mesh_bsdf"] = mi.load_dict(bsdf)
    mesh = mi.Mesh(
        "shape",
        vertex_count=len(shape.vertices),
        face_count=len(shape.faces),
        has_vertex_normals=True,
        has_vertex_texcoords=True,
        props=properties,
    )
    values = mi.traverse(mesh)
    for key, array in (
        ("vertex_positions", T_world_link @ shape.vertices),
        ("vertex_normals", T_world_link.rotate(shape.normals)),
        ("vertex_texcoords", shape.uvs),
        ("faces", shape.faces),
    ):
        kind = type(values[key])
        values[key] = kind(np.ascontiguousarray(array, dtype=np.uint32 if key == "faces" else np.float32).ravel())
    values.update()
    return mesh


def _describe_colour(picture: Path | None, colour: Sequence[float] | Array) -> Any:
    mi = _load_mitsuba()
    if picture is None:
        return {"type": "rgb", "value": [float(value) for value in colour]}
    with Image.open(picture) as image:
        pixels = decode_srgb(np.asarray(image.convert("RGB"), dtype=float) / 255.0) * np.asarray(colour)
    bitmap = mi.Bitmap(pixels.astype(np.float32))
    return {"type": "bitmap", "bitmap": bitmap, "raw": True, "wrap_mode": "repeat"}
