"""Forms in which a recorded episode can be looked at; each turns a `RecordedScene` into the bytes of one file.

To add one: a function `to_NAME(scene) -> bytes`, one catalog line whose name is the file's ending, one test. What it
needs beyond the core is an extra, imported by `import_extra`.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from PIL import Image

from unlatch.simcore.extras import import_extra
from unlatch.simcore.registry import Catalog, CatalogEntry
from unlatch.workflows.viewing.picture import fill_template
from unlatch.workflows.viewing.recorded_scene import PATH_RGB, POINT_RGB, ColouredMesh, RecordedScene, ShownBody
from unlatch.workflows.viewing.scene_nodes import SceneNodes, set_view, start_viser, stop_viser

VIEWERS = Catalog(
    "format",
    {
        "html": CatalogEntry("unlatch.workflows.viewing.viewers:to_html", "a page for any browser (extra view)"),
        "rrd": CatalogEntry(
            "unlatch.workflows.viewing.viewers:to_rrd", "a recording for the Rerun viewer (extra rerun)"
        ),
    },
    group="unlatch.viewers",
)
"""Formats by name, which is also the ending of their files."""


_CURVE_RGB = (40, 90, 200)


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
        for name, path in scene.tool_paths.items():
            if len(path) > 1:
                nodes.add_path("paths", f"path/{name}", path, PATH_RGB, thickness=2.0, thickness_units="screen")
        recording = server.get_scene_serializer()
        for frame, pause in enumerate(np.diff(scene.times_s), start=1):
            recording.insert_sleep(float(pause))
            nodes.show(scene.bodies, scene.points, scene.forces, frame=frame)
        if len(scene.times_s) > 1:
            recording.insert_sleep(1.5)  # time that the last frame stays before playback starts again [s]
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
        charts.append({"unit": curve.unit, "title": "how far open", "series": [series]})
    content = {
        "title": scene.title,
        "success": scene.success,
        "notes": list(scene.notes),
        "times": np.round(scene.times_s, 4).tolist(),
        "phases": list(scene.phases),
        "charts": charts,
    }
    return fill_template("panel.html", content=content)


Array = np.ndarray

_TIMELINE = "episode_time"


def to_rrd(scene: RecordedScene) -> bytes:
    """Returns the recording as bytes, with a layout of its views.

    Raises:
        PluginError: rerun-sdk is not installed.
    """
    rr = import_extra("rerun", extra="rerun")
    stream = rr.RecordingStream("unlatch")
    memory = stream.memory_recording()
    stream.send_recording_name(scene.title)
    stream.send_blueprint(_make_blueprint(scene))
    stream.log("world", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    stream.log("about", rr.TextDocument("\n\n".join([scene.title, *scene.notes])), static=True)
    # one column for all frames: ten thousand single calls would take seconds
    times = [rr.TimeColumn(_TIMELINE, duration=scene.times_s)]
    for body in scene.bodies:
        _log_body(rr, stream, times, body)
    for point in scene.points:
        path = f"world/keypoints/{point.name}"
        look = rr.Points3D.from_fields(colors=POINT_RGB, radii=0.008, labels=point.label, show_labels=False)
        stream.log(path, look, static=True)
        stream.send_columns(path, times, rr.Points3D.columns(positions=point.positions))
    for force in scene.forces:
        plot, ball = (f"{place}/{force.name.replace('.', '/')}" for place in ("plots/force", "world/forces"))
        stream.log(plot, rr.SeriesLines.from_fields(names=force.label, colors=force.rgb), static=True)
        stream.send_columns(plot, times, rr.Scalars.columns(scalars=force.values_n))
        if force.radii_m.any():
            stream.log(ball, rr.Points3D.from_fields(colors=(*force.rgb, 120)), static=True)
            stream.send_columns(ball, times, rr.Points3D.columns(positions=force.positions, radii=force.radii_m))
    for curve in scene.curves:
        path = f"plots/position/{curve.label.replace(' ', '_')}"
        stream.log(path, rr.SeriesLines.from_fields(names=f"{curve.label} [{curve.unit}]"), static=True)
        stream.send_columns(path, times, rr.Scalars.columns(scalars=curve.values))
    for arm, track in scene.tool_paths.items():
        stream.log(f"world/path/{arm}", rr.LineStrips3D([track], colors=PATH_RGB, radii=0.002), static=True)
    return bytes(memory.drain_as_bytes() or b"")


def _log_body(rr: Any, stream: Any, times: list[Any], body: ShownBody) -> None:
    path = f"world/{body.name}"
    for index, mesh in enumerate(body.meshes):
        shape = rr.Mesh3D(
            vertex_positions=mesh.vertices,
            triangle_indices=mesh.faces,
            vertex_normals=_vertex_normals(mesh.vertices, mesh.faces),
            albedo_factor=[round(255 * value) for value in mesh.rgba],
            **texture_arguments(mesh),
        )
        stream.log(f"{path}/{index}", shape, static=True)
    if body.moves:
        columns = rr.Transform3D.columns(
            translation=body.positions.astype(np.float32), quaternion=body.quats_xyzw.astype(np.float32)
        )
        stream.send_columns(path, times, columns)
    else:
        pose = rr.Transform3D(translation=body.positions[0], quaternion=rr.Quaternion(xyzw=body.quats_xyzw[0]))
        stream.log(path, pose, static=True)


def texture_arguments(mesh: ColouredMesh) -> dict[str, Array]:
    """Returns the arguments for the picture of a mesh; Rerun counts rows downwards from the upper edge."""
    if mesh.texture is None:
        return {}
    shades = np.asarray(Image.open(io.BytesIO(mesh.texture.picture)).convert("RGB"))
    return {"albedo_texture": shades, "vertex_texcoords": mesh.texture.uvs * (1, -1) + (0, 1)}


def _make_blueprint(scene: RecordedScene) -> Any:
    rrb = import_extra("rerun.blueprint", extra="rerun")
    eye = rrb.EyeControls3D(position=scene.eye, look_target=scene.target, eye_up=(0.0, 0.0, 1.0))
    return rrb.Blueprint(
        rrb.Horizontal(
            rrb.Spatial3DView(origin="world", name=scene.title, eye_controls=eye),
            rrb.Vertical(
                rrb.TextDocumentView(origin="about", name="episode"),
                rrb.TimeSeriesView(origin="plots/force", name="largest contact force [N]"),
                rrb.TimeSeriesView(origin="plots/position", name="how far open"),
                row_shares=[1, 2, 2],
            ),
            column_shares=[3, 1],
        ),
        collapse_panels=True,
    )


def _vertex_normals(vertices: Array, faces: Array) -> Array:
    """Returns unit normals (V, 3): the mean over the faces about a vertex, weighted by area."""
    import trimesh

    crosses = trimesh.triangles.cross(vertices[faces]).astype(float)  # (F, 3)
    return trimesh.geometry.mean_vertex_normals(len(vertices), faces, crosses).astype(np.float32)
