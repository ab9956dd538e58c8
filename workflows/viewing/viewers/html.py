"""Writes a page that any browser plays from a file: viser's recording of the scene, and our panel of curves."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from contextlib import redirect_stdout
from itertools import cycle
from typing import Any

import numpy as np
from PIL import Image

from unlatch.simcore.lazy_imports import trimesh, viser
from unlatch.simcore.meshes.textured_surface import linear_light
from unlatch.workflows.viewing.template import fill_template
from unlatch.workflows.viewing.viewers.link_meshes import ColouredMesh, Texture
from unlatch.workflows.viewing.viewers.recorded_scene import (
    PATH_RGB,
    POINT_RGB,
    RecordedScene,
    ShownBody,
    ShownForce,
    ShownPoint,
)

Array = np.ndarray

_CURVE_RGB = (40, 90, 200)
_ANCHORS = ("bottom-right", "top-right", "bottom-left", "top-left")
"""Anchors of labels, in turn: keypoints come in pairs that are close to each other."""
_FOV_RAD = math.radians(42.0)
_END_S = 1.5
"""Time that the last frame stays before playback starts again [s]."""

Update = Callable[[int], None]
"""Moves a body or mark to its place in a frame."""


def to_html(scene: RecordedScene) -> bytes:
    """Returns the page, which refers to no other file or address."""
    # only a server can record the scene; nobody connects to it, and the system chooses a free port
    with redirect_stdout(io.StringIO()):  # viser prints a banner even with verbose=False
        server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        updates = _add_scene(server, scene)
        recording = server.get_scene_serializer()
        for frame, pause in enumerate(np.diff(scene.times_s), start=1):
            recording.insert_sleep(float(pause))
            for update in updates:
                update(frame)
        if len(scene.times_s) > 1:
            recording.insert_sleep(_END_S)
        page = str(recording.as_html())
    finally:
        with redirect_stdout(io.StringIO()):
            server.stop()
    body, end, rest = page.rpartition("</body>")
    return f"{body}{_fill_panel(scene)}{end}{rest}".encode()


def _add_scene(server: Any, scene: RecordedScene) -> list[Update]:
    """Adds everything in its first frame; returns the updates for later frames."""
    view = server.scene
    view.set_up_direction("+z")
    camera = server.initial_camera
    camera.position, camera.look_at, camera.fov = scene.eye, scene.target, _FOV_RAD
    updates: list[Update] = []
    for body in scene.bodies:
        updates += _add_body(view, body)
    for point, anchor in zip(scene.points, cycle(_ANCHORS), strict=False):
        updates += _add_point(view, point, anchor=anchor)
    for force in scene.forces:
        updates += _add_force(view, force)
    for arm, path in scene.tool_paths.items():
        if len(path) > 1:
            pieces = np.stack([path[:-1], path[1:]], axis=1)  # (T - 1, 2, 3)
            view.add_line_segments(f"/path/{arm}", pieces, colors=PATH_RGB, thickness=2.0, thickness_units="screen")
    return updates


def _add_body(view: Any, body: ShownBody) -> list[Update]:
    positions, quats_wxyz = _round_values(body.positions), _round_values(np.roll(body.quats_xyzw, 1, axis=1))
    frame = view.add_frame(f"/{body.name}", show_axes=False, position=positions[0], wxyz=quats_wxyz[0])
    for index, mesh in enumerate(body.meshes):
        if mesh.texture is not None:
            view.add_mesh_trimesh(f"/{body.name}/{index}", textured_trimesh(mesh, mesh.texture))
            continue
        view.add_mesh_simple(
            f"/{body.name}/{index}",
            mesh.vertices,
            mesh.faces,
            color=tuple(round(255 * value) for value in mesh.rgba[:3]),
            opacity=None if mesh.rgba[3] >= 1.0 else mesh.rgba[3],
            side="double",
        )
    return [_make_update(positions, "position", frame), _make_update(quats_wxyz, "wxyz", frame)] if body.moves else []


def _make_update(values: Array, name: str, *handles: Any) -> Update:
    """Returns an update that sets an attribute of page elements to a frame's row of `values` (T, k) if it changed."""

    def update(index: int) -> None:
        if (values[index] != values[index - 1]).any():
            for handle in handles:
                setattr(handle, name, values[index])

    return update


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


def _add_point(view: Any, point: ShownPoint, *, anchor: str) -> list[Update]:
    positions = _round_values(point.positions)
    dot = view.add_icosphere(
        f"/keypoints/{point.name}", 0.008, POINT_RGB, subdivisions=2, position=positions[0], cast_shadow=False
    )
    # not a child of the dot: when playback restarts, viser leaves labels where their parents were last
    label = view.add_label(
        f"/labels/{point.name}",
        point.label.replace("_", " "),
        font_screen_scale=0.75,
        anchor=anchor,
        position=positions[0],
        visible=point.acted_on,
    )
    return [_make_update(positions, "position", dot, label)]


def _add_force(view: Any, force: ShownForce) -> list[Update]:
    """Adds a ball at the hand whose volume shows the force."""
    positions, radii = _round_values(force.positions), np.round(force.radii_m, 4)
    if not radii.any():
        return []
    ball = view.add_icosphere(
        f"/forces/{force.name}", 1.0, force.rgb, subdivisions=3, opacity=0.6, scale=1e-6, cast_shadow=False
    )

    def update(index: int) -> None:
        if radii[index] != radii[index - 1]:
            ball.scale = max(float(radii[index]), 1e-6)
        if radii[index] and (radii[index - 1] == 0.0 or (positions[index] != positions[index - 1]).any()):
            ball.position = positions[index]

    return [update]


def _fill_panel(scene: RecordedScene) -> str:
    """Returns title and curves as HTML; its script reads the time from viser's slider."""
    forces = [
        {"label": force.label, "rgb": list(force.rgb), "values": np.round(force.values_n, 2).tolist()}
        for force in scene.forces
    ]
    charts = [{"unit": "N", "title": "largest contact force", "series": forces}] if forces else []
    for curve in scene.curves:
        series = {"label": curve.label, "rgb": list(_CURVE_RGB), "values": np.round(curve.values, 4).tolist()}
        charts.append({"unit": curve.unit, "title": "joint position", "series": [series]})
    content = {
        "title": scene.title,
        "success": scene.success,
        "notes": list(scene.notes),
        "times": np.round(scene.times_s, 4).tolist(),
        "phases": list(scene.phases),
        "charts": charts,
    }
    return fill_template("unlatch.workflows.viewing.viewers", "panel.html", content=content)


def _round_values(array: Array) -> Array:
    """Rounds values to a micrometre or microradian: such numbers compress well."""
    rounded: Array = np.round(array, 6).astype(np.float32)
    return rounded
