"""Reads whole task files of InternDataEngine and GenSim2, and writes them as tasks of Unlatch."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
