"""A page in the browser to move the keypoints of an annotation."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import SplitResult

import numpy as np

from unlatch.objects.annotate.keypoint_edit import HEAD, TAIL, KeypointEdit
from unlatch.objects.annotate.storage import AnnotatedUrdf
from unlatch.objects.annotation import Articulation, Part
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose
from unlatch.workflows.viewing.annotation_picture import KEYPOINT_COLOURS
from unlatch.workflows.viewing.live.page_process import LOCAL_HOST, listen_at, page_url
from unlatch.workflows.viewing.viewers.link_meshes import link_meshes
from unlatch.workflows.viewing.viewers.recorded_scene import link_bodies
from unlatch.workflows.viewing.viewers.scene_page_server import ScenePageHandler, ScenePageServer
from unlatch.workflows.viewing.viewers.viser_scene import SceneNodes

Array = np.ndarray

_OPACITY = 0.6
"""Of the object: keypoints behind its surface stay visible."""


class AnnotationEditor:
    """Shows an object with a control at each keypoint; dragging moves a keypoint, saving writes the file.

    What a moved keypoint changes, see `KeypointEdit`.
    """

    def __init__(self, server: Any, loaded: AnnotatedUrdf) -> None:
        """Builds the page on a `viser.ViserServer`."""
        self.edit = KeypointEdit(loaded)
        self.loaded = loaded
        self._closed = loaded.articulation.closed_positions()
        self._nodes = SceneNodes(server)
        self.controls: dict[tuple[str, str], Any] = {}
        """Controls by part and keypoint."""
        self._show_object()
        for part in self.articulation.parts.values():
            for name in part.keypoints:
                self._add_control(part, name)
        gui = server.gui
        self.status = gui.add_markdown("Drag a keypoint, then save.")
        self.save_button = gui.add_button("Save")
        self.save_button.on_click(lambda _: self._save_and_report())

    @property
    def articulation(self) -> Articulation:
        """The annotation with what has been moved so far."""
        return self.edit.articulation

    @property
    def problems(self) -> list[str]:
        """Problems of the current annotation, one line each."""
        return self.edit.problems

    def move(self, part: str, keypoint: str, p_root: Array) -> None:
        """Moves a keypoint to a position (3,) in the root frame of the closed object [m]."""
        entry = self.articulation.part(part)
        frame = self._frame_pose(entry, entry.keypoint(keypoint).frame)
        self.edit.move(part, keypoint, frame.inverse() @ p_root)
        if keypoint == HEAD and (part, TAIL) in self.controls:
            self.controls[part, TAIL].position = tuple(self._point_in_root(self.articulation.part(part), TAIL))

    def save(self) -> None:
        """Writes the annotation; see `KeypointEdit.save`."""
        self.edit.save()

    def _save_and_report(self) -> None:
        try:
            self.save()
        except AssetError as exc:
            self.status.content = exc.message
        else:
            self.status.content = f"Saved {self.loaded.path}"

    def _show_object(self) -> None:
        self._nodes.view.set_up_direction("+z")
        meshes = {
            link: [replace(mesh, rgba=(*mesh.rgba[:3], _OPACITY), texture=None) for mesh in pieces]
            for link, pieces in link_meshes(self.loaded.model).items()
        }
        poses = {link: self.loaded.model.link_pose(link, self._closed) for link in meshes}
        self._nodes.show(link_bodies("object", meshes, poses))

    def _add_control(self, part: Part, name: str) -> None:
        path, size_m, view = f"keypoints/{part.name}/{name}", self.loaded.size_m, self._nodes.view
        p_root = tuple(self._point_in_root(part, name))
        control = view.add_transform_controls(f"/{path}", scale=0.12 * size_m, disable_rotations=True, position=p_root)
        view.add_icosphere(f"/{path}/dot", radius=0.012 * size_m, color=KEYPOINT_COLOURS.get(name, (60, 60, 60)))
        self._nodes.add_label("keypoints", f"{path}/label", f"{part.name}: {name}")
        control.on_update(lambda _: self.move(part.name, name, np.asarray(control.position, dtype=float)))
        self.controls[part.name, name] = control

    def _point_in_root(self, part: Part, name: str) -> Array:
        keypoint = part.keypoint(name)
        point: Array = self._frame_pose(part, keypoint.frame) @ keypoint.xyz
        return point

    def _frame_pose(self, part: Part, frame: str) -> Pose:
        links: Mapping[str, str] = {"link": part.link, "base": part.base}
        return self.loaded.model.link_pose(links[frame], self._closed) if frame in links else Pose.identity()


class _Handler(ScenePageHandler):
    def answer_page(self, url: SplitResult) -> None:
        """See `ScenePageHandler`: the page is the one of viser."""
        self.answer_with_scene(prefix="")


def serve_editor(loaded: AnnotatedUrdf, *, port: int, on_ready: Callable[[str], None]) -> None:
    """Serves the page until Ctrl-C is pressed; `on_ready` is called with its address.

    Raises:
        ConfigError: The port is not allowed.
    """
    token, listening = secrets.token_urlsafe(), listen_at(LOCAL_HOST, port)
    server = ScenePageServer(listening, _Handler, token=token)
    try:
        AnnotationEditor(server.scene, loaded)
        on_ready(page_url(LOCAL_HOST, listening.getsockname()[1], token))
        server.serve_forever()
    finally:
        server.server_close()
