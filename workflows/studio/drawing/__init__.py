"""Draws the scene of the studio: robot and objects, regions, plans, and what is marked on them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
