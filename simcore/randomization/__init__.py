"""Randomization of the physics of one or many environments: `from unlatch.simcore import randomization as dr`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
