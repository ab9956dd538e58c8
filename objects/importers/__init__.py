"""Importers and converters: they make meshes and foreign URDFs ready for simulation, and cache them by content."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
