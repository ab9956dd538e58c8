"""What the links of a URDF look like: triangles by colour."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import trimesh
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from unlatch.simcore.meshes.mesh_reader import read_coloured_parts
from unlatch.simcore.meshes.textured_surface import read_textured_surface
from unlatch.simcore.urdf.model import Shape, ShapeKind, UrdfModel

Array = np.ndarray
Colour = tuple[float, float, float, float]
"""Red, green, blue and opacity, each from 0 to 1."""

_GREY: Colour = (0.75, 0.75, 0.75, 1.0)
_SAME_M = 1e-5
"""Vertices this close to each other are one."""
_CREASE_RAD = 0.6
"""Faces that meet at more than this angle keep an edge between them."""


@dataclass(frozen=True)
class Texture:
    """A picture on a mesh; its shades are multiplied with the colour."""

    uvs: Array
    """(V, 2) in the picture: to the right, and upwards from its lower edge."""
    picture: bytes
    """A PNG or JPEG file."""


@dataclass(frozen=True)
class ColouredMesh:
    """Triangles of one colour, plain or with a picture."""

    vertices: Array
    """(V, 3) in the link frame [m]; neighbours across a sharp edge have vertices of their own."""
    faces: Array
    """(F, 3) indices of vertices."""
    rgba: Colour
    texture: Texture | None = None


def link_meshes(model: UrdfModel) -> dict[str, list[ColouredMesh]]:
    """Visible triangles of every link that has some: one mesh a colour, and one for each surface with a picture.

    Args:
        model: A URDF whose mesh files were found.

    Raises:
        AssetError: A mesh cannot be read.
    """
    found = {}
    for name, link in model.links.items():
        by_colour: dict[Colour, list[tuple[Array, Array]]] = defaultdict(list)
        textured = []
        for shape in link.visuals:
            mesh = _textured(shape)
            if mesh is not None:
                textured.append(mesh)
                continue
            for rgba, vertices, faces in _list_parts(shape):
                by_colour[rgba].append((shape.T_link_shape @ vertices, faces))
        if by_colour or textured:
            found[name] = [*textured, *(_merged(pieces, rgba) for rgba, pieces in by_colour.items())]
    return found


def box_mesh(size_m: Array, rgba: Colour) -> ColouredMesh:
    """A box with edges (3,) [m] about its centre."""
    box = trimesh.creation.box(extents=size_m)
    return _merged([(np.asarray(box.vertices), np.asarray(box.faces))], rgba)


def _textured(shape: Shape) -> ColouredMesh | None:
    """The mesh of a visual that has a colour and carries a picture from its own folder."""
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
        # materials name further files: they are read only if the URDF states no colour
        for part in read_coloured_parts(shape.path, with_materials=shape.rgba is None):
            yield shape.rgba or part.rgba or _GREY, part.mesh.vertices * shape.size, part.mesh.faces
        return
    if shape.kind is ShapeKind.box:
        solid = trimesh.creation.box(extents=shape.size)
    elif shape.kind is ShapeKind.cylinder:
        solid = trimesh.creation.cylinder(radius=shape.size[0], height=shape.size[1], sections=32)
    else:
        solid = trimesh.creation.icosphere(radius=shape.size[0], subdivisions=2)
    yield shape.rgba or _GREY, np.asarray(solid.vertices), np.asarray(solid.faces)


def _merged(pieces: list[tuple[Array, Array]], rgba: Colour) -> ColouredMesh:
    counts = np.cumsum([0, *(len(vertices) for vertices, _ in pieces)])
    vertices = np.concatenate([vertices for vertices, _ in pieces])
    faces = np.concatenate([faces + first for (_, faces), first in zip(pieces, counts, strict=False)])
    vertices, faces = _creased(*_joined(vertices, faces))
    return ColouredMesh(vertices.astype(np.float32), faces.astype(np.uint32), rgba)


def _joined(vertices: Array, faces: Array) -> tuple[Array, Array]:
    """Vertices at one place become one; faces that lose an edge by that are dropped."""
    cells = np.round(vertices / _SAME_M).astype(np.int64)
    _, first, index = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    joined = index.reshape(-1)[faces]
    a, b, c = joined.T
    return vertices[first], joined[(a != b) & (b != c) & (c != a)]


def _creased(vertices: Array, faces: Array) -> tuple[Array, Array]:
    """Faces on two sides of a sharp edge get vertices of their own: viewers smooth over vertices that are shared."""
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    smooth = mesh.face_adjacency[mesh.face_adjacency_angles < _CREASE_RAD]  # (E, 2)
    n = len(faces)
    links = coo_matrix((np.ones(len(smooth)), (smooth[:, 0], smooth[:, 1])), shape=(n, n))
    _, patch = connected_components(links, directed=False)  # (F,)
    corners = np.stack([np.repeat(patch, 3), faces.reshape(-1)], axis=1)  # (3 F, 2)
    owners, index = np.unique(corners, axis=0, return_inverse=True)
    return vertices[owners[:, 1]], index.reshape(-1, 3)
