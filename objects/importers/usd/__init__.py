"""Reads objects from USD files, and writes converted ones (extra `usd`)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
