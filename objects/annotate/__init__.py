"""Derives the annotation of an object from its joints, its meshes and the names in its files.

The steps: `source` reads a folder or a URDF, its meshes and its size; `joints` finds the closed and the open end of a
joint and the kind of a part; `posing` brings the object into our frames; `grips` and `view` find where a hand can hold
and push; `annotator` writes all entries, `storage` their files; and `peer_info` reads keypoints that other projects set
by hand.
"""
