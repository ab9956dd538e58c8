"""Chooses the renderer of `auto` on this machine."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from unlatch.simcore.catalogs import AUTO
from unlatch.simcore.errors import WorldError

_MESA_FROM_PX = 320 * 240
_MESA_DEPTH_FROM_PX = 640 * 480
_PROBE = """
from unlatch.simcore.sim.world import WorldCfg
from unlatch.simcore.sim.renderers.bullet_image import EglRenderer
from unlatch.simcore.sim.world import World
with World(WorldCfg(), visuals=True, renderer=EglRenderer()):
    pass
"""


def best_renderer(pixels: int, *, depth: bool, scenery: bool) -> str:
    """Returns the name of the renderer for some images: `pygfx` where it works, else one of Bullet's.

    Of Bullet's renderers, `egl` draws neither colours nor the meshes that are made in memory: rooms, and the panels of
    floor, walls and table top. Otherwise a graphics card is best at any size. Mesa's software renderer overtakes
    Bullet's at 320x240, or at 640x480 with depth, which it renders twice, as measured by `benchmarks/rendering.py`.

    Args:
        pixels: Pixels of the largest image.
        depth: Whether depth or normals are wanted.
        scenery: Whether colours are wanted, or there is a room, or appearance varies.
    """
    if pygfx_works():
        return "pygfx"
    if scenery:
        return "tiny"
    least = 0 if _has_graphics_card() else _MESA_DEPTH_FROM_PX if depth else _MESA_FROM_PX
    return "egl" if pixels >= least and _egl_works() else "tiny"


def picture_renderer(name: str = AUTO) -> str:
    """Returns the name of the renderer of pictures for people: `auto` is `pygfx` where it works, else `tiny`."""
    if name != AUTO:
        return name
    return "pygfx" if pygfx_works() else "tiny"


def pygfx_is_installed() -> bool:
    """Returns whether the packages of `renderer=pygfx` are installed."""
    return all(find_spec(package) is not None for package in ("pygfx", "fast_simplification"))


@cache
def pygfx_works() -> bool:
    """Returns whether pygfx is installed and finds a driver."""
    if not pygfx_is_installed():
        return False
    from unlatch.simcore.sim.renderers.pygfx import open_device

    try:
        open_device()
    except (WorldError, ImportError, OSError):
        return False
    return True


def _has_graphics_card() -> bool:
    return any(Path(place).exists() for place in ("/dev/nvidia0", "/dev/dri/renderD128"))


@cache
def _egl_works() -> bool:
    """Tries EGL in a process of its own, since a broken driver crashes its process."""
    try:
        return subprocess.run([sys.executable, "-c", _PROBE], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
