"""The space that moving links sweep: fixed copies of their colliders along the motion.

A body that is clear of all copies is clear of the motion, at any speed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pybullet as p

from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.sim.bodies import ROOT, Body
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.simcore.urdf.model import Inertial, Link, Shape, ShapeKind, UrdfModel

STEP_M = 0.02
"""Distance that a link's centre of mass moves between two copies, at most."""
STEP_RAD = 0.1
"""Angle that a link turns between two copies, at most; its ends, up to 0.2 m away, then move about `STEP_M`."""

_DEFAULT, _COPIES, _MEETS_COPIES, _ALL = 1, 64, 128, -1
"""Bullet's collision groups of moving bodies, of copies and of bodies that collide with copies; and a mask of all."""


def sweep(
    body: Body, links: Iterable[int], joints: Sequence[str], positions: Array, *, fixed: Mapping[str, float]
) -> dict[int, str]:
    """Places copies of a body's links along a motion; the body stays where it is.

    Args:
        body: The body.
        links: Numbers of the links to copy.
        joints: The joints that move.
        positions: (N, n) their positions [rad or m].
        fixed: Positions of other joints during the motion [rad or m].

    Returns:
        The label of the copied link by the number of each copy.
    """
    client = body.client
    # two bodies collide only if the filters of both allow it; so copies meet only the links of `collide_with_copies`
    # Bullet's filter mode in which two bodies collide only if both allow it
    p.setPhysicsEngineParameter(collisionFilterMode=0, physicsClientId=client)
    names = [joint.name for joint in body.movable_joints]
    before = body.joint_states(names)[0]
    body.set_joint_positions(list(fixed), list(fixed.values()))
    shapes = {link: _copy_shapes(body, link) for link in links}
    last: dict[int, Pose] = {}
    copies: dict[int, str] = {}
    for row, values in enumerate(positions):
        body.set_joint_positions(joints, values)
        for link, found in shapes.items():
            T_world_com = _com_pose(body, link)
            if found and (row == len(positions) - 1 or _has_moved(last.get(link), T_world_com)):
                last[link] = T_world_com
                for shape, T_com_shape in found:
                    T = T_world_com @ T_com_shape
                    number = p.createMultiBody(
                        baseMass=0.0,
                        baseCollisionShapeIndex=shape,
                        basePosition=T.p.tolist(),
                        baseOrientation=T.quat_xyzw.tolist(),
                        useMaximalCoordinates=1,
                        physicsClientId=client,
                    )
                    p.setCollisionFilterGroupMask(number, ROOT, _COPIES, _MEETS_COPIES, physicsClientId=client)
                    copies[number] = body.link_names[link]
    body.set_joint_positions(names, before)
    return copies


def collide_with_copies(body: Body, links: Iterable[int]) -> None:
    """Makes links of a body, by Bullet's numbers, collide with copies, too."""
    for link in links:
        p.setCollisionFilterGroupMask(body.body_id, link, _DEFAULT | _MEETS_COPIES, _ALL, physicsClientId=body.client)


_NO_FILE = b"unknown_file"
"""Bullet's file name of a hull that it made itself."""


def _has_moved(before: Pose | None, now: Pose) -> bool:
    if before is None:
        return True
    turned = float(np.arccos(np.clip((np.trace(before.R.T @ now.R) - 1.0) / 2.0, -1.0, 1.0)))
    return turned > STEP_RAD or float(np.linalg.norm(now.p - before.p)) > STEP_M


def _com_pose(body: Body, link: int) -> Pose:
    """Returns the pose of a link's inertial frame, in which Bullet states its colliders."""
    if link == ROOT:
        position, quat_xyzw = p.getBasePositionAndOrientation(body.body_id, physicsClientId=body.client)
    else:
        state = p.getLinkState(body.body_id, link, computeForwardKinematics=1, physicsClientId=body.client)
        position, quat_xyzw = state[0], state[1]
    return Pose.from_quat_xyzw(position, quat_xyzw)


def _copy_shapes(body: Body, link: int) -> list[tuple[int, Pose]]:
    """Creates copies of the collision shapes of a link, and returns them with their poses in its inertial frame."""
    found = p.getCollisionShapeData(body.body_id, link, physicsClientId=body.client)
    return [
        (_copy_cylinder(body, link, index), Pose.identity())
        if item[4] == _NO_FILE
        else (_copy_shape(item, body.client), Pose.from_quat_xyzw(item[5], item[6]))
        for index, item in enumerate(found)
    ]


def _copy_cylinder(body: Body, link: int, index: int) -> int:
    """Creates a copy of a cylinder of a URDF, which Bullet keeps as a hull without a file, in the inertial frame."""
    _, vertices = p.getMeshData(body.body_id, link, collisionShapeIndex=index, physicsClientId=body.client)
    return int(
        p.createCollisionShape(p.GEOM_MESH, vertices=[list(vertex) for vertex in vertices], physicsClientId=body.client)
    )


def _copy_shape(item: tuple[Any, ...], client: int) -> int:
    kind, size, file = item[2], item[3], item[4]
    if kind == p.GEOM_MESH:
        values: dict[str, Any] = {"fileName": file.decode(), "meshScale": size}
    elif kind == p.GEOM_BOX:
        values = {"halfExtents": [0.5 * edge for edge in size]}
    elif kind in (p.GEOM_CYLINDER, p.GEOM_CAPSULE):
        values = {"radius": size[1], "height": size[0]}
    elif kind == p.GEOM_SPHERE:
        values = {"radius": size[0]}
    else:
        raise WorldError(
            f"A collider of kind {kind} cannot be copied. Expected a mesh, box, cylinder, capsule, sphere."
        )
    return int(p.createCollisionShape(kind, **values, physicsClientId=client))


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
