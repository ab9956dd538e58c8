"""Reads a mesh file as named pieces, each with its colour or picture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.mesh_reader import (
    GLTF_SUFFIXES,
    READER_ERRORS,
    TO_Z_UP,
    Colour,
    check_faces,
    check_file,
    load_scene,
    place_mesh,
    read_conventions,
    unreadable_mesh,
)
from unlatch.simcore.meshes.textured_surface import MAX_PICTURE_BYTES, srgb_light
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, component_labels

Array = np.ndarray

_SMALL_PICTURE_PX = 512
"""Largest side of a picture that was too large."""


@dataclass(frozen=True)
class MeshPiece:
    """A named part of a mesh file."""

    name: str
    """Name of its node or object in the file."""
    above: tuple[str, ...]
    """Names of the nodes that it hangs below, the nearest first."""
    mesh: TriangleMesh
    """In metres with z up."""
    rgba: Colour | None = None
    """sRGB, as in a URDF; with a picture, the colour by which it is multiplied."""
    corner_uvs: Array | None = None
    """(F, 3, 2) texture coordinates: to the right, and upwards from the lower edge of the picture."""
    picture: bytes | None = None
    """A PNG of at most `MAX_PICTURE_BYTES`."""


def read_pieces(
    path: Path, *, up: str | None = None, content: bytes | None = None, split_one: bool = True
) -> list[MeshPiece]:
    """Reads the pieces of a mesh file: the nodes of a scene, or the objects of an OBJ.

    With `split_one`, a file with a single piece is split where its triangles do not touch; the parts are named
    `piece_1` and so on, the largest first.

    Args:
        path: The file; an FBX cannot be read in pieces.
        up: Which of its axes points up: `x`, `y` or `z`; None: the one of its format.
        content: What to read instead of the content of the file.
        split_one: Whether a single piece is split.

    Raises:
        AssetError: The file cannot be read, or has no triangle.
    """
    where = str(path)
    check_file(path, where)
    if path.suffix.lower() == ".fbx":
        raise AssetError(f"{path}: an FBX is not read in pieces. Export it as GLB.", path=where)
    scale, own_up = read_conventions(path, where=where)
    data = path.read_bytes() if content is None else content
    try:
        scene = _load_objects(path, data) if path.suffix.lower() == ".obj" else load_scene(path, data)
        pieces = [_read_piece(scene, node, is_linear=path.suffix.lower() in GLTF_SUFFIXES) for node in _nodes(scene)]
    except READER_ERRORS as exc:
        raise unreadable_mesh(path, exc, where=where) from exc
    R = TO_Z_UP.get(up or own_up, np.eye(3)) * scale
    pieces = [
        replace(piece, mesh=TriangleMesh(piece.mesh.vertices @ R.T, piece.mesh.faces))
        for piece in pieces
        if len(piece.mesh.faces)
    ]
    for piece in pieces:
        check_faces(piece.mesh, path, f"{where}: {piece.name}")
    if not pieces:
        raise AssetError(f"{path}: the mesh has no triangle. Expected a surface. Export it again.", path=where)
    return _split_piece(pieces[0]) if split_one and len(pieces) == 1 else pieces


def _split_piece(piece: MeshPiece) -> list[MeshPiece]:
    """Returns the parts of a piece that do not touch, the largest bounding box first; the piece if there is one."""
    # exporters give each face vertices of its own: equal positions are one vertex here
    _, same = np.unique(np.round(piece.mesh.vertices, 7), axis=0, return_inverse=True)
    labels = component_labels(TriangleMesh(piece.mesh.vertices, same.reshape(-1)[piece.mesh.faces]))
    parts = []
    for label in np.unique(labels):
        chosen = labels == label
        uvs = None if piece.corner_uvs is None else piece.corner_uvs[chosen]
        parts.append(replace(piece, mesh=piece.mesh.cut(chosen), corner_uvs=uvs))
    if len(parts) == 1:
        return parts
    parts.sort(key=lambda part: -float(np.prod(part.mesh.extents + 1e-4)))
    return [replace(part, name=f"piece_{number}") for number, part in enumerate(parts, start=1)]


def _load_objects(path: Path, data: bytes) -> Any:
    """Returns the scene of an OBJ: its objects, or its groups if it has no two objects."""
    options = {"group_material": False, "maintain_order": True}
    # older versions of trimesh call it `split_object`; they ignore keys that they do not know
    scene = load_scene(path, data, split_objects=True, split_object=True, **options)
    if len(scene.geometry) < 2:
        scene = load_scene(path, data, split_groups=True, split_group=True, **options)
    return scene


def _nodes(scene: Any) -> list[str]:
    """Returns the names of the nodes of a scene that have triangles, sorted."""
    return [
        node for node in sorted(scene.graph.nodes_geometry) if hasattr(scene.geometry[scene.graph[node][1]], "faces")
    ]


def _read_piece(scene: Any, node: str, *, is_linear: bool) -> MeshPiece:
    T, name = scene.graph[node]
    geometry, affine = scene.geometry[name], np.asarray(T, dtype=float)
    mesh = place_mesh(
        np.asarray(geometry.vertices, dtype=float).reshape(-1, 3),
        np.asarray(geometry.faces, dtype=int).reshape(-1, 3),
        affine[:3],
    )
    parents = scene.graph.transforms.parents
    above: list[str] = []
    while (node_above := parents.get(above[-1] if above else node)) is not None:
        above.append(node_above)
    rgba, picture = _read_look(geometry.visual, is_linear=is_linear)
    uvs = getattr(geometry.visual, "uv", None)
    if picture is None or uvs is None or len(uvs) != len(geometry.vertices):
        return MeshPiece(node, tuple(above), mesh, rgba)
    faces = np.asarray(geometry.faces, dtype=int)
    corner_uvs = np.asarray(uvs, dtype=float)[faces[:, ::-1] if np.linalg.det(affine[:3, :3]) < 0 else faces]
    return MeshPiece(node, tuple(above), mesh, rgba, corner_uvs, picture)


def _read_look(visual: Any, *, is_linear: bool) -> tuple[Colour | None, bytes | None]:
    """Returns colour and picture of a surface of trimesh; the colours of glTF are linear."""
    material = getattr(visual, "material", None)
    image = getattr(material, "baseColorTexture", None) or getattr(material, "image", None)
    picture = None if image is None else _png(image)
    if picture is not None:
        values = getattr(material, "baseColorFactor", None)
    else:
        values = getattr(material if material is not None else visual, "main_color", None)
    if values is None:
        return None, picture
    red, green, blue, alpha = (float(value) / 255.0 for value in values)
    if is_linear and material is not None:
        red, green, blue = (srgb_light(value) for value in (red, green, blue))
    return (red, green, blue, alpha), picture


def _png(image: Any) -> bytes | None:
    """Returns a picture of Pillow as PNG; a smaller one if the file would be too large."""
    plain = image.convert("RGB")
    data = _encode(plain)
    if len(data) > MAX_PICTURE_BYTES:
        plain.thumbnail((_SMALL_PICTURE_PX, _SMALL_PICTURE_PX))
        data = _encode(plain)
    return data if len(data) <= MAX_PICTURE_BYTES else None


def _encode(image: Any) -> bytes:
    stream = BytesIO()
    image.save(stream, format="PNG")
    return stream.getvalue()
