"""The build of PyBullet that is installed."""

from __future__ import annotations

import pybullet as p


def gives_arrays() -> bool:
    """Returns whether PyBullet was built with NumPy; without, each image is a tuple of numbers, which is slow."""
    return bool(p.isNumpyEnabled())
