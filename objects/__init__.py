"""Articulated objects: generators, importers, the annotation that planners read, and the library that finds them.

To add a procedural category: one file in `procedural/`, one line in `procedural/catalog.py`, one object YAML, one test.
To add a data set: one importer in `importers/`, one member of `ObjectSource`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
