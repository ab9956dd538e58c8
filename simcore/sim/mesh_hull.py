"""The convex hull that the engine makes of a mesh file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pybullet as p

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.simcore.urdf.model import Inertial, Link, Shape, ShapeKind, UrdfModel

Array = np.ndarray


def hull_points(path: Path) -> Array:
    """(V, 3) corners of the hull that Bullet makes of a collider's mesh file, in the file's own axes and unit.

    Bullet itself computes it, since it reads STL and COLLADA in its own way. An OBJ must hold a single object.

    Raises:
        WorldError: Bullet cannot read it.
    """
    shape = Shape(ShapeKind.mesh, (1.0, 1.0, 1.0), Pose.identity(), mesh=str(path.resolve()))
    link = Link("mesh", collisions=(shape,), inertial=Inertial(1.0, np.zeros(3), np.eye(3)))
    with World(WorldCfg()) as world, tempfile.TemporaryDirectory() as folder:
        urdf = Path(folder) / "mesh.urdf"
        urdf.write_text(UrdfModel("mesh", {"mesh": link}, {}).to_urdf(), encoding="utf-8")
        body = world.load_urdf(urdf, name="mesh", T_world_root=Pose.identity())
        _, points = p.getMeshData(body.body_id, -1, physicsClientId=world.client)
    return np.array(points, dtype=float).reshape(-1, 3)
