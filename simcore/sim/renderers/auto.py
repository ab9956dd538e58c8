"""Which renderer `auto` stands for on this machine."""

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


def best_renderer(pixels: int, *, depth: bool, looks: bool) -> str:
    """Name of the fastest of Bullet's renderers that shows the same, by `benchmarks/rendering.py`.

    `egl` draws neither textures nor the panels of floor, walls and table top, so that it is none where looks count.
    Else a graphics card is best at any size. Mesa's software renderer overtakes Bullet's at 320x240; where depth is
    wanted, which takes it a second look, at 640x480.

    Args:
        pixels: Of the largest image.
        depth: Whether depth or normals are wanted.
        looks: Whether colours are wanted, or looks vary.
    """
    if looks:
        return "tiny"
    least = 0 if _has_graphics_card() else _MESA_DEPTH_FROM_PX if depth else _MESA_FROM_PX
    return "egl" if pixels >= least and _egl_works() else "tiny"


def _has_graphics_card() -> bool:
    return any(Path(place).exists() for place in ("/dev/nvidia0", "/dev/dri/renderD128"))


@cache
def _egl_works() -> bool:
    """Tried in a process of its own: a driver that is broken takes its process with it."""
    try:
        return subprocess.run([sys.executable, "-c", _PROBE], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
