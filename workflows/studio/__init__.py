"""The page on which a task is composed by looking at it: `unlatch studio`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
