"""Bullet's own software renderer."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, ClassVar

import pybullet as p

from unlatch.simcore.sim.renderers.bullet_image import bullet_images
from unlatch.simcore.sim.renderers.exposure import Exposure
from unlatch.simcore.sim.renderers.renderer import RawImages, Renderer

if TYPE_CHECKING:
    from unlatch.simcore.sim.world import World


class TinyRenderer(Renderer):
    """Works everywhere, on one core; the same frame gives the same images to the bit."""

    name: ClassVar[str] = "tiny"

    @property
    def version(self) -> str:
        """See `Renderer`."""
        return f"pybullet {version('pybullet')} TinyRenderer"

    def open(self, world: World) -> None:
        """See `Renderer`."""

    def render(self, world: World, exposure: Exposure) -> RawImages:
        """See `Renderer`."""
        # it samples pixel (u, v) at column u and row v + 1 of the frustum, measured on planes seen at an angle
        return bullet_images(world, exposure, sampled_at=(0.0, 1.0), renderer=p.ER_TINY_RENDERER)

    def close(self) -> None:
        """See `Renderer`."""
