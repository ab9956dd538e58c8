"""TOPP-RA without matplotlib: it imports pyplot for the plots of its own debugging, half of what its import takes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def _without_pyplot() -> Iterator[None]:
    """While it lasts, `import matplotlib.pyplot` gives an empty module, unless the real one is there already."""
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


with _without_pyplot():
    import toppra
    import toppra.algorithm
    import toppra.constraint

__all__ = ["toppra"]
