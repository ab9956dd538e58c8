"""Reads the visible triangles of the links of a URDF by colour."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from unlatch.simcore.lazy_imports import trimesh
from unlatch.simcore.meshes.mesh_reader import read_coloured_parts
from unlatch.simcore.meshes.shape_surface import primitive_mesh
from unlatch.simcore.meshes.textured_surface import read_textured_surface
from unlatch.simcore.urdf.model import Shape, ShapeKind, UrdfModel

Array = np.ndarray
Colour = tuple[float, float, float, float]
"""Red, green, blue and opacity, each from 0 to 1."""

_GREY: Colour = (0.75, 0.75, 0.75, 1.0)
_SAME_M = 1e-5
"""Vertices closer than this are merged [m]."""
_CREASE_RAD = 0.6
"""Faces that meet at a larger angle keep a sharp edge [rad]."""


@dataclass(frozen=True)
class Texture:
    """A picture on a mesh; it is multiplied with the colour."""

    uvs: Array
    """(V, 2) coordinates in the picture: to the right, and upwards from the lower edge."""
    picture: bytes
    """A PNG or JPEG file."""


@dataclass(frozen=True)
class ColouredMesh:
    """Triangles of one colour, with or without a picture."""

    vertices: Array
    """(V, 3) in the link frame [m]; faces on two sides of a sharp edge share no vertices."""
    faces: Array
    """(F, 3) indices of vertices."""
    rgba: Colour
    texture: Texture | None = None


def link_meshes(model: UrdfModel) -> dict[str, list[ColouredMesh]]:
    """Returns the visible triangles of every link: one mesh per colour, and one per surface with a picture.

    Raises:
        AssetError: A mesh cannot be read.
    """
    found = {}
    for name, link in model.links.items():
        by_colour: dict[Colour, list[tuple[Array, Array]]] = defaultdict(list)
        textured = []
        for shape in link.visuals:
            mesh = _textured_mesh(shape)
            if mesh is not None:
                textured.append(mesh)
                continue
            for rgba, vertices, faces in _list_parts(shape):
                by_colour[rgba].append((shape.T_link_shape @ vertices, faces))
        if by_colour or textured:
            found[name] = [*textured, *(_merge_pieces(pieces, rgba) for rgba, pieces in by_colour.items())]
    return found


def box_mesh(size_m: Array, rgba: Colour) -> ColouredMesh:
    """Returns a box with edges (3,) [m] about its centre."""
    box = primitive_mesh(ShapeKind.box, size_m.tolist())
    return _merge_pieces([(box.vertices, box.faces)], rgba)


def _textured_mesh(shape: Shape) -> ColouredMesh | None:
    """Returns the mesh of a visual with a colour and a picture from its own folder, or None."""
    if shape.path is None or shape.rgba is None:
        return None
    surface = read_textured_surface(shape.path, shape.path.parent)
    if surface is None:
        return None
    vertices = (shape.T_link_shape @ (surface.vertices * shape.size)).astype(np.float32)
    texture = Texture(surface.uvs.astype(np.float32), surface.picture.read_bytes())
    return ColouredMesh(vertices, surface.faces.astype(np.uint32), shape.rgba, texture)


def _list_parts(shape: Shape) -> Iterator[tuple[Colour, Array, Array]]:
    """Yields colour, vertices (V, 3) in the frame of the shape and faces (F, 3) of every part of a shape."""
    if shape.kind is ShapeKind.mesh and shape.path is not None:
        # materials refer to further files: they are read only if the URDF states no colour
        for part in read_coloured_parts(shape.path, with_materials=shape.rgba is None):
            yield shape.rgba or part.rgba or _GREY, part.mesh.vertices * shape.size, part.mesh.faces
        return
    solid = primitive_mesh(shape.kind, shape.size)
    yield shape.rgba or _GREY, solid.vertices, solid.faces


def _merge_pieces(pieces: list[tuple[Array, Array]], rgba: Colour) -> ColouredMesh:
    counts = np.cumsum([0, *(len(vertices) for vertices, _ in pieces)])
    vertices = np.concatenate([vertices for vertices, _ in pieces])
    faces = np.concatenate([faces + first for (_, faces), first in zip(pieces, counts, strict=False)])
    vertices, faces = _split_sharp_edges(*_merge_vertices(vertices, faces))
    return ColouredMesh(vertices.astype(np.float32), faces.astype(np.uint32), rgba)


def _merge_vertices(vertices: Array, faces: Array) -> tuple[Array, Array]:
    """Merges vertices at the same place; drops faces that lose an edge."""
    cells = np.round(vertices / _SAME_M).astype(np.int64)
    _, first, index = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    joined = index.reshape(-1)[faces]
    a, b, c = joined.T
    return vertices[first], joined[(a != b) & (b != c) & (c != a)]


def _split_sharp_edges(vertices: Array, faces: Array) -> tuple[Array, Array]:
    """Gives faces on two sides of a sharp edge separate vertices: viewers smooth over shared vertices."""
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    smooth = mesh.face_adjacency[mesh.face_adjacency_angles < _CREASE_RAD]  # (E, 2)
    patch = trimesh.graph.connected_component_labels(smooth, node_count=len(faces))  # (F,)
    corners = np.stack([np.repeat(patch, 3), faces.reshape(-1)], axis=1)  # (3 F, 2)
    owners, index = np.unique(corners, axis=0, return_inverse=True)
    return vertices[owners[:, 1]], index.reshape(-1, 3)
