"""Puts bodies and points into a scene of viser, for pages of recorded and of running episodes."""

from __future__ import annotations

import hmac
import io
import math
import secrets
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from http import HTTPStatus
from typing import Any

import numpy as np
from PIL import Image

from unlatch.simcore.errors import PluginError
from unlatch.simcore.extras import import_extra
from unlatch.simcore.meshes.textured_surface import linear_light
from unlatch.workflows.viewing.viewers.link_meshes import ColouredMesh, Texture
from unlatch.workflows.viewing.viewers.recorded_scene import POINT_RGB

Array = np.ndarray

LABEL_ANCHORS = ("bottom-right", "top-left", "bottom-left", "top-right")
"""Anchors of labels, in turn: keypoints come in pairs that are close to each other."""
FOV_RAD = math.radians(42.0)
"""Vertical field of view of a page that is opened [rad]."""
SECRET_HEADER = "X-Unlatch-Secret"
"""Header of the requests that viser answers."""
_STARTING = threading.Lock()


def start_viser(*, secret: str | None = None) -> Any:
    """Starts a `viser.ViserServer` at a free port of this computer.

    Other users of this computer reach the port, too. So viser answers only requests, also for its web socket, whose
    header `SECRET_HEADER` is `secret`; None: it answers none.

    Raises:
        PluginError: This version of viser starts its server in an unknown manner, and would answer everybody.
    """
    viser = import_extra("viser", extra="view", needed_by="A page with a scene")

    with _requiring(secret or secrets.token_urlsafe()) as started:
        with redirect_stdout(io.StringIO()):  # viser prints a banner even with verbose=False
            server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
        if not started:
            stop_viser(server)
            raise PluginError(
                f"viser {viser.__version__} would show the scene to every user of this computer. Expected a version "
                "that serves with websockets.asyncio, such as 1.1.1. Install it: pip install 'viser==1.1.1'."
            )
    return server


@contextmanager
def _requiring(secret: str) -> Iterator[list[str]]:
    """Makes the servers that `websockets` starts meanwhile refuse requests without the secret.

    viser has no setting for this. Yields a list that has one item for each server that was started.
    """
    from websockets.asyncio import server as websockets_server

    serve, started = websockets_server.serve, []

    def serve_with_secret(*args: Any, process_request: Any, **settings: Any) -> Any:
        def check_request(connection: Any, request: Any) -> Any:
            given = request.headers.get_all(SECRET_HEADER)
            if len(given) != 1 or not hmac.compare_digest(given[0].encode(errors="replace"), secret.encode()):
                return connection.respond(HTTPStatus.FORBIDDEN, "This is reached through the page of Unlatch only.\n")
            return process_request(connection, request)

        started.append("viser")
        return serve(*args, process_request=check_request, **settings)

    with _STARTING:
        websockets_server.serve = serve_with_secret  # type: ignore[assignment, misc]
        try:
            yield started
        finally:
            websockets_server.serve = serve  # type: ignore[misc]


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
    import trimesh

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
