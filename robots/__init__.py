"""Robots: their description, arms and grippers; one robot a module, listed in `catalog.py`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
