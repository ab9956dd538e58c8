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
    and OBJ files with several objects.

    The hand of an xArm 6 has 100,000 vertices in its files and 2,000 in their hulls. A Panda loads in a third of the
    time.
    """
    for collision in robot.iterfind("link/collision"):
        mesh = collision.find("geometry/mesh")
        local = Path("" if mesh is None else mesh.get("filename", "").removeprefix("package://"))
        if mesh is None or collision.get("concave") == "yes" or local.stem.endswith("_hull"):
            continue
        if local.suffix not in (".stl", ".dae") and not (local.suffix == ".obj" and _is_one_object(folder / local)):
            continue
        hull = local.with_name(f"{local.stem}_hull.obj")
        if not (folder / hull).exists():
            try:
                text = format_obj([convex_hull(_read_corners(folder / local, sources.get(local.as_posix(), local)))])
            except scipy.spatial.QhullError:  # the mesh is flat
                continue
            (folder / hull).write_text(text, encoding="utf-8")
        mesh.set("filename", hull.as_posix())


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
