"""Triangles of what is seen of a body."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pybullet as p

from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.mesh_file import read_mesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.sim.bodies import Body

Array = np.ndarray


def link_mesh(body: Body, link: str) -> TriangleMesh:
    """All triangles of a link's visual shapes, in the link frame; none where nothing of it can be seen.

    Cylinders and capsules are prisms of 48 sides, spheres polyhedra: up to 0.3 % of a radius within the surface.

    Args:
        body: A body of a world with visual shapes.
        link: Name of the link.

    Raises:
        FrameNotFoundError: No such link.
        WorldError: A shape is of a kind that has no triangles.
        AssetError: A mesh file cannot be read.
    """
    body.link_index(link)
    if link not in body.meshes:
        body.meshes.update(_meshes_of(body))
    return body.meshes[link]


def _meshes_of(body: Body) -> dict[str, TriangleMesh]:
    pieces: dict[str, list[tuple[Pose, TriangleMesh]]] = {link: [] for link in body.links if link not in body.meshes}
    for shape in body.visual_shapes:
        link = body.link_names[shape.link]
        if link in pieces:
            pieces[link].append((shape.T_link_shape, _shape_mesh(body, shape.kind, shape.size, shape.path)))
    return {link: TriangleMesh.joined(found) for link, found in pieces.items()}


def _shape_mesh(body: Body, kind: int, size: tuple[float, ...], path: str) -> TriangleMesh:
    if kind != p.GEOM_MESH:
        return primitive_mesh(body, kind, size)
    status = Path(path).stat()
    mesh = _file_mesh(Path(path), status.st_mtime_ns, status.st_size)
    return TriangleMesh(mesh.vertices * np.asarray(size), mesh.faces)


def primitive_mesh(body: Body, kind: int, size: tuple[float, ...]) -> TriangleMesh:
    """A box, sphere, cylinder or capsule as triangles.

    Args:
        body: Whose shape it is.
        kind: Bullet's number of the kind.
        size: Its sizes, as Bullet tells them.

    Raises:
        WorldError: It is of another kind.
    """
    import trimesh

    if kind == p.GEOM_BOX:
        solid = trimesh.creation.box(extents=size)
    elif kind == p.GEOM_SPHERE:
        solid = trimesh.creation.icosphere(radius=size[0], subdivisions=3)
    elif kind == p.GEOM_CYLINDER:
        solid = trimesh.creation.cylinder(radius=size[1], height=size[0], sections=48)
    elif kind == p.GEOM_CAPSULE:
        solid = trimesh.creation.capsule(radius=size[1], height=size[0], count=[48, 24])
        solid.apply_translation(-solid.bounds.mean(axis=0))
    else:
        raise WorldError(
            f"A visual shape of '{body.name}' is of Bullet's kind {kind}, which has no triangles. Expected a box, "
            "sphere, cylinder, capsule or mesh. Change the model.",
            name=body.name,
        )
    return TriangleMesh(np.asarray(solid.vertices, dtype=float), np.asarray(solid.faces, dtype=int))


@lru_cache(maxsize=256)
def _file_mesh(path: Path, _mtime_ns: int, _size: int) -> TriangleMesh:
    """The mesh of a file as it is now: another one may take its name."""
    return TriangleMesh(*read_mesh(path))
