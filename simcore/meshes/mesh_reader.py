"""Reads surface meshes of every format we take, as untrusted input: bounded, finite, inside their folder."""

from __future__ import annotations

import json
import struct
import warnings
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

import numpy as np

from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.mesh_file import read_obj
from unlatch.simcore.meshes.mesh_parts import TriangleMesh, join
from unlatch.simcore.meshes.obj_materials import material_files, texture_files
from unlatch.simcore.urdf.reader import MAX_MESH_BYTES, inside
from unlatch.simcore.urdf.xml import parse_xml

MESH_SUFFIXES = (".dae", ".fbx", ".glb", ".gltf", ".obj", ".ply", ".stl")
"""Endings that are read, in small letters."""

MAX_FACES = 2_000_000
"""Triangles of one mesh."""

_EXTRA = "assets"
_READERS = {".dae": "collada", ".fbx": "ufbx"}
"""Packages that some formats need, all in the extra `assets`."""
_Y_UP_TO_Z_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
_X_UP_TO_Z_UP = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
_FAULTS = (
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
"""What the readers of others raise over a damaged file."""

Colour = tuple[float, float, float, float]


@dataclass(frozen=True)
class SurfaceMesh:
    """A surface as it was read."""

    mesh: TriangleMesh
    """In metres, where the format states a unit."""
    rgba: Colour | None = None
    """Its colour, where the file has one for the whole mesh."""


def reader_package(suffix: str) -> str | None:
    """The package that a format needs beyond the core dependencies, or None.

    Args:
        suffix: Ending of the file, with its dot.
    """
    return _READERS.get(suffix.lower())


def read_mesh(path: Path, *, turn_to_z_up: bool, where: str | None = None) -> SurfaceMesh:
    """Reads one mesh file; everything in it is one surface.

    OBJ, STL and PLY state neither axes nor unit: they are taken as z up and metres. COLLADA and FBX state both, glTF is
    always y up and metres: lengths become metres, and axes are turned where it is asked for.

    Args:
        path: The file.
        turn_to_z_up: Whether a file whose up axis is y is turned; in a URDF, coordinates stay as they are written.
        where: Names the file in errors; its path by default.

    Raises:
        AssetError: The format is unknown, its reader is not installed, or the file is damaged, empty, too large or not
            finite.
    """
    said = where or str(path)
    suffix = path.suffix.lower()
    if suffix not in MESH_SUFFIXES:
        raise AssetError(
            f"{said}: '{path.suffix or path.name}' is no mesh format that is read. "
            f"Known: {', '.join(MESH_SUFFIXES)}. Convert the mesh to one of them.",
            path=str(path),
        )
    try:
        size = path.stat().st_size
    except OSError as exc:
        raise AssetError(f"{said}: the mesh cannot be read ({exc.strerror or exc}).", path=str(path)) from exc
    if size > MAX_MESH_BYTES:
        raise AssetError(f"{said}: {size} bytes, at most {MAX_MESH_BYTES} are read.", path=str(path))
    rgba: Colour | None = None
    if suffix == ".obj":
        vertices, faces = read_obj(path)
    elif suffix == ".fbx":
        vertices, faces, rgba = _read_fbx(path, said, z_up=turn_to_z_up)
    else:
        vertices, faces, rgba = _read_with_trimesh(path, said, turn=turn_to_z_up)
    return SurfaceMesh(_checked(TriangleMesh(vertices, faces), path, said), rgba)


def mesh_dependencies(path: Path, folder: Path) -> dict[str, Path]:
    """The files that a mesh names and that exist, by their path in the asset's folder: materials, textures, buffers.

    Args:
        path: The mesh.
        folder: Folder of the asset, resolved.

    Raises:
        AssetError: A name leads out of the folder, or the file is damaged.
    """
    suffix = path.suffix.lower()
    found: list[Path] = []
    if suffix == ".obj":
        libraries = material_files(path, folder)
        found = [*libraries, *(texture for library in libraries for texture in texture_files(library, folder))]
    elif suffix in (".glb", ".gltf"):
        found = [inside(folder, _below(path.parent / name, folder), where=str(path)) for name in _gltf_files(path)]
    elif suffix == ".dae":
        for element in parse_xml(path).iter():
            name = (element.text or "").strip()
            if element.tag.rpartition("}")[2] == "init_from" and name and "://" not in name:
                candidate = (path.parent / unquote(name)).resolve()
                if candidate.is_file():
                    found.append(inside(folder, _below(candidate, folder), where=str(path)))
    return {file.relative_to(folder).as_posix(): file for file in sorted(set(found))}


def import_reader(package: str, *, extra: str, what: str) -> ModuleType:
    """Imports a package of an extra.

    Args:
        package: Its import name.
        extra: The extra that brings it.
        what: What needs it, for the error.

    Raises:
        AssetError: It is not installed; the message names the extra.
    """
    try:
        return import_module(package)
    except ImportError as exc:
        raise AssetError(
            f"{what} needs the package '{package.partition('.')[0]}', which is not installed. "
            f"Install the extra: pip install 'unlatch[{extra}]'.",
            package=package,
            extra=extra,
        ) from exc


def _below(path: Path, folder: Path) -> str:
    resolved = path.resolve()
    return resolved.relative_to(folder).as_posix() if resolved.is_relative_to(folder) else str(path)


def _checked(mesh: TriangleMesh, path: Path, where: str) -> TriangleMesh:
    if not len(mesh.faces):
        raise AssetError(f"{where}: the mesh has no triangle. Expected a surface. Export it again.", path=str(path))
    if len(mesh.faces) > MAX_FACES:
        raise AssetError(
            f"{where}: {len(mesh.faces)} triangles, at most {MAX_FACES} are read. Simplify the mesh.", path=str(path)
        )
    if mesh.faces.min() < 0 or mesh.faces.max() >= len(mesh.vertices):
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
    if float(np.max(np.ptp(used, axis=0))) <= 0.0:
        raise AssetError(f"{where}: all vertices are one point. Expected a surface. Export it again.", path=str(path))
    return mesh


def _read_with_trimesh(path: Path, where: str, *, turn: bool) -> tuple[np.ndarray, np.ndarray, Colour | None]:
    suffix = path.suffix.lower()
    scale, up = 1.0, "z"
    if suffix == ".dae":
        import_reader("collada", extra=_EXTRA, what=f"{where}: COLLADA")
        scale, up = _dae_conventions(path)
    elif suffix in (".glb", ".gltf"):
        up = "y"
    trimesh = import_module("trimesh")
    data = path.read_bytes()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scene = trimesh.load_scene(
                BytesIO(data), file_type=suffix[1:], resolver=_FolderResolver(path.parent), process=False
            )
        parts = _scene_parts(scene)
    except _FAULTS as exc:
        raise AssetError(
            f"{where}: no readable {suffix[1:].upper()} mesh ({_short(exc)}). Export it again.", path=str(path)
        ) from exc
    whole = join([part for part, _ in parts])
    vertices = whole.vertices * scale
    if turn and up == "y":
        vertices = vertices @ _Y_UP_TO_Z_UP.T
    elif turn and up == "x":
        vertices = vertices @ _X_UP_TO_Z_UP.T
    colours = {colour for _, colour in parts}
    return vertices, whole.faces, next(iter(colours)) if len(colours) == 1 else None


def _scene_parts(scene: Any) -> list[tuple[TriangleMesh, Colour | None]]:
    parts = []
    for node in sorted(scene.graph.nodes_geometry):
        T, name = scene.graph[node]
        geometry = scene.geometry[name]
        if not hasattr(geometry, "faces"):  # points and curves have no surface
            continue
        T = np.asarray(T, dtype=float)
        vertices = np.asarray(geometry.vertices, dtype=float).reshape(-1, 3) @ T[:3, :3].T + T[:3, 3]
        faces = np.asarray(geometry.faces, dtype=int).reshape(-1, 3)
        if np.linalg.det(T[:3, :3]) < 0:
            faces = faces[:, ::-1]  # a mirror turns triangles inside out
        parts.append((TriangleMesh(vertices, faces), _trimesh_colour(geometry)))
    return parts


def _trimesh_colour(geometry: Any) -> Colour | None:
    material = getattr(geometry.visual, "material", None)
    value = getattr(material, "main_color", None) if material is not None else None
    if value is None or len(value) < 3:
        return None
    channels = [float(channel) / 255.0 for channel in value]
    return (channels[0], channels[1], channels[2], channels[3] if len(channels) > 3 else 1.0)


def _dae_conventions(path: Path) -> tuple[float, str]:
    """Metres per unit, and the up axis, of a COLLADA file; it declares no entities."""
    scale, up = 1.0, "y"
    for element in parse_xml(path).iter():
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


class _FolderResolver:
    """Gives a reader the files beside a mesh, and none from elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, name: str) -> bytes:
        return inside(self.folder, unquote(name), where=str(self.folder)).read_bytes()

    __getitem__ = get

    def keys(self) -> list[str]:
        return []

    def namespaced(self, namespace: str) -> _FolderResolver:
        return self


def _gltf_files(path: Path) -> list[str]:
    """Names of the files that a glTF refers to."""
    data = path.read_bytes()
    try:
        if path.suffix.lower() == ".glb":
            length = struct.unpack("<I", data[12:16])[0]
            data = data[20 : 20 + length]
        tree = json.loads(data)
        items = [*tree.get("buffers", []), *tree.get("images", [])]
        names = [item["uri"] for item in items if isinstance(item.get("uri"), str)]
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError, struct.error) as exc:
        raise AssetError(f"{path}: no readable glTF ({_short(exc)}). Export it again.", path=str(path)) from exc
    return [unquote(name) for name in names if not name.startswith("data:")]


def _read_fbx(path: Path, where: str, *, z_up: bool) -> tuple[np.ndarray, np.ndarray, Colour | None]:
    ufbx: Any = import_reader("ufbx", extra=_EXTRA, what=f"{where}: FBX")
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
        parts, colours = [], set()
        for node in scene.nodes:
            if node.mesh is None:
                continue
            parts.append(_fbx_part(node))
            colours |= {_fbx_colour(material) for material in node.mesh.materials}
    except (*_FAULTS, ufbx.UfbxError) as exc:
        raise AssetError(f"{where}: no readable FBX mesh ({_short(exc)}). Export it again.", path=str(path)) from exc
    whole = join(parts)
    return whole.vertices, whole.faces, next(iter(colours)) if len(colours) == 1 else None


def _fbx_part(node: Any) -> TriangleMesh:
    mesh, matrix = node.mesh, node.geometry_to_world
    T = np.array([[matrix.c0[k], matrix.c1[k], matrix.c2[k], matrix.c3[k]] for k in range(3)])  # (3, 4)
    vertices = np.array([tuple(v) for v in mesh.vertices], dtype=float).reshape(-1, 3)
    corner = np.array(list(mesh.vertex_indices), dtype=int)
    faces = [
        (corner[face.index_begin], corner[face.index_begin + k], corner[face.index_begin + k + 1])
        for face in mesh.faces
        for k in range(1, face.num_indices - 1)
    ]
    triangles = np.array(faces, dtype=int).reshape(-1, 3)
    if np.linalg.det(T[:, :3]) < 0:
        triangles = triangles[:, ::-1]
    return TriangleMesh(vertices @ T[:, :3].T + T[:, 3], triangles)


def _fbx_colour(material: Any) -> Colour | None:
    if material is None:
        return None
    colour = material.fbx.diffuse_color.value_vec4
    return (float(colour[0]), float(colour[1]), float(colour[2]), 1.0)


def _short(exc: BaseException) -> str:
    words = " ".join(str(exc).split()) or type(exc).__name__
    return words if len(words) <= 160 else words[:157] + "..."
