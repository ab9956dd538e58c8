"""Material libraries of OBJ files: their colours and their textures."""

from __future__ import annotations

from pathlib import Path

from unlatch.simcore.errors import AssetError
from unlatch.simcore.urdf.model import Shape
from unlatch.simcore.urdf.reader import check_file_size

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
    found = [next(iter(_find_values(library, key)), None) for key in ("Pr", "Pm")]
    try:
        return None if found[0] is None else (float(found[0]), float(found[1] or 0.0))
    except ValueError:
        return None


def mesh_colour(shape: Shape, folder: Path) -> Colour:
    """Returns diffuse colour and opacity of a mesh: those of the URDF, else of its first material, else grey.

    Bullet multiplies the colour with the texture, and ignores the colours of material libraries. `folder` is the
    asset's resolved folder, in which the libraries lie.
    """
    if shape.rgba is not None or shape.path is None:
        return shape.rgba or _GREY
    for library in material_files(shape.path, folder):
        values: dict[str, list[float]] = {}
        for line in library.read_text(encoding="utf-8", errors="replace").splitlines():
            words = line.split()
            if len(words) in (2, 4) and words[0] in ("Kd", "d") and words[0] not in values:
                try:
                    values[words[0]] = [min(1.0, max(0.0, float(word))) for word in words[1:]]
                except ValueError:
                    continue
        if len(values.get("Kd", [])) == 3:
            red, green, blue = values["Kd"]
            return (red, green, blue, values.get("d", [1.0])[0])
    return _GREY


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
