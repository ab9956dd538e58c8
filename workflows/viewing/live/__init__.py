"""The page that shows runs while they are made: `live=true` of a run, and `unlatch watch`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
