"""Checks of data sets: what each record must state by the configuration, identities of its arrays, replays."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
