"""Appearance of a world: colours, textures, light, scenery, and pictures."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
