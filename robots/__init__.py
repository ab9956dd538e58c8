"""Robots: their description, arms and grippers. Each robot is one YAML file in `robots/descriptions`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
