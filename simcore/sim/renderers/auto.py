"""Chooses the renderer of `auto` on this machine."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

from unlatch.simcore.catalogs import AUTO, SOFTWARE
from unlatch.simcore.errors import WorldError


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


@cache
def finds_card() -> bool:
    """Returns whether pygfx is installed and finds a graphics card."""
    if not pygfx_is_installed():
        return False
    from unlatch.simcore.sim.renderers.pygfx import open_device

    try:
        return str(open_device().adapter.info["adapter_type"]) != "CPU"
    except (WorldError, ImportError, OSError):
        return False
