"""Bullet's OpenGL renderer without a screen, on a graphics card or on Mesa's software."""

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
from unlatch.simcore.process import hide_native_output
from unlatch.simcore.sim.renderers.bullet_image import bullet_images
from unlatch.simcore.sim.renderers.renderer import RawImages, RenderedWorld, Renderer, RenderRequest

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
