"""Bullet's software renderer."""

from __future__ import annotations

from importlib.metadata import version
from typing import ClassVar

import pybullet as p

from unlatch.simcore.sim.renderers.bullet_image import bullet_images
from unlatch.simcore.sim.renderers.render_request import RenderRequest
from unlatch.simcore.sim.renderers.renderer import RawImages, RenderedWorld, Renderer


class TinyRenderer(Renderer):
    """Works everywhere, on one core; the same frame gives bit-identical images."""

    name: ClassVar[str] = "tiny"

    @property
    def version(self) -> str:
        """See `Renderer`."""
        return f"pybullet {version('pybullet')} TinyRenderer"

    def open(self, world: RenderedWorld) -> None:
        """See `Renderer`."""

    def render(self, world: RenderedWorld, request: RenderRequest) -> RawImages:
        """See `Renderer`."""
        # it samples pixel (u, v) at column u and row v + 1 of the frustum, measured on planes seen at an angle
        return bullet_images(world, request, sampled_at=(0.0, 1.0), renderer=p.ER_TINY_RENDERER)

    def close(self) -> None:
        """See `Renderer`."""
