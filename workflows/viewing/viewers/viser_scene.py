"""Puts bodies and points into a scene of viser, for pages of recorded and of running episodes."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable
from contextlib import redirect_stdout
from typing import Any

import numpy as np
from PIL import Image

from unlatch.simcore.lazy_imports import trimesh, viser
from unlatch.simcore.meshes.textured_surface import linear_light
from unlatch.workflows.viewing.viewers.link_meshes import ColouredMesh, Texture
from unlatch.workflows.viewing.viewers.recorded_scene import POINT_RGB

Array = np.ndarray

LABEL_ANCHORS = ("bottom-right", "top-left", "bottom-left", "top-right")
"""Anchors of labels, in turn: keypoints come in pairs that are close to each other."""
FOV_RAD = math.radians(42.0)
"""Vertical field of view of a page that is opened [rad]."""


def start_viser(*, port: int) -> Any:
    """Starts a `viser.ViserServer` for this computer; with `port=0` the system chooses a free port.

    Raises:
        OSError: The port is not available.
    """
    with redirect_stdout(io.StringIO()):  # viser prints a banner even with verbose=False
        return viser.ViserServer(host="127.0.0.1", port=port, verbose=False)


def stop_viser(server: Any) -> None:
    """Stops a server."""
    with redirect_stdout(io.StringIO()):
        server.stop()


def set_view(server: Any, eye: Array, target: Array) -> None:
    """Sets from where a page that is opened later looks, from `eye` (3,) to `target` (3,), world frame [m]."""
    server.scene.set_up_direction("+z")
    camera = server.initial_camera
    camera.position, camera.look_at, camera.fov = eye, target, FOV_RAD


def add_body(view: Any, name: str, meshes: Iterable[ColouredMesh], *, position: Array, wxyz: Array) -> Any:
    """Adds a rigid body to a scene; returns the handle of its frame, whose pose in the world frame can be changed."""
    frame = view.add_frame(f"/{name}", show_axes=False, position=position, wxyz=wxyz)
    for index, mesh in enumerate(meshes):
        if mesh.texture is not None:
            view.add_mesh_trimesh(f"/{name}/{index}", textured_trimesh(mesh, mesh.texture))
            continue
        view.add_mesh_simple(
            f"/{name}/{index}",
            mesh.vertices,
            mesh.faces,
            color=tuple(round(255 * value) for value in mesh.rgba[:3]),
            opacity=None if mesh.rgba[3] >= 1.0 else mesh.rgba[3],
            side="double",
        )
    return frame


def textured_trimesh(mesh: ColouredMesh, texture: Texture) -> Any:
    """Returns a textured mesh of trimesh; colour factors of glTF are linear in light, those of a URDF are not."""
    made = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
    material = trimesh.visual.material.PBRMaterial(
        baseColorTexture=Image.open(io.BytesIO(texture.picture)).convert("RGB"),
        baseColorFactor=[*(linear_light(value) for value in mesh.rgba[:3]), mesh.rgba[3]],
        metallicFactor=0.0,
        roughnessFactor=1.0,
        doubleSided=True,
    )
    made.visual = trimesh.visual.TextureVisuals(uv=texture.uvs, material=material)
    _ = made.vertex_normals  # computes the normals: without them, round sides are drawn flat
    return made


def short_label(keypoint: str) -> str:
    """Returns the name of a keypoint in a scene: `head`, `tail`, `link contact`. Long names print over each other."""
    return keypoint.removeprefix("articulated_object_").removesuffix("_point").replace("_", " ")


def add_point(view: Any, name: str, label: str, position: Array, *, anchor: str, has_label: bool) -> tuple[Any, Any]:
    """Adds a keypoint at `position` (3,), world frame [m]; returns the handles of its dot and of its label."""
    dot = view.add_icosphere(
        f"/keypoints/{name}", 0.008, POINT_RGB, subdivisions=2, position=position, cast_shadow=False
    )
    # not a child of the dot: when playback restarts, viser leaves labels where their parents were last
    text = view.add_label(
        f"/labels/{name}",
        short_label(label),
        font_screen_scale=0.75,
        anchor=anchor,
        position=position,
        visible=has_label,
    )
    return dot, text
