"""Hydra groups (the YAML files beside this one), their schemas, and how they are composed and checked."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
