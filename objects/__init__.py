"""Articulated objects: generators, importers, the annotation that planners read, and the library that finds them.

To add a procedural category: one file in `procedural/`, one line in `procedural/catalog.py`, one object YAML, one test.
To add a data set: one importer in `importers/`, one member of `ObjectSource`.
"""

from unlatch.objects.annotation import (
    Articulation,
    FramedVector,
    Handle,
    HandleType,
    Openness,
    Part,
    PartKind,
    read_articulation,
    write_articulation,
)
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg, ObjectSource
from unlatch.objects.library import load_object
from unlatch.objects.validation import check_articulation, validate_articulation

__all__ = [
    "Articulation",
    "FramedVector",
    "Handle",
    "HandleType",
    "ObjectAsset",
    "ObjectCfg",
    "ObjectSource",
    "Openness",
    "Part",
    "PartKind",
    "check_articulation",
    "load_object",
    "read_articulation",
    "validate_articulation",
    "write_articulation",
]
