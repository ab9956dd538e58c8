"""Bullet's OpenGL renderer without a screen, on a graphics card or on Mesa's software."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar

import pybullet as p

from simcore.errors import WorldError
from simcore.geometry import Pinhole, Pose
from simcore.sim.renderers.bullet_image import bullet_images, frustum_of
from simcore.sim.renderers.renderer import RawImages, Renderer

if TYPE_CHECKING:
    from simcore.sim.world import World

_PLUGIN = "eglRenderer"


class EglRenderer(Renderer):
    """Fast for large images and on a graphics card; images may differ by a level between machines."""

    name: ClassVar[str] = "egl"

    def __init__(self) -> None:
        self._plugin = -1
        self._client = -1

    @property
    def version(self) -> str:
        """See `Renderer`."""
        return f"pybullet {version('pybullet')} eglRenderer"

    def open(self, world: World) -> None:
        """See `Renderer`."""
        found = find_spec(_PLUGIN)
        if not sys.platform.startswith("linux") or found is None or found.origin is None:
            raise WorldError(
                "renderer=egl is not there: this build of PyBullet has no plugin 'eglRenderer', which only those for "
                "Linux have. Use renderer=tiny.",
                renderer=self.name,
            )
        self._client = world.client
        self._plugin = p.loadPlugin(found.origin, f"_{_PLUGIN}Plugin", physicsClientId=world.client)
        if self._plugin < 0:
            raise WorldError(
                "renderer=egl cannot be started: no EGL library that works without a screen was found. Install a "
                "graphics driver, or Mesa's software renderer (Debian, Ubuntu: libegl1 libgl1-mesa-dri), or use "
                "renderer=tiny.",
                renderer=self.name,
            )

    def render(
        self, world: World, pinhole: Pinhole, T_world_camera: Pose, *, near_m: float, far_m: float, shadow: bool
    ) -> RawImages:
        """See `Renderer`."""
        frustum = frustum_of(pinhole, near_m, far_m, column=0.5, row=0.5)
        return bullet_images(
            world,
            pinhole,
            T_world_camera,
            frustum,
            near_m=near_m,
            far_m=far_m,
            shadow=shadow,
            renderer=p.ER_BULLET_HARDWARE_OPENGL,
        )

    def close(self) -> None:
        """See `Renderer`."""
        if self._plugin >= 0:
            with suppress(p.error):  # the client is gone, and the plugin with it
                p.unloadPlugin(self._plugin, physicsClientId=self._client)
            self._plugin = -1
