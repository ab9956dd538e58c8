"""Chooses the renderer of `auto` on this machine."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

_MESA_FROM_PX = 320 * 240
_MESA_DEPTH_FROM_PX = 640 * 480
_PROBE = """
from unlatch.simcore.sim.world import WorldCfg
from unlatch.simcore.sim.renderers.egl import EglRenderer
from unlatch.simcore.sim.world import World
with World(WorldCfg(), visuals=True, renderer=EglRenderer()):
    pass
"""


def best_renderer(pixels: int, *, depth: bool, colours: bool) -> str:
    """Returns the name of Bullet's fastest suitable renderer, as measured by `benchmarks/rendering.py`.

    `egl` draws neither the textures that randomization sets nor the panels of floor, walls and table top, so it is
    unsuitable for colours. Otherwise a graphics card is best at any size. Mesa's software renderer overtakes Bullet's
    at 320x240, or at 640x480 with depth, which it renders twice.

    Args:
        pixels: Pixels of the largest image.
        depth: Whether depth or normals are wanted.
        colours: Whether colours are wanted, or appearance varies.
    """
    if colours:
        return "tiny"
    least = 0 if _has_graphics_card() else _MESA_DEPTH_FROM_PX if depth else _MESA_FROM_PX
    return "egl" if pixels >= least and _egl_works() else "tiny"


def _has_graphics_card() -> bool:
    return any(Path(place).exists() for place in ("/dev/nvidia0", "/dev/dri/renderD128"))


@cache
def _egl_works() -> bool:
    """Tries EGL in a process of its own, since a broken driver crashes its process."""
    try:
        return subprocess.run([sys.executable, "-c", _PROBE], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
