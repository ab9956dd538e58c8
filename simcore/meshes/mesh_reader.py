"""Reads mesh files of every supported format as untrusted input, as one surface or as named pieces."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from unlatch.simcore.errors import AssetError, shorten
from unlatch.simcore.extras import import_extra
from unlatch.simcore.meshes.obj_file import MAX_PICTURE_BYTES, first_finish, first_texture, read_obj, srgb_light
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, component_labels, fan_triangles, join_meshes
from unlatch.simcore.urdf.reader import MAX_MESH_BYTES, parse_xml, resolve_inside

Array = np.ndarray
Colour = tuple[float, float, float, float]
"""Red, green, blue and opacity, each from 0 to 1."""

MESH_SUFFIXES = (".dae", ".fbx", ".glb", ".gltf", ".obj", ".ply", ".stl")
"""Supported endings, in lower case."""

GLTF_SUFFIXES = (".glb", ".gltf")
"""Endings of glTF files, which are in metres, with y up."""

MAX_FACES = 2_000_000
"""Largest number of triangles in one mesh."""

_EXTRA = "assets"
TO_Z_UP = {
    "x": np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]]),
    "y": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
}
"""(3, 3) rotation to axes with z up, by the axis that is up."""
READER_ERRORS = (
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    OSError,
    EOFError,
    struct.error,
    ArithmeticError,
    MemoryError,
    RecursionError,
    NotImplementedError,
    AssertionError,
)
"""Exceptions that third-party readers raise for a damaged file."""


@dataclass(frozen=True)
class SurfaceMesh:
    """The surface in a mesh file: its triangles, colour and shading."""

    mesh: TriangleMesh
    """In metres, where the format states a unit."""
    rgba: Colour | None = None
    """Its colour, if the file has one for the whole mesh."""
    corner_normals: Array | None = None
    """(F, 3, 3) unit normals at the corners; None if the file does not state them."""
    corner_uvs: Array | None = None
    """(F, 3, 2) texture coordinates: to the right, and upwards from the image's lower edge; the image repeats outside
    0 to 1."""
    texture: Path | None = None
    """The image on it."""
    finish: tuple[float, float] | None = None
    """Roughness and metalness, 0 to 1; None if the file does not state them."""


def read_mesh(
    path: Path,
    *,
    turn_to_z_up: bool = False,
    where: str | None = None,
    allow_empty: bool = False,
    with_shading: bool = False,
) -> SurfaceMesh:
    """Reads one mesh file; everything in it is one surface.

    OBJ, STL and PLY state neither axes nor unit: they are z up and in metres. COLLADA and FBX state both. glTF is
    always y up and in metres. Lengths become metres.

    Args:
        path: The file.
        turn_to_z_up: Whether a file with another up axis is turned; false for the mesh of a URDF.
        where: Name of the file in errors; by default its path.
        allow_empty: Whether a file without a triangle or without extent is read, too.
        with_shading: Whether normals and texture of an OBJ are read, too.

    Raises:
        AssetError: The format is unknown, its reader is not installed, or the file is damaged, empty, too large or not
            finite.
    """
    name = where or str(path)
    check_file(path, name)
    suffix = path.suffix.lower()
    if suffix == ".obj":
        found = read_obj(path, with_corners=with_shading)
        uvs, library = found.corner_uvs, found.library if with_shading else None
        texture = first_texture(library) if uvs is not None and library is not None else None
        finish = None if library is None else first_finish(library)
        surface = SurfaceMesh(found.mesh, None, found.corner_normals, uvs, texture, finish)
    elif suffix == ".fbx":
        surface = _read_fbx(path, name, z_up=turn_to_z_up)
    else:
        surface = _read_with_trimesh(path, name, turn=turn_to_z_up)
    check_faces(surface.mesh, path, name)
    if not allow_empty and not len(surface.mesh.faces):
        raise AssetError(f"{name}: the mesh has no triangle. Expected a surface. Export it again.", path=str(path))
    if not allow_empty and not np.ptp(surface.mesh.vertices[np.unique(surface.mesh.faces)], axis=0).any():
        raise AssetError(f"{name}: all vertices are one point. Expected a surface. Export it again.", path=str(path))
    return surface


def read_coloured_parts(path: Path, *, with_materials: bool) -> list[SurfaceMesh]:
    """Reads the parts of a mesh file with their colours, for display; in the axes and the unit of the file.

    It does not read FBX. With `with_materials`, it reads colours of material files, too.

    Raises:
        AssetError: The file cannot be read.
    """
    import trimesh

    try:
        scene = trimesh.load_scene(path, process=False, skip_materials=not with_materials)
    except (OSError, ValueError, LookupError, TypeError, RuntimeError) as exc:  # exceptions of third-party readers
        raise AssetError(
            f"Mesh '{path}' cannot be read ({type(exc).__name__}: {exc}). Restore the asset.", path=str(path)
        ) from exc
    return [
        SurfaceMesh(mesh, _read_colour(getattr(geometry.visual, "material", geometry.visual)))
        for _, geometry, mesh, _ in _surfaces(scene)
        if len(mesh.faces)
    ]


def check_file(path: Path, where: str) -> None:
    """Checks format and size of a mesh file.

    Raises:
        AssetError: The format is unknown, or the file is missing or too large.
    """
    if path.suffix.lower() not in MESH_SUFFIXES:
        raise AssetError(
            f"{where}: '{path.suffix or path.name}' is not a supported mesh format. "
            f"Known: {', '.join(MESH_SUFFIXES)}. Convert the mesh to one of them.",
            path=str(path),
        )
    try:
        size = path.stat().st_size
    except OSError as exc:
        raise AssetError(f"{where}: the mesh cannot be read ({exc.strerror or exc}).", path=str(path)) from exc
    if size > MAX_MESH_BYTES:
        raise AssetError(f"{where}: {size} bytes, at most {MAX_MESH_BYTES} are read.", path=str(path))


def check_faces(mesh: TriangleMesh, path: Path, where: str) -> None:
    """Checks number, indices and corners of the triangles in a mesh file.

    Raises:
        AssetError: There are too many, or they are damaged.
    """
    if len(mesh.faces) > MAX_FACES:
        raise AssetError(
            f"{where}: {len(mesh.faces)} triangles, at most {MAX_FACES} are read. Simplify the mesh.", path=str(path)
        )
    if len(mesh.faces) and (mesh.faces.min() < 0 or mesh.faces.max() >= len(mesh.vertices)):
        raise AssetError(
            f"{where}: a face names vertex {int(mesh.faces.max()) + 1} of {len(mesh.vertices)}. Export it again.",
            path=str(path),
        )
    used = mesh.vertices[np.unique(mesh.faces)]
    if not np.all(np.isfinite(used)):
        raise AssetError(
            f"{where}: {int(np.sum(~np.isfinite(used).all(axis=1)))} of {len(used)} vertices are not finite. "
            "Export it again.",
            path=str(path),
        )


def _common_colour(colours: set[Colour | None]) -> Colour | None:
    """Returns the one colour of all parts, or None where they differ."""
    return next(iter(colours)) if len(colours) == 1 else None


def _read_with_trimesh(path: Path, where: str, *, turn: bool) -> SurfaceMesh:
    scale, up = read_conventions(path, where=where)
    try:
        parts = list(_surfaces(load_scene(path, path.read_bytes())))
        colours = {_read_colour(getattr(geometry.visual, "material", None)) for _, geometry, *_ in parts}
    except READER_ERRORS as exc:
        raise unreadable_mesh(path, exc, where=where) from exc
    whole = join_meshes(mesh for _, _, mesh, _ in parts)
    vertices = whole.vertices * scale
    if turn and up in TO_Z_UP:
        vertices = vertices @ TO_Z_UP[up].T
    return SurfaceMesh(TriangleMesh(vertices, whole.faces), _common_colour(colours))


def read_conventions(path: Path, *, where: str) -> tuple[float, str]:
    """Returns metres per unit and the up axis of a mesh file; where its format states neither, 1 and `z`.

    Raises:
        AssetError: The reader of its format is not installed, or its unit is no length.
    """
    suffix = path.suffix.lower()
    if suffix != ".dae":
        return 1.0, "y" if suffix in GLTF_SUFFIXES else "z"
    import_extra("collada", extra=_EXTRA, needed_by=f"{where}: COLLADA", error=AssetError)
    scale, up = 1.0, "y"
    for element in parse_xml(path, most_bytes=MAX_MESH_BYTES).iter():
        tag = element.tag.rpartition("}")[2]
        if tag == "unit":
            try:
                scale = float(element.get("meter", "1"))
            except ValueError:
                scale = float("nan")
            if not 1e-6 <= scale <= 1e6:
                raise AssetError(
                    f"{path}: unit meter='{element.get('meter')}' is no length. Expected metres per unit, as in "
                    '<unit meter="0.01"/>.',
                    path=str(path),
                )
        elif tag == "up_axis":
            up = (element.text or "Y_UP").strip()[:1].lower()
    return scale, up


def load_scene(path: Path, data: bytes, **options: Any) -> Any:
    """Returns the scene of trimesh in the content of a mesh file, with the files beside it and none from elsewhere.

    Raises:
        READER_ERRORS: The file is damaged.
    """
    import trimesh

    resolver: Any = _FolderResolver(path.parent)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        suffix = path.suffix.lower()[1:]
        return trimesh.load_scene(BytesIO(data), file_type=suffix, resolver=resolver, process=False, **options)


def unreadable_mesh(path: Path, exc: BaseException, *, where: str) -> AssetError:
    """Returns the error of a mesh file that its reader cannot read."""
    reason = shorten(" ".join(str(exc).split()) or type(exc).__name__, 160)
    kind = path.suffix[1:].upper()
    return AssetError(f"{where}: no readable {kind} mesh ({reason}). Export it again.", path=str(path))


def _surfaces(scene: Any) -> Iterator[tuple[str, Any, TriangleMesh, bool]]:
    """Yields name, geometry, mesh in the scene's frame, and whether it is mirrored, of each surface in a scene."""
    for node in sorted(scene.graph.nodes_geometry):
        T, name = scene.graph[node]
        geometry = scene.geometry[name]
        if hasattr(geometry, "faces"):  # points and curves have none
            affine = np.asarray(T, dtype=float)[:3]
            vertices = np.asarray(geometry.vertices, dtype=float).reshape(-1, 3)
            mesh = TriangleMesh(vertices, np.asarray(geometry.faces, dtype=int).reshape(-1, 3)).mapped(affine)
            yield node, geometry, mesh, bool(np.linalg.det(affine[:, :3]) < 0)


