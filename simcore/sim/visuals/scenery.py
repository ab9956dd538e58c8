"""Scenery: visible bodies without physics, such as walls, a floor, or distractors on a table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pybullet as p

from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.meshes.mesh_reader import SurfaceMesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.visuals.visual_shapes import Finish
from unlatch.simcore.sim.world import World

Rgba = tuple[float, float, float, float]

SOLIDS = ("box", "cylinder", "sphere", "capsule")
"""Known shapes of solids."""


def add_panel(
    world: World,
    name: str,
    *,
    size_m: tuple[float, float],
    T_world_panel: Pose,
    rgba: Rgba,
    tile_m: float | tuple[float, float],
    finish: Finish | None = None,
    picture: Path | None = None,
) -> Body:
    """Adds a flat panel in the x-y plane of its frame, visible from its +z side.

    Args:
        world: A world with visual shapes.
        name: Its name.
        size_m: Its edges along x and y [m].
        T_world_panel: Pose of its centre.
        rgba: Colour.
        tile_m: Length after which a texture repeats, or one along x and one along y [m].
        finish: How it reflects light.
        picture: A picture that repeats on it.
    """
    x, y = 0.5 * size_m[0], 0.5 * size_m[1]
    u, v = np.array(size_m) / tile_m
    vertices = [[-x, -y, 0.0], [x, -y, 0.0], [x, y, 0.0], [-x, y, 0.0]]
    uvs = [[0.0, 0.0], [u, 0.0], [u, v], [0.0, v]]
    faces: Array = np.array([[0, 1, 2], [0, 2, 3]])
    surface = SurfaceMesh(TriangleMesh(np.array(vertices), faces), corner_uvs=np.array(uvs)[faces])
    panel = add_surface(world, name, surface, T_world_surface=T_world_panel, rgba=rgba, finish=finish, picture=picture)
    panel.sheet = True
    return panel


def add_surface(
    world: World,
    name: str,
    surface: SurfaceMesh,
    *,
    T_world_surface: Pose,
    rgba: Rgba,
    finish: Finish | None = None,
    picture: Path | None = None,
) -> Body:
    """Adds a surface of triangles.

    Args:
        world: A world with visual shapes.
        name: Its name.
        surface: Its triangles; with texture coordinates, if there is a picture.
        T_world_surface: Pose of its frame.
        rgba: Colour, multiplied with the picture.
        finish: How it reflects light.
        picture: A picture that repeats on it.
    """
    mesh = surface.mesh
    shape: dict[str, Any] = {
        "vertices": mesh.triangles.reshape(-1, 3).tolist(),
        "indices": list(range(3 * len(mesh.faces))),
        "normals": np.repeat(_unit_normals(mesh), 3, axis=0).tolist(),
    }
    if surface.corner_uvs is not None:
        shape["uvs"] = surface.corner_uvs.reshape(-1, 2).tolist()
    kind = p.GEOM_MESH
    if not world.renderer.draws_by_bullet:  # Bullet never forgets a mesh, and nobody looks at this one
        kind, shape = p.GEOM_BOX, {"halfExtents": [1e-4] * 3}
    body = _add_scenery(world, name, kind, shape, T_world_surface, rgba)
    body.surface, body.meshes[body.root_link] = replace(surface, texture=picture), mesh
    body.finish = finish or body.finish
    if picture is not None and world.renderer.draws_by_bullet:
        (drawn,) = body.visual_shapes
        texture = p.loadTexture(str(picture), physicsClientId=world.client)
        p.changeVisualShape(drawn.body, drawn.link, textureUniqueId=texture, physicsClientId=world.client)
        body.visual_shapes = (replace(drawn, texture=texture),)  # Bullet does not report it
    return body


def remove_scenery(world: World, name: str) -> None:
    """Removes scenery; unknown names are ignored."""
    body = world.scenery.pop(name, None)
    if body is not None:
        for key in [key for key in world.paint if key[0] == body.body_id]:
            del world.paint[key]
        p.removeBody(body.body_id, physicsClientId=world.client)


def _unit_normals(mesh: TriangleMesh) -> Array:
    across = mesh.area_normals
    return across / np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-30)


def add_solid(world: World, name: str, *, shape: str, size_m: float, T_world_solid: Pose, rgba: Rgba) -> Body:
    """Adds a solid about as wide and high as its size.

    Args:
        world: A world with visual shapes.
        name: Its name.
        shape: One of `SOLIDS`.
        size_m: Its size [m].
        T_world_solid: Pose of its centre.
        rgba: Colour.

    Raises:
        WorldError: The shape is unknown.
    """
    half = 0.5 * size_m
    sizes: dict[str, tuple[int, dict[str, Any]]] = {
        "box": (p.GEOM_BOX, {"halfExtents": [half, 0.7 * half, half]}),
        "cylinder": (p.GEOM_CYLINDER, {"radius": 0.7 * half, "length": size_m}),
        "sphere": (p.GEOM_SPHERE, {"radius": half}),
        "capsule": (p.GEOM_CAPSULE, {"radius": 0.5 * half, "length": half}),
    }
    if shape not in sizes:
        raise WorldError(f"A solid of shape '{shape}' is unknown. Known: {', '.join(SOLIDS)}. Name one of them.")
    return _add_scenery(world, name, *sizes[shape], T_world_solid, rgba)


def _add_scenery(world: World, name: str, kind: int, shape: dict[str, Any], T_world_shape: Pose, rgba: Rgba) -> Body:
    if not world.visuals or name in world.scenery:
        raise WorldError(f"Scenery '{name}' exists already, or this World has no visual shapes. Open another World.")
    visual = p.createVisualShape(kind, **shape, rgbaColor=rgba, physicsClientId=world.client)
    body_id = p.createMultiBody(
        baseMass=0.0,
        baseVisualShapeIndex=visual,
        basePosition=T_world_shape.p.tolist(),
        baseOrientation=T_world_shape.quat_xyzw.tolist(),
        physicsClientId=world.client,
    )
    world.scenery[name] = Body(world.client, body_id, name=name, friction=0.0)
    return world.scenery[name]
