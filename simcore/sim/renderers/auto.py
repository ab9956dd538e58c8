"""Which renderer is best for images of a size on this machine."""

from __future__ import annotations


def best_renderer(pixels: int) -> str:
    """Name of the renderer that `auto` stands for.

    Args:
        pixels: Of the largest image.
    """
    del pixels
    return "tiny"
