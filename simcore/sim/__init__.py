"""Bullet behind typed functions: the only package that imports it."""

import lazy_loader

from unlatch.simcore.native_output import hide_native_output

with hide_native_output():  # Bullet prints a banner when it is first imported
    import pybullet as pybullet

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
