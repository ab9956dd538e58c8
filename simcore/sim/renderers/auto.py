"""Chooses the renderer of `auto` on this machine."""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from unlatch.simcore.catalogs import AUTO, SOFTWARE
from unlatch.simcore.errors import WorldError
from unlatch.simcore.process import CARD_VARIABLE


def choose_renderer(name: str = AUTO) -> str:
    """Returns the name of a renderer: `auto` is `pygfx` where it finds a graphics card, else `software`.

    On a processor, pygfx draws through a driver that imitates a card, and takes twenty times as long.

    Raises:
        ConfigError: `UNLATCH_CARD` is not the number of a graphics card.
    """
    if name != AUTO:
        return name
    return "pygfx" if finds_card() else SOFTWARE


def pygfx_is_installed() -> bool:
    """Returns whether the packages of `renderer=pygfx` are installed."""
    return all(find_spec(package) is not None for package in ("pygfx", "fast_simplification"))


def _is_card_likely() -> bool:
    """Returns whether a driver has made the file of a card, or somebody names a card; asking wgpu takes two seconds."""
    devices = Path("/dev")
    files = ("nvidia[0-9]*", "dri/renderD*", "dxg")
    return CARD_VARIABLE in os.environ or any(any(devices.glob(pattern)) for pattern in files)


@cache
def finds_card() -> bool:
    """Returns whether pygfx is installed and finds a graphics card."""
    if not (_is_card_likely() and pygfx_is_installed()):
        return False
    from unlatch.simcore.sim.renderers.pygfx import open_device

    try:
        return str(open_device().adapter.info["adapter_type"]) != "CPU"
    except (WorldError, ImportError, OSError):
        return False