def _read_colour(source: Any, key: str = "main_color") -> Colour | None:
    """Returns a colour of a material of trimesh, or of the vertices of a visual; None without one."""
    colour = getattr(source, key, None)
    if colour is None:
        return None
    red, green, blue, alpha = (float(value) / 255.0 for value in colour)
    return (red, green, blue, alpha)


class _FolderResolver:
    """Gives a third-party reader the files beside a mesh, and none from elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, name: str) -> bytes:
        return resolve_inside(self.folder, unquote(name), where=str(self.folder)).read_bytes()

    __getitem__ = get

    def keys(self) -> list[str]:
        return []

    def namespaced(self, namespace: str) -> _FolderResolver:
        return self


def _read_fbx(path: Path, where: str, *, z_up: bool) -> SurfaceMesh:
    ufbx: Any = import_extra("ufbx", extra=_EXTRA, needed_by=f"{where}: FBX", error=AssetError)
    axes = {"target_axes": ufbx.axes_right_handed_z_up} if z_up else {}
    try:
        scene = ufbx.load_file(
            str(path),
            target_unit_meters=1.0,
            load_external_files=False,
            ignore_missing_external_files=True,
            ignore_animation=True,
            ignore_embedded=True,
            **axes,
        )
        nodes = [node for node in scene.nodes if node.mesh is not None]
        mesh = join_meshes([_read_fbx_node(node) for node in nodes])
        materials = [material for node in nodes for material in node.mesh.materials]
        values = [None if each is None else each.fbx.diffuse_color.value_vec4 for each in materials]
        colours = {None if v is None else (float(v[0]), float(v[1]), float(v[2]), 1.0) for v in values}
    except (*READER_ERRORS, ufbx.UfbxError) as exc:
        raise unreadable_mesh(path, exc, where=where) from exc
    return SurfaceMesh(mesh, _common_colour(colours))


def _read_fbx_node(node: Any) -> TriangleMesh:
    mesh, matrix = node.mesh, node.geometry_to_world
    T = np.array([[matrix.c0[k], matrix.c1[k], matrix.c2[k], matrix.c3[k]] for k in range(3)])  # (3, 4)
    vertices = np.array([tuple(v) for v in mesh.vertices], dtype=float).reshape(-1, 3)
    fans, _ = fan_triangles(np.array([face.num_indices for face in mesh.faces], dtype=int))
    return TriangleMesh(vertices, np.array(list(mesh.vertex_indices), dtype=int)[fans]).mapped(T)


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
        is_linear = path.suffix.lower() in GLTF_SUFFIXES
        parents = scene.graph.transforms.parents
        pieces = [_read_piece(*surface, parents, is_linear=is_linear) for surface in _surfaces(scene)]
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


def _read_piece(
    node: str, geometry: Any, mesh: TriangleMesh, is_mirrored: bool, parents: dict[str, str], *, is_linear: bool
) -> MeshPiece:
    """Returns a surface of a scene as a piece; the colours of glTF are linear."""
    above: list[str] = []
    while (node_above := parents.get(above[-1] if above else node)) is not None:
        above.append(node_above)
    material = getattr(geometry.visual, "material", None)
    image = getattr(material, "baseColorTexture", None) or getattr(material, "image", None)
    picture = None if image is None else _png(image)
    if picture is not None:
        rgba = _read_colour(material, "baseColorFactor")
    else:
        rgba = _read_colour(material if material is not None else geometry.visual)
    if rgba is not None and is_linear and material is not None:
        red, green, blue = map(srgb_light, rgba[:3])
        rgba = (red, green, blue, rgba[3])
    uvs = getattr(geometry.visual, "uv", None)
    if picture is None or uvs is None or len(uvs) != len(geometry.vertices):
        return MeshPiece(node, tuple(above), mesh, rgba)
    faces = np.asarray(geometry.faces, dtype=int)
    corner_uvs = np.asarray(uvs, dtype=float)[faces[:, ::-1] if is_mirrored else faces]
    return MeshPiece(node, tuple(above), mesh, rgba, corner_uvs, picture)


def _png(image: Any) -> bytes | None:
    """Returns a picture of Pillow as PNG; a smaller one if the file would be too large."""
    plain = image.convert("RGB")
    for largest_px in (max(plain.size), _SMALL_PICTURE_PX):
        plain.thumbnail((largest_px, largest_px))
        stream = BytesIO()
        plain.save(stream, format="PNG")
        if stream.tell() <= MAX_PICTURE_BYTES:
            return stream.getvalue()
    return None
