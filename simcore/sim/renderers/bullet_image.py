"""Images by Bullet: with its software renderer, and by OpenGL without a screen."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from typing import ClassVar

import numpy as np
import pybullet as p

from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.process import hide_native_output
from unlatch.simcore.sim.renderers.renderer import RawImages, RenderedWorld, Renderer, RenderRequest
from unlatch.simcore.sim.visuals.visual_shapes import Light

_LINK_SHIFT = 24  # from this bit on, Bullet's segmentation mask holds the link's number plus 1
_BODY_MASK = (1 << _LINK_SHIFT) - 1


_TINY_SAMPLED_AT = (0.0, 1.0)
"""It samples pixel (u, v) at column u and row v + 1 of the frustum; images of tilted planes have shown this."""
_EVEN_LIGHT = Light(ambient=1.0, diffuse=0.0, specular=0.0, shadow=False)


class TinyRenderer(Renderer):
    """Works everywhere, on one core; the same frame gives bit-identical images."""

    name: ClassVar[str] = "tiny"
    draws_by_bullet: ClassVar[bool] = True

    @property
    def version(self) -> str:
        """See `Renderer`."""
        return f"pybullet {version('pybullet')} TinyRenderer"

    def render(self, world: RenderedWorld, request: RenderRequest) -> RawImages:
        """See `Renderer`."""
        return bullet_images(world, request, sampled_at=_TINY_SAMPLED_AT, renderer=p.ER_TINY_RENDERER)

    def render_albedo(self, world: RenderedWorld, request: RenderRequest) -> RawImages:
        """As `render`, but the colours are those of the surfaces alone, without light and shadow."""
        return bullet_images(
            world, request, sampled_at=_TINY_SAMPLED_AT, renderer=p.ER_TINY_RENDERER, light=_EVEN_LIGHT
        )


def bullet_images(
    world: RenderedWorld,
    request: RenderRequest,
    *,
    sampled_at: tuple[float, float],
    renderer: int,
    light: Light | None = None,
) -> RawImages:
    """Renders images with one of Bullet's renderers.

    Args:
        world: The world.
        request: Camera and wanted images, through a pinhole.
        sampled_at: Position in the frustum at which pixel (0, 0) is sampled: column and row from its corner [pixels].
        renderer: `pybullet.ER_TINY_RENDERER` or `pybullet.ER_BULLET_HARDWARE_OPENGL`.
        light: The light; None: that of the world.
    """
    pinhole, near_m, far_m = request.optics, request.near_m, request.far_m
    T_world_camera, light = request.T_world_camera, light or world.light
    # OpenGL's camera looks along -z with y up
    look = Pose(T_world_camera.R @ np.diag([1.0, -1.0, -1.0]), T_world_camera.p).inverse().matrix
    _, _, rgba, buffer, mask = p.getCameraImage(
        pinhole.width,
        pinhole.height,
        viewMatrix=look.T.ravel().tolist(),
        projectionMatrix=_frustum_of(request, *sampled_at),
        lightDirection=light.direction,
        lightColor=light.colour,
        lightAmbientCoeff=light.ambient,
        lightDiffuseCoeff=light.diffuse,
        lightSpecularCoeff=light.specular,
        shadow=int(request.colours and request.shadow and light.shadow),
        renderer=renderer,
        flags=p.ER_SEGMENTATION_MASK_OBJECT_AND_LINKINDEX,
        physicsClientId=world.client,
    )
    shape = (pinhole.height, pinhole.width)
    link_ids = convert_mask(world, np.reshape(np.asarray(mask, dtype=np.int32), shape))
    scaled: Array = np.reshape(np.asarray(buffer, dtype=np.float64), shape)
    depth_m: Array = (far_m * near_m / (far_m - (far_m - near_m) * scaled)).astype(np.float32)
    depth_m[link_ids == 0] = np.inf
    rgb: Array = np.reshape(np.asarray(rgba, dtype=np.uint8), (*shape, 4))[:, :, :3].copy()
    return RawImages(rgb, depth_m, link_ids)


def _frustum_of(request: RenderRequest, column: float, row: float) -> list[float]:
    """Returns the projection that samples pixel (u, v) on its ray; see `bullet_images`."""
    pinhole, near_m, far_m = request.optics, request.near_m, request.far_m
    x, y = near_m / pinhole.fx, near_m / pinhole.fy
    left, top = -(pinhole.cx + column) * x, (pinhole.cy + row) * y
    return list(p.computeProjectionMatrix(left, left + pinhole.width * x, top - pinhole.height * y, top, near_m, far_m))


def convert_mask(world: RenderedWorld, mask: Array) -> Array:
    """Converts Bullet's segmentation mask to `RawImages.link_ids`."""
    bodies = world.seen_bodies()
    most_id, most_links = (
        max((b.body_id for b in bodies), default=0),
        max((len(b.link_names) for b in bodies), default=0),
    )
    table: Array = np.zeros((most_id + 1, most_links + 1), dtype=np.int32)
    links = ((body.body_id, index) for body in bodies for index in body.link_names)
    for number, (body_id, index) in enumerate(links, start=1):
        table[body_id, index + 1] = number
    seen = mask >= 0
    ids: Array = np.zeros(mask.shape, dtype=np.int32)
    found = mask[seen]
    ids[seen] = table[found & _BODY_MASK, found >> _LINK_SHIFT]
    return ids


