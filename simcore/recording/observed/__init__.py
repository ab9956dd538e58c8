"""What a policy may observe of a scene besides the arrays of a record: the geometry of the parts that arms act on."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
