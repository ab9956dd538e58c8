"""The Panda's visual meshes with their colours, for pictures: those of `example-robot-data`, where it is installed.

PyBullet's model shows the colliders of base and flange, and has no colours for the parts of a link. Joints, masses and
colliders are those of `franka_panda`.
"""

from __future__ import annotations

import copy
import shutil
import xml.etree.ElementTree as ET
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from unlatch.robots.models import cached_model, example_robot_urdf, panda_urdf, to_text
from unlatch.simcore.cache import cache_root
from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.mesh_reader import Colour, read_coloured_parts
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, creased_normals, join_meshes
from unlatch.simcore.urdf.reader import parse_xml

_LINKS = {
    **{f"panda_link{number}": f"link{number}" for number in range(8)},
    "panda_hand": "hand",
    "panda_leftfinger": "finger",
    "panda_rightfinger": "finger",
}
"""Name of the mesh file of each link."""
_MARKS = ((1.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 1.0))
"""Colours in the files that only mark parts; they are white on the robot."""
_WHITE: Colour = (0.93, 0.93, 0.92, 1.0)
_CREASE_RAD = np.radians(30.0)
_VERSION = 1


def drawn_panda_urdf() -> Path:
    """Returns the Panda for pictures: the same joints and colliders, with the maker's visual meshes if they exist."""
    return drawn_panda(panda_urdf())


def drawn_panda(source: Path) -> Path:
    """Returns the URDF at `source` with the meshes for pictures, or `source` itself where there are none."""
    return _make_model(cache_root(), source)


@lru_cache(maxsize=4)
def _make_model(root: Path, source: Path) -> Path:
    meshes = _find_meshes()
    if meshes is None:
        return source
    files = [(name, meshes / f"{name}.dae") for name in sorted(set(_LINKS.values()))]
    if not all(path.is_file() for _, path in files):
        return source

    def write_model(temporary: Path) -> None:
        shutil.copytree(source.parent / "meshes", temporary / "meshes")
        (temporary / "meshes" / "drawn").mkdir()
        visuals = {name: _write_meshes(path, temporary) for name, path in files}
        robot = parse_xml(source)
        for link in robot.iter("link"):
            if link.get("name") in _LINKS:
                _replace_visuals(link, visuals[_LINKS[link.get("name", "")]])
        (temporary / "drawn_panda.urdf").write_text(to_text(robot), encoding="utf-8")

    content = f"{_VERSION}\0{source.read_text(encoding='utf-8')}"
    return cached_model(root, "drawn_panda", content, files, write_model)


def _find_meshes() -> Path | None:
    """Returns the folder of the meshes; None if its package, or the reader of COLLADA, is not installed."""
    if find_spec("collada") is None:
        return None
    try:
        urdf = example_robot_urdf("panda_description/urdf/panda.urdf", robot="franka_panda")
    except AssetError:
        return None
    return urdf.parent.parent / "meshes" / "visual"


def _write_meshes(path: Path, folder: Path) -> list[tuple[str, Colour]]:
    """Writes one OBJ for each colour of a mesh file; returns their paths in `folder`, and their colours."""
    by_colour: dict[Colour, list[TriangleMesh]] = {}
    for part in read_coloured_parts(path, with_materials=True):
        colour = _WHITE if part.rgba is None or part.rgba in _MARKS else part.rgba
        by_colour.setdefault(_WHITE if min(colour[:3]) > _WHITE[2] else colour, []).append(part.mesh)
    found = []
    for number, (colour, meshes) in enumerate(by_colour.items()):
        name = f"meshes/drawn/{path.stem}_{number}.obj"
        (folder / name).write_text(_format_smooth_obj(join_meshes(meshes)), encoding="utf-8")
        found.append((name, colour))
    return found


def _format_smooth_obj(mesh: TriangleMesh) -> str:
    """Returns a mesh with normals as the text of an OBJ."""
    normals = np.round(creased_normals(mesh, crease_rad=_CREASE_RAD).reshape(-1, 3), 4)
    normals, at = np.unique(normals, axis=0, return_inverse=True)
    vertices, of = np.unique(np.round(mesh.vertices, 6), axis=0, return_inverse=True)
    corners = np.stack([of.reshape(-1)[mesh.faces] + 1, at.reshape(-1, 3) + 1], axis=-1)  # (F, 3, 2)
    lines = [f"v {x:.6g} {y:.6g} {z:.6g}" for x, y, z in vertices + 0.0]
    lines += [f"vn {x:.4g} {y:.4g} {z:.4g}" for x, y, z in normals + 0.0]
    lines += [f"f {a}//{b} {c}//{d} {e}//{g}" for (a, b), (c, d), (e, g) in corners.tolist()]
    return "\n".join([*lines, ""])


def _replace_visuals(link: ET.Element, meshes: list[tuple[str, Colour]]) -> None:
    """Gives a link these visual meshes, at the origin of its first one."""
    old = link.findall("visual")
    origin = old[0].find("origin") if old else None
    for visual in old:
        link.remove(visual)
    for name, rgba in meshes:
        visual = ET.SubElement(link, "visual")
        if origin is not None:
            visual.append(copy.deepcopy(origin))
        ET.SubElement(ET.SubElement(visual, "geometry"), "mesh", {"filename": name})
        material = ET.SubElement(visual, "material", {"name": "rgba_" + "_".join(f"{255 * c:.0f}" for c in rgba)})
        ET.SubElement(material, "color", {"rgba": " ".join(f"{c:g}" for c in rgba)})
