"""Turns the meshes of a robot that Bullet cannot read, such as GLB and PLY files, into OBJ files."""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path

from unlatch.simcore.meshes.mesh_reader import Colour, read_mesh, read_pieces
from unlatch.simcore.meshes.obj_file import format_obj
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, join_meshes
from unlatch.simcore.urdf.reader import is_read_by_bullet


def convert_meshes(robot: ET.Element, files: Mapping[str, Path], folder: Path) -> None:
    """Writes the meshes that Bullet cannot read to a folder as OBJ files, in place.

    Coordinates stay those of the file, without a turn from y up to z up, as in other simulators. A collider is one
    mesh. A visual without a material becomes one visual for each colour of the file; textures are left out.

    Args:
        robot: Root element of the URDF.
        files: The source of each mesh, by its name in the URDF, which ends in `.obj` for those that are converted.
        folder: The folder to which these names are relative.

    Raises:
        AssetError: A mesh cannot be read.
    """
    for link in robot.iter("link"):
        for place, shape in reversed(list(enumerate(link))):
            mesh = shape.find("geometry/mesh")
            name = "" if mesh is None else mesh.get("filename", "")
            if name not in files or is_read_by_bullet(files[name]):
                continue
            by_colour = shape.tag == "visual" and shape.find("material") is None
            link.remove(shape)
            for number, (colour, part) in enumerate(_read_parts(files[name], by_colour=by_colour).items()):
                # a part of one colour and the whole mesh, as of a collider, are different surfaces
                file = f"{name.removesuffix('.obj')}_colour_{number}.obj" if by_colour else name
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                if not (folder / file).exists():
                    (folder / file).write_text(format_obj([part]), encoding="utf-8")
                link.insert(place + number, _with_mesh(shape, file, colour))


def _read_parts(path: Path, *, by_colour: bool) -> dict[Colour | None, TriangleMesh]:
    """Returns the surface of a mesh file, or with `by_colour` that of each colour, in the axes of the file [m]."""
    if path.suffix.lower() == ".fbx" or not by_colour:
        surface = read_mesh(path)
        return {surface.rgba if by_colour else None: surface.mesh}
    found: dict[Colour | None, list[TriangleMesh]] = {}
    for piece in read_pieces(path, up="z", split_one=False):
        found.setdefault(piece.rgba, []).append(piece.mesh)
    return {colour: join_meshes(meshes) for colour, meshes in found.items()}


def _with_mesh(shape: ET.Element, file: str, colour: Colour | None) -> ET.Element:
    """Returns a copy of a visual or collider with another mesh file, and with a colour."""
    made = copy.deepcopy(shape)
    for mesh in made.iter("mesh"):
        mesh.set("filename", file)
    if colour is not None:
        material = ET.SubElement(made, "material", {"name": f"colour of {Path(file).stem}"})
        ET.SubElement(material, "color", {"rgba": " ".join(f"{value:.4g}" for value in colour)})
    return made
