"""Objects that lie on another side: the sides, the turned object, and the sides on which an object lies stably."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
