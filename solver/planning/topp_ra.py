"""Loads TOPP-RA without matplotlib, which it imports for its debug plots: that is half of its import time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any


@cache
def load_toppra() -> Any:
    """Returns the package `toppra`, imported on the first call: it takes half a second, mostly for SciPy."""
    with _without_pyplot():
        for name in ("toppra.algorithm", "toppra.constraint"):
            import_module(name)
    return import_module("toppra")


@contextmanager
def _without_pyplot() -> Iterator[None]:
    """Makes `import matplotlib.pyplot` give an empty module meanwhile, unless the real one is already imported."""
    if "matplotlib" in sys.modules:
        yield
        return
    package, pyplot = ModuleType("matplotlib"), ModuleType("matplotlib.pyplot")
    package.__dict__["pyplot"] = pyplot
    sys.modules.update({"matplotlib": package, "matplotlib.pyplot": pyplot})
    try:
        yield
    finally:
        for name in ("matplotlib", "matplotlib.pyplot"):
            del sys.modules[name]
