"""Every task as a Gymnasium environment: the scene, the rules and the verdict of `unlatch collect`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
