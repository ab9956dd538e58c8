"""The base of all other packages: errors, catalogs, random streams, geometry, state, simulation and recording."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
