"""The convex hull that the engine makes of a mesh file."""

from __future__ import annotations

import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pybullet as p

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.world import World, WorldCfg

Array = np.ndarray


def hull_points(path: Path) -> Array:
    """(V, 3) corners of the hull that Bullet makes of a collider's mesh file, in the file's own axes and unit.

    Bullet itself computes it, since it reads STL and COLLADA in its own way. An OBJ must hold a single object.

    Raises:
        WorldError: Bullet cannot read it.
    """
    robot = ET.Element("robot", name="mesh")
    link = ET.SubElement(robot, "link", name="mesh")
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "mass", value="1")
    ET.SubElement(inertial, "inertia", ixx="1", iyy="1", izz="1", ixy="0", ixz="0", iyz="0")
    geometry = ET.SubElement(ET.SubElement(link, "collision"), "geometry")
    ET.SubElement(geometry, "mesh", filename=str(path.resolve()))
    with World(WorldCfg()) as world, tempfile.TemporaryDirectory() as folder:
        urdf = Path(folder) / "mesh.urdf"
        ET.ElementTree(robot).write(urdf, encoding="unicode")
        body = world.load_urdf(urdf, name="mesh", T_world_root=Pose.identity())
        _, points = p.getMeshData(body.body_id, -1, physicsClientId=world.client)
    return np.array(points, dtype=float).reshape(-1, 3)
