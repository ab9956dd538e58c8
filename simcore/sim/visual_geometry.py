"""Triangles of what is seen of a body."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pybullet as p

from simcore.errors import WorldError
from simcore.geometry import Pose
from simcore.geometry.mesh_file import read_mesh
from simcore.sim.bodies import Body

Array = np.ndarray


def link_triangles(body: Body, link: str) -> Array:
    """(F, 3, 3) corners of all triangles of a link's visual shapes, in the link frame [m]; (0, 3, 3) without any.

    Cylinders and capsules are prisms of 48 sides, spheres polyhedra: up to 0.3 % of a radius within the surface.

    Args:
        body: A body of a world with visual shapes.
        link: Name of the link.

    Raises:
        FrameNotFoundError: No such link.
        WorldError: A shape is of a kind that has no triangles.
        AssetError: A mesh file cannot be read.
    """
    index = body.link_index(link)
    if link in body.drawn_triangles:
        return body.drawn_triangles[link]
    found = [np.zeros((0, 3, 3))]
    for row in p.getVisualShapeData(body.body_id, physicsClientId=body.client):
        if row[1] == index:
            T_link_shape = Pose.from_quat_xyzw(row[5], row[6])
            shape = _shape_triangles(body, row[2], tuple(row[3]), row[4].decode())
            found.append((T_link_shape @ shape.reshape(-1, 3)).reshape(-1, 3, 3))
    return np.concatenate(found)


def _shape_triangles(body: Body, kind: int, size: tuple[float, ...], path: str) -> Array:
    import trimesh

    if kind == p.GEOM_MESH:
        return _mesh_triangles(Path(path)) * np.asarray(size)
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
    return np.asarray(solid.triangles, dtype=float)


@lru_cache(maxsize=512)
def _mesh_triangles(path: Path) -> Array:
    vertices, faces = read_mesh(path)
    triangles: Array = vertices[faces]
    triangles.setflags(write=False)
    return triangles
