"""Contract checks for authors of plugins; a broken contract raises an `AssertionError` that names it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
