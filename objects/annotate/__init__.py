"""Derives the annotation of an object from its joints, its meshes and the names in its files; no screen, no simulator.

The steps, one a file: `source` reads a folder or a URDF, `geometry` its meshes, `openness` finds the closed and the
open end of a joint, `kinds` what kind of part it is, `posing` brings the object into our frames, `handle`, `protrusion`
and `edge` find what a hand can hold, `push` where it can push, `size` how large the object is, `part` writes one entry,
`annotator` all of them, and `peer_info` reads what others have written by hand.
"""

from unlatch.objects.annotate.annotator import AnnotateCfg, AnnotationResult, annotate_source
from unlatch.objects.annotate.source import SourceObject, find_urdf, read_source

__all__ = ["AnnotateCfg", "AnnotationResult", "SourceObject", "annotate_source", "find_urdf", "read_source"]
