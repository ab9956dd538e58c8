"""Reads and writes Wavefront OBJ files, their materials, and surfaces that carry one picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, dropwhile, islice, takewhile
from pathlib import Path

import numpy as np

from unlatch.simcore.cache import arrays_key, kept_arrays
from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, fan_triangles
from unlatch.simcore.urdf.model import Shape
from unlatch.simcore.urdf.reader import check_file_size

Array = np.ndarray

_KINDS = {"v": 3, "vt": 2, "vn": 3}
"""First words of the lines of vertices, texture coordinates and normals, in the order in which a corner names them, and
how many of their numbers are read."""

_LEAST_KEPT_BYTES = 50_000
"""Size from which the arrays of a file are kept in the cache; a smaller one is read as fast as they are."""


@dataclass(frozen=True)
class ObjMesh:
    """The triangles of an OBJ; texture coordinates and normals belong to corners, as in the file."""

    mesh: TriangleMesh
    uvs: Array
    """(T, 2) texture coordinates: to the right, and upwards from the lower edge of the image."""
    uv_faces: Array
    """(F, 3) indices of texture coordinates at the corners; -1 at a corner without any."""
    normals: Array
    """(N, 3) normals as written."""
    normal_faces: Array
    """(F, 3) indices of normals at the corners; -1 at a corner without any."""
    library: Path | None
    """The first material library that the file names."""

    @property
    def corner_uvs(self) -> Array | None:
        """(F, 3, 2) texture coordinates, 0 at corners without valid ones; None where no corner has any."""
        there = (self.uv_faces >= 0) & (self.uv_faces < len(self.uvs))
        if not there.any():
            return None
        return np.concatenate([self.uvs, np.zeros((1, 2))])[np.where(there, self.uv_faces, -1)]

    @property
    def corner_normals(self) -> Array | None:
        """(F, 3, 3) normals; None unless every corner has one."""
        at = self.normal_faces
        if not at.size or at.min() < 0 or at.max() >= len(self.normals):
            return None
        return self.normals[at]


def read_obj(path: Path, *, with_corners: bool = False) -> ObjMesh:
    """Reads the triangles of an OBJ, and with `with_corners` its texture coordinates and normals.

    Polygons become fans of triangles, and everything else is skipped. With `with_corners`, the arrays of a large file
    are kept in the cache under the hash of its content.

    Raises:
        AssetError: The file cannot be read. Indices out of range and numbers that are not finite are no error here.
    """
    try:
        content = path.read_bytes()
    except OSError as exc:
        raise AssetError(f"{path}: no readable OBJ mesh ({exc}).", path=str(path)) from exc
    found: Mapping[str, Array]
    if not with_corners or len(content) < _LEAST_KEPT_BYTES:
        found = _parse_obj(path, content, list(_KINDS) if with_corners else ["v"])
    else:
        found = kept_arrays("meshes", arrays_key(__file__, content), lambda: _parse_obj(path, content, list(_KINDS)))
    library = path.parent / str(found["library"]) if "library" in found else None
    mesh = TriangleMesh(found["v"], found["v_faces"])
    return ObjMesh(mesh, found["vt"], found["vt_faces"], found["vn"], found["vn_faces"], library)


def _parse_obj(path: Path, content: bytes, kinds: Sequence[str]) -> dict[str, Array]:
    """Returns what the lines of an OBJ state, as `ObjMesh` has it; `library` is missing if it names none.

    Raises:
        AssetError: See `read_obj`.
    """
    lines: dict[str, list[str]] = {kind: [] for kind in (*_KINDS, "f", "mtllib")}
    order: list[str] = []
    try:
        for line in content.decode(encoding="utf-8", errors="replace").splitlines():
            words = line.split(maxsplit=1)
            if words and words[0] in lines:
                lines[words[0]].append(words[1] if len(words) > 1 else "")
                order.append(words[0])
        lines["vt"] = [f"{line} 0 0" for line in lines["vt"]]  # the second number may be missing
        found = {
            kind: _read_columns(kind, lines[kind] if kind in kinds else [], count, dtype=float)
            for kind, count in _KINDS.items()
        }
        at = _read_triangles(lines["f"], order, kinds)
    except ValueError as exc:
        raise AssetError(f"{path}: no readable OBJ mesh ({exc}).", path=str(path)) from exc
    names = [name.strip() for name in lines["mtllib"] if name]
    library = {"library": np.array(names[0])} if names else {}
    return {**found, **{f"{kind}_faces": at[kind] for kind in _KINDS}, **library}


def format_obj(meshes: Iterable[TriangleMesh], *, named: bool = False, decimals: int | None = None) -> str:
    """Returns meshes of one frame as the text of one OBJ.

    With `named`, each becomes an object of its own: Bullet makes a compound of one hull per object. Coordinates have
    `decimals` decimals; by default nine significant digits and no negative zeros.
    """
    number = ".9g" if decimals is None else f".{decimals}f"
    lines: list[str] = []
    offset = 1
    for index, mesh in enumerate(meshes):
        vertices = mesh.vertices + np.zeros(3) if decimals is None else mesh.vertices
        lines += [f"o hull_{index}"] if named else []
        lines += [f"v {x:{number}} {y:{number}} {z:{number}}" for x, y, z in vertices]
        lines += [f"f {a + offset} {b + offset} {c + offset}" for a, b, c in mesh.faces]
        offset += len(vertices)
    return "\n".join([*lines, ""])


def _read_triangles(lines: list[str], order: list[str], kinds: Sequence[str]) -> dict[str, Array]:
    """Returns the indices (F, 3) of each kind at the corners of triangles; -1 at a corner that names none.

    Args:
        lines: A polygon each, which becomes a fan of triangles.
        order: The first words of all lines of the file that are read.
        kinds: The kinds that are read.
    """
    polygons = [line.split() for line in lines]
    sizes = np.array([len(polygon) for polygon in polygons], dtype=int)
    # every corner gets a number for each kind: 0 where it names none
    corners = "/0/0\n".join([*chain.from_iterable(polygons), ""])
    corners = corners.replace("//", "/0/").replace("//", "/0/")
    numbers = _read_columns("f", corners.splitlines(), len(kinds), dtype=np.int64, delimiter="/")
    found: Array = numbers - 1  # indices count from 1
    if numbers.min(initial=0) < 0:  # from the end
        words = np.array(order)
        counts = np.stack([np.cumsum(words == kind)[words == "f"] for kind in kinds], axis=1)  # before each polygon
        found = np.where(numbers < 0, numbers + np.repeat(counts, sizes, axis=0), found)
    triangles, _ = fan_triangles(sizes)
    there = {kind: found[triangles, place] for place, kind in enumerate(kinds)}
    return {kind: there.get(kind, np.zeros((0, 3), dtype=int)) for kind in _KINDS}


def _read_columns(kind: str, lines: list[str], count: int, *, dtype: type, delimiter: str | None = None) -> Array:
    """Returns the first numbers (L, count) of lines, which may have more.

    Raises:
        ValueError: One is no number, or some are missing.
    """
    if not lines:
        return np.zeros((0, count), dtype=dtype)
    try:
        return np.loadtxt(lines, dtype, comments=None, delimiter=delimiter, usecols=range(count), ndmin=2)
    except ValueError as exc:
        raise ValueError(f"in the lines that begin with '{kind}': {exc}") from exc


Colour = tuple[float, float, float, float]

_GREY: Colour = (0.7, 0.7, 0.7, 1.0)


def material_files(mesh: Path, folder: Path) -> list[Path]:
    """Returns the existing material libraries that an OBJ names; they must lie in the asset's resolved folder.

    Raises:
        AssetError: A name leads out of the folder, or a file is too large.
    """
    return _existing_files(mesh.parent, _find_values(mesh, "mtllib"), folder)


def texture_files(library: Path, folder: Path) -> list[Path]:
    """Returns the diffuse textures that a material library names and that exist; as `material_files`."""
    return _existing_files(library.parent, _find_values(library, "map_Kd"), folder)


def first_texture(library: Path) -> Path | None:
    """Returns the first diffuse texture of a material library that exists; None without one or without the library."""
    if not library.is_file():
        return None
    return next((file for name in _find_values(library, "map_Kd") if (file := library.parent / name).is_file()), None)


def first_finish(library: Path) -> tuple[float, float] | None:
    """Returns roughness and metalness of the first material of a library that states them (`Pr`, `Pm`), else None."""
    if not library.is_file():
        return None
    roughness, metalness = (_first_numbers(library, key, 1) for key in ("Pr", "Pm"))
    return None if roughness is None else (roughness[0], metalness[0] if metalness else 0.0)


def mesh_colour(shape: Shape, folder: Path) -> Colour:
    """Returns diffuse colour and opacity of a mesh: those of the URDF, else of its first material, else grey.

    Bullet multiplies the colour with the texture, and ignores the colours of material libraries. `folder` is the
    asset's resolved folder, in which the libraries lie.
    """
    if shape.rgba is not None or shape.path is None:
        return shape.rgba or _GREY
    for library in material_files(shape.path, folder):
        colour, opacity = _first_numbers(library, "Kd", 3), _first_numbers(library, "d", 1)
        if colour is not None:
            red, green, blue, alpha = (min(1.0, max(0.0, value)) for value in (*colour, *(opacity or [1.0])))
            return (red, green, blue, alpha)
    return _GREY


def _first_numbers(library: Path, key: str, count: int) -> list[float] | None:
    """Returns the numbers of the first line of a key that has so many; None if there is none."""
    for value in _find_values(library, key):
        with suppress(ValueError):
            numbers = [float(word) for word in value.split()]
            if len(numbers) == count:
                return numbers
    return None


def _find_values(file: Path, key: str) -> list[str]:
    """Returns what follows a key word in the lines that begin with it."""
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    split = [line.split(maxsplit=1) for line in lines]
    return [words[1].strip() for words in split if len(words) == 2 and words[0] == key]


def _existing_files(base: Path, names: list[str], folder: Path) -> list[Path]:
    """Returns the named files that exist: a missing one only costs a colour, one outside the folder is refused."""
    found = []
    for name in names:
        path = (base / name).resolve()
        if not path.is_relative_to(folder):
            raise AssetError(
                f"{base}: '{name}' leads out of the asset's folder {folder}. Keep files inside it.", file=name
            )
        if path.is_file():
            check_file_size(path, name, where=str(base))
            found.append(path)
    return found


MAX_PICTURE_BYTES = 1_000_000
"""Larger pictures are left out, since they would make an HTML page or a USD file too large."""
_PICTURES = (".jpg", ".jpeg", ".png")


@dataclass(frozen=True)
class TexturedSurface:
    """Triangles with texture coordinates."""

    vertices: np.ndarray
    """(V, 3) in the frame of the file [m]; a point with several texture coordinates occurs several times."""
    uvs: np.ndarray
    """(V, 2) to the right, and upwards from the lower edge of the picture; it repeats outside 0 to 1."""
    faces: np.ndarray
    """(F, 3) indices."""
    picture: Path
    """The PNG or JPEG; the visible colour is that of the picture times that of the visual."""


def read_textured_surface(path: Path, folder: Path) -> TexturedSurface | None:
    """Reads an OBJ of one material with a picture; None for other files, or if the picture cannot be used.

    Pictures outside the folder are not used.
    """
    if path.suffix.lower() != ".obj":
        return None
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
        if text.count("\nusemtl ") != 1 or text.count("mtllib ") != 1:
            return None
        library, material = (text.partition(word)[2].partition("\n")[0].strip() for word in ("mtllib ", "\nusemtl "))
        picture = _find_picture(path.parent / library, material, folder.resolve())
        return None if picture is None else _index_corners(read_obj(path, with_corners=True), picture)
    except (OSError, ValueError, IndexError, AssetError):  # a damaged file is reported where its surface is read
        return None


def _find_picture(library: Path, material: str, folder: Path) -> Path | None:
    file = _resolve_inside(library, folder)
    if file is None:
        return None
    lines = map(str.strip, file.read_text(encoding="utf-8", errors="replace").splitlines())
    of_material = islice(dropwhile(lambda line: line != f"newmtl {material}", lines), 1, None)
    own = takewhile(lambda line: not line.startswith("newmtl "), of_material)
    name = next((line[7:].strip() for line in own if line.startswith("map_Kd ")), None)
    found = None if name is None else _resolve_inside(file.parent / name, folder)
    small = found is not None and found.stat().st_size <= MAX_PICTURE_BYTES
    return found if found is not None and small and found.suffix.lower() in _PICTURES else None


def _resolve_inside(path: Path, folder: Path) -> Path | None:
    real = path.resolve()
    return real if real.is_relative_to(folder) and real.is_file() else None


def _index_corners(found: ObjMesh, picture: Path) -> TexturedSurface | None:
    """Gives every pair of a vertex and a texture coordinate one index, in the order of the faces.

    Returns:
        None where a corner has no texture coordinates, or a coordinate is not finite.
    """
    corners = np.stack([found.mesh.faces, found.uv_faces], axis=-1).reshape(-1, 2)  # (3 F, 2)
    if not len(corners) or corners.min() < 0 or corners.max(axis=0)[1] >= len(found.uvs):
        return None
    pairs, first, inverse = np.unique(corners, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    vertices, uvs = found.mesh.vertices[pairs[order, 0]], found.uvs[pairs[order, 1]]
    if not (np.isfinite(uvs).all() and np.isfinite(vertices).all()):
        return None
    return TexturedSurface(vertices, uvs, rank[inverse.reshape(-1)].reshape(-1, 3), picture)


def linear_light(value: float) -> float:
    """Converts a colour channel from sRGB (IEC 61966-2-1), as in a URDF, to linear light, both 0 to 1.

    glTF and USD need linear light for colours; the bytes of a picture stay sRGB there.
    """
    return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)


def srgb_light(value: float) -> float:
    """Converts a colour channel from linear light to sRGB, both 0 to 1; the inverse of `linear_light`."""
    return value * 12.92 if value <= 0.0031308 else float(1.055 * value ** (1.0 / 2.4) - 0.055)
