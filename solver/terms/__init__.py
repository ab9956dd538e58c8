"""Constraint and cost terms: one file a kind, chosen by `type` through the catalog."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
