"""Writes a page that any browser plays from a file: viser's recording of the scene, and our panel of curves."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import numpy as np

from unlatch.workflows.viewing.template import fill_template
from unlatch.workflows.viewing.viewers.recorded_scene import (
    PATH_RGB,
    RecordedScene,
    ShownBody,
    ShownForce,
    ShownPoint,
)
from unlatch.workflows.viewing.viewers.viser_scene import (
    LABEL_ANCHORS,
    add_body,
    add_point,
    set_view,
    start_viser,
    stop_viser,
)

Array = np.ndarray

_CURVE_RGB = (40, 90, 200)
_END_S = 1.5
"""Time that the last frame stays before playback starts again [s]."""

Update = Callable[[int], None]
"""Moves a body or mark to its place in a frame."""


def to_html(scene: RecordedScene) -> bytes:
    """Returns the page, which refers to no other file or address."""
    # only a server can record the scene; nobody connects to it, and the system chooses a free port
    server = start_viser()
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
        stop_viser(server)
    body, end, rest = page.rpartition("</body>")
    return f"{body}{_fill_panel(scene)}{end}{rest}".encode()


def _add_scene(server: Any, scene: RecordedScene) -> list[Update]:
    """Adds everything in its first frame; returns the updates for later frames."""
    view = server.scene
    set_view(server, scene.eye, scene.target)
    updates: list[Update] = []
    for body in scene.bodies:
        updates += _add_body(view, body)
    for point, anchor in zip(scene.points, cycle(LABEL_ANCHORS), strict=False):
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
    frame = add_body(view, body.name, body.meshes, position=positions[0], wxyz=quats_wxyz[0])
    return [_make_update(positions, "position", frame), _make_update(quats_wxyz, "wxyz", frame)] if body.moves else []


def _make_update(values: Array, name: str, *handles: Any) -> Update:
    """Returns an update that sets an attribute of page elements to a frame's row of `values` (T, k) if it changed."""

    def update(index: int) -> None:
        if (values[index] != values[index - 1]).any():
            for handle in handles:
                setattr(handle, name, values[index])

    return update


def _add_point(view: Any, point: ShownPoint, *, anchor: str) -> list[Update]:
    positions = _round_values(point.positions)
    handles = add_point(view, point.name, point.label, positions[0], anchor=anchor, has_label=point.acted_on)
    return [_make_update(positions, "position", *handles)]


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
