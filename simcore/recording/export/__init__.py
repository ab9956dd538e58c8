"""Exports: data sets in the formats that policies are trained from, one exporter a file."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
