"""Free objects: the places where they go, conditions on where they are, and how two fingers can hold them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
