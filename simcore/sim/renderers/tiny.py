"""Bullet's own software renderer."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, ClassVar

import pybullet as p

from simcore.geometry import Pinhole, Pose
from simcore.sim.renderers.bullet_image import bullet_images, frustum_of
from simcore.sim.renderers.renderer import RawImages, Renderer

if TYPE_CHECKING:
    from simcore.sim.world import World


class TinyRenderer(Renderer):
    """Works everywhere, on one core; the same frame gives the same images to the bit."""

    name: ClassVar[str] = "tiny"

    @property
    def version(self) -> str:
        """See `Renderer`."""
        return f"pybullet {version('pybullet')} TinyRenderer"

    def open(self, world: World) -> None:
        """See `Renderer`."""

    def render(
        self,
        world: World,
        pinhole: Pinhole,
        T_world_camera: Pose,
        *,
        near_m: float,
        far_m: float,
        shadow: bool = True,
        depth: bool = True,
    ) -> RawImages:
        """See `Renderer`."""
        # it samples pixel (u, v) at column u and row v + 1 of the frustum, measured on planes seen at an angle
        frustum = frustum_of(pinhole, near_m, far_m, column=0.0, row=1.0)
        return bullet_images(
            world,
            pinhole,
            T_world_camera,
            frustum,
            near_m=near_m,
            far_m=far_m,
            shadow=shadow,
            renderer=p.ER_TINY_RENDERER,
        )

    def close(self) -> None:
        """See `Renderer`."""
