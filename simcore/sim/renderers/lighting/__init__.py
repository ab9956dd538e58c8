"""Light and shadow of the pictures: the sky and the tones of colours, darker corners, and the bias of shadow maps."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