_PLUGIN = "eglRenderer"
_SPLIT_M = 0.4
"""Distance of the second near plane if something is near the first one [m]."""
_SPLIT_SHARE = 0.9
"""Distance of the second near plane as a share of the nearest depth; it leaves a margin for rounding."""


class EglRenderer(Renderer):
    """Draws depth and links, fast for large images and on a graphics card; it draws no colours.

    Its colours are not those of the scene: all shapes of a link get the colour of one of them, and it draws no
    texture that is set later. It draws no mesh made in memory either, such as the rooms and panels of `scenery.py`.
    On Mesa its depth buffer has 16 bits, evenly spaced in the inverse depth: 7 mm at 3 m with a near plane at 20
    mm. If depth is wanted, everything beyond 0.4 m is drawn again with a near plane there. If nothing is near, the
    whole scene is drawn again with a near plane just before it.
    """

    name: ClassVar[str] = "egl"
    draws_colours: ClassVar[bool] = False
    draws_by_bullet: ClassVar[bool] = True

    def __init__(self) -> None:
        self._plugin = -1
        self._client = -1

    @property
    def version(self) -> str:
        """See `Renderer`."""
        return f"pybullet {version('pybullet')} eglRenderer"

    def open(self, world: RenderedWorld) -> None:
        """See `Renderer`."""
        found = find_spec(_PLUGIN)
        if not sys.platform.startswith("linux") or found is None or found.origin is None:
            raise WorldError(
                "renderer=egl is missing: this build of PyBullet has no plugin 'eglRenderer'; only builds for Linux "
                "have it. Use renderer=tiny.",
                renderer=self.name,
            )
        self._client = world.client
        with hide_native_output():
            self._plugin = p.loadPlugin(found.origin, f"_{_PLUGIN}Plugin", physicsClientId=world.client)
        if self._plugin < 0:
            raise WorldError(
                "renderer=egl cannot be started: no EGL library that works without a screen was found. Install a "
                "graphics driver, or Mesa's software renderer (Debian, Ubuntu: libegl1 libgl1-mesa-dri), or use "
                "renderer=tiny.",
                renderer=self.name,
            )

    def render(self, world: RenderedWorld, request: RenderRequest) -> RawImages:
        """See `Renderer`."""
        images = _render_once(world, replace(request, colours=False))
        images = replace(images, rgb=np.zeros_like(images.rgb))
        near_m, far_m = request.near_m, request.far_m
        if not (request.depth or request.normals) or not np.isfinite(images.depth_m).any():
            return images
        nearest_m = float(images.depth_m.min())
        split_m = _SPLIT_SHARE * nearest_m if nearest_m > 4.0 * near_m else _SPLIT_M
        beyond = images.depth_m > 1.01 * split_m
        if split_m >= far_m or not beyond.any():
            return images
        again = _render_once(world, replace(request, near_m=split_m, colours=False))
        depth_m = np.where(beyond & np.isfinite(again.depth_m), again.depth_m, images.depth_m)
        return replace(images, depth_m=depth_m)

    def close(self) -> None:
        """See `Renderer`."""
        if self._plugin >= 0:
            with hide_native_output(), suppress(p.error):  # the client is gone, and the plugin with it
                p.unloadPlugin(self._plugin, physicsClientId=self._client)
            self._plugin = -1


def _render_once(world: RenderedWorld, request: RenderRequest) -> RawImages:
    return bullet_images(world, request, sampled_at=(0.5, 0.5), renderer=p.ER_BULLET_HARDWARE_OPENGL)
