"""Replaces the colliders of a robot's model by the convex hulls that Bullet makes of them at every loading."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import scipy

from unlatch.simcore.errors import AssetError, WorldError
from unlatch.simcore.geometry import Array
from unlatch.simcore.meshes.mesh_reader import read_mesh
from unlatch.simcore.meshes.obj_file import format_obj
from unlatch.simcore.meshes.solids import convex_hull
from unlatch.simcore.sim.sweep import hull_points


def use_hulls(robot: ET.Element, folder: Path, sources: Mapping[str, Path]) -> None:
    """Replaces every collider that is one mesh by its convex hull, as Bullet does at every loading; concave ones stay,
    and OBJ files with several objects or that we cannot read.

    The hand of an xArm 6 has 100,000 vertices in its files and 2,000 in their hulls. A Panda loads in a third of the
    time.

    Raises:
        AssetError: An STL or a COLLADA document cannot be read.
    """
    made: dict[Path, Path] = {}
    for collision in robot.iterfind("link/collision"):
        mesh = collision.find("geometry/mesh")
        local = Path("" if mesh is None else mesh.get("filename", "").removeprefix("package://"))
        if mesh is None or collision.get("concave") == "yes" or local.stem.endswith("_hull"):
            continue
        if local.suffix not in (".stl", ".dae") and not (local.suffix == ".obj" and _is_one_object(folder / local)):
            continue
        if local not in made:
            try:
                corners = _read_corners(folder / local, sources.get(local.as_posix(), local))
                text = format_obj([convex_hull(corners)])
            except scipy.spatial.QhullError:  # the mesh is flat
                continue
            except AssetError:
                if local.suffix == ".obj":  # Bullet reads some that we do not
                    continue
                raise
            made[local] = _free_path(folder, local.with_name(f"{local.stem}_{local.suffix[1:]}_hull.obj"))
            (folder / made[local]).write_text(text, encoding="utf-8")
        mesh.set("filename", made[local].as_posix())


def _free_path(folder: Path, wanted: Path) -> Path:
    """Returns a path in a folder that the model's own files leave free."""
    while (folder / wanted).exists():
        wanted = wanted.with_name(f"_{wanted.name}")
    return wanted


def _is_one_object(path: Path) -> bool:
    """Whether Bullet makes one hull of an OBJ, not one for each of its objects."""
    words = [line.split(None, 1)[0] for line in path.read_bytes().splitlines() if line[:2] in (b"o ", b"g ")]
    return len(words) == len(set(words))


def _read_corners(path: Path, source: Path) -> Array:
    """Returns (V, 3) vertices of Bullet's hull of a mesh, or of the file if Bullet cannot read it (ASCII STL)."""
    if path.suffix == ".obj":
        mesh = read_mesh(path).mesh
        return mesh.vertices[np.unique(mesh.faces)]
    if path.suffix == ".dae":
        with path.open("rb") as file:
            is_collada = b"<COLLADA" in file.read(4096)
        if not is_collada:  # Bullet crashes on other XML under that name
            raise _unreadable_error(source, "it is no COLLADA document")
    try:
        points = hull_points(path)
        if not len(points) and path.suffix == ".stl":
            points = np.unique(read_mesh(path).mesh.vertices, axis=0)
    except (AssetError, WorldError) as exc:
        raise _unreadable_error(source, " ".join(str(exc).replace(str(path), path.name).split())) from exc
    if not len(points):
        raise _unreadable_error(source, "it holds no triangles")
    return points


def _unreadable_error(source: Path, reason: str) -> AssetError:
    return AssetError(
        f"{source}: this collider of a robot is not a readable mesh: {reason}. Export it again.", path=str(source)
    )
