"""URDF files: reading them as untrusted input, and the model of links and joints in memory."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
