"""Derives the annotation of an object from its joints, its meshes and the names in its files.

The steps, one module each: `source` reads a folder or a URDF, `geometry` its meshes, `openness` finds the closed and
the open end of a joint, `kinds` the kind of a part, `posing` brings the object into our frames, `grip` finds where a
hand can hold and push, `size` how large the object is, `part` writes one entry, `annotator` all entries, and
`peer_info` reads keypoints that other projects set by hand.
"""
