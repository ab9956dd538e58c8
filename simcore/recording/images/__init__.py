"""Images of recorded episodes: render sets, their videos and their readers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
