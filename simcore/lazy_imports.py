"""Libraries that take long to import and that most commands do not need: each is imported on its first use."""

from __future__ import annotations

from typing import Any

import lazy_loader

av: Any = lazy_loader.load("av")
"""Video files; 0.05 s to import."""
ompl: Any = lazy_loader.load("ompl")
"""Sampling-based planners of motions; 0.05 s to import."""
trimesh: Any = lazy_loader.load("trimesh")
"""Meshes; half a second to import. Its functions have no types, so callers annotate the results."""
