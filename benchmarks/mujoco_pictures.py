"""Draws what is visible in a world with MuJoCo's own renderer, for `rendering.py`. Needs the extra `bench` and OpenGL.

All triangles of all links are meshes of one model that stands still, with the colours and the light of the world, but
without textures. Shadow map and samples per pixel are MuJoCo's defaults.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.renderers.link_geometry import drawn_links, shape_geometry
from unlatch.simcore.sim.world import World

REPEATS = 20


def open_mujoco() -> Any:
    """Returns the module `mujoco` if it can draw without a screen; None otherwise."""
    os.environ.setdefault("MUJOCO_GL", "egl")
    try:
        import mujoco

        with mujoco.Renderer(mujoco.MjModel.from_xml_string("<mujoco/>"), 8, 8):
            return mujoco
    except Exception:  # noqa: BLE001 - MuJoCo raises what its OpenGL libraries raise
        return None


def build_model(world: World, pinhole: Pinhole, T_world_camera: Pose) -> Any:
    """Returns a model of the visible links at their present poses, with one camera and one light."""
    import mujoco

    spec = mujoco.MjSpec()
    for link in drawn_links(world):
        T_world_link = link.body.link_pose(link.name)
        for number, (shape, paint) in enumerate(zip(link.shapes, link.paints, strict=True)):
            geometry, name = shape_geometry(link.body, shape), f"{link.link_id}_{number}"
            corners, faces = geometry.vertices, geometry.faces
            if len(np.unique(corners, axis=0)) < 4 or np.ptp(corners, axis=0).min() < 1e-6:
                size = [*(np.ptp(corners[:, :2], axis=0) / 2.0), 0.1]
                geom = {"type": mujoco.mjtGeom.mjGEOM_PLANE, "size": size}
            else:
                spec.add_mesh(
                    name=name,
                    uservert=corners.astype(float).ravel(),
                    userface=faces.astype(int).ravel(),
                    inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
                )
                geom = {"type": mujoco.mjtGeom.mjGEOM_MESH, "meshname": name}
            x, y, z, w = T_world_link.quat_xyzw
            spec.worldbody.add_geom(
                **geom, pos=T_world_link.p, quat=[w, x, y, z], rgba=paint.rgba, contype=0, conaffinity=0
            )
    light = -np.array(world.light.direction)
    spec.worldbody.add_light(
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, pos=[0.4, 0.0, 3.0], dir=light, castshadow=True
    )
    x, y, z, w = Pose(T_world_camera.R @ np.diag([1.0, -1.0, -1.0]), T_world_camera.p).quat_xyzw
    fov_deg = np.degrees(2.0 * np.arctan(0.5 * pinhole.height / pinhole.fy))
    spec.worldbody.add_camera(name="eye", pos=T_world_camera.p, quat=[w, x, y, z], fovy=fov_deg)
    spec.visual.global_.offwidth, spec.visual.global_.offheight = 1280, 960
    return spec.compile()


def picture_ms(model: Any, width: int, height: int, *, shadows: bool) -> float:
    """Returns the mean CPU time of a picture, after the first one [ms]."""
    import mujoco

    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    with mujoco.Renderer(model, height, width) as renderer:
        renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = shadows
        for repeat in range(REPEATS + 1):
            if repeat == 1:
                started = time.process_time()
            renderer.update_scene(data, "eye")
            renderer.render()
    return 1e3 * (time.process_time() - started) / REPEATS
