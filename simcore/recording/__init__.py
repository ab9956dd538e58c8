"""Recording of attempts: frame by frame, on disk, judged again from the record alone."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
