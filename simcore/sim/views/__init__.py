"""Views: one kind of thing in several environments of a world, with attributes to read and write."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
