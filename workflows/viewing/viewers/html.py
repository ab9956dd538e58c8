"""Writes a page that any browser plays from a file: viser's recording of the scene, and our panel of curves."""

from __future__ import annotations

import numpy as np

from unlatch.workflows.viewing.template import fill_template
from unlatch.workflows.viewing.viewers.recorded_scene import RecordedScene
from unlatch.workflows.viewing.viewers.viser_scene import SceneNodes, set_view, start_viser, stop_viser

_CURVE_RGB = (40, 90, 200)
_END_S = 1.5
"""Time that the last frame stays before playback starts again [s]."""


def to_html(scene: RecordedScene) -> bytes:
    """Returns the page, which refers to no other file or address.

    Raises:
        PluginError: viser is not installed.
    """
    # only a server can record the scene; nobody connects to it, and the system chooses a free port
    server = start_viser()
    try:
        set_view(server, scene.eye, scene.target)
        nodes = SceneNodes(server)
        nodes.show(scene.bodies, scene.points, scene.forces, frame=0)
        nodes.add_paths(scene.tool_paths)
        recording = server.get_scene_serializer()
        for frame, pause in enumerate(np.diff(scene.times_s), start=1):
            recording.insert_sleep(float(pause))
            nodes.show(scene.bodies, scene.points, scene.forces, frame=frame)
        if len(scene.times_s) > 1:
            recording.insert_sleep(_END_S)
        page = str(recording.as_html())
    finally:
        stop_viser(server)
    body, end, rest = page.rpartition("</body>")
    return f"{body}{_fill_panel(scene)}{end}{rest}".encode()


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
    return fill_template("panel.html", content=content)
