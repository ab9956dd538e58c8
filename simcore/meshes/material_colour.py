"""The colour of a mesh, as its material library says."""

from __future__ import annotations

from pathlib import Path

from unlatch.simcore.meshes.obj_materials import material_files
from unlatch.simcore.urdf.model import Shape

Colour = tuple[float, float, float, float]

_GREY: Colour = (0.7, 0.7, 0.7, 1.0)


def mesh_colour(shape: Shape, folder: Path) -> Colour:
    """Diffuse colour and opacity of a mesh's first material; the URDF's own colour or grey without one.

    Bullet multiplies it with the texture, and takes no colour from a material library by itself.

    Args:
        shape: A mesh with its path.
        folder: Folder of the asset, resolved; material libraries lie inside it.
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
