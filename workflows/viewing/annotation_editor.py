"""Moves the keypoints of an annotation: on a page of its own, or in the scene of the studio."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult

import numpy as np

from unlatch.objects.annotate.annotator import AnnotateCfg
from unlatch.objects.annotate.storage import HEAD, TAIL, AnnotatedUrdf, KeypointEdit
from unlatch.objects.annotation import Articulation, Part
from unlatch.objects.config import ObjectCfg, ObjectSource
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.geometry import Array, Pose
from unlatch.workflows.assets.annotate import annotate_target, find_targets
from unlatch.workflows.runs.schema import LOCAL_HOST
from unlatch.workflows.viewing.object_picture import KEYPOINT_COLOURS
from unlatch.workflows.viewing.page_server import ScenePageHandler, ScenePageServer, listen_at, page_url
from unlatch.workflows.viewing.recorded_scene import SceneModel, link_bodies, link_meshes
from unlatch.workflows.viewing.scene_nodes import SceneNodes

_OPACITY = 0.6
"""Of the object: keypoints behind its surface stay visible."""


@dataclass
class KeypointControls:
    """Controls in a scene with which keypoints of an annotation are dragged; the tail of an axis follows its head."""

    nodes: SceneNodes
    """The scene."""
    edit: KeypointEdit
    """The annotation."""
    frame_pose: Callable[[Part, str], Pose]
    """Returns the pose in the scene of a part's frame `link`, `base` or another one, its root."""
    move_in_frame: Callable[[str, str, Array], None]
    """Moves a keypoint of a part to a position (3,) in its own frame [m]."""
    style: Mapping[str, Any]
    """viser's names for the size of the controls, and how they are drawn."""
    controls: dict[tuple[str, str], Any] = field(default_factory=dict)
    """Controls by part and keypoint."""

    def add(self, part: str, keypoint: str, words: str, **label: Any) -> str:
        """Adds the control of a keypoint, with its name in words; returns the name of its node."""
        path = f"handles/{part}/{keypoint}"
        control = self.nodes.view.add_transform_controls(
            f"/{path}", disable_rotations=True, position=self._place(part, keypoint), **self.style
        )
        self.controls[part, keypoint] = self.nodes.keep("handles", control)
        self.nodes.add_label("handles", f"{path}/name", words, **label)
        control.on_update(lambda _: self.move(part, keypoint, np.asarray(control.position, dtype=float)))
        return path

    def move(self, part: str, keypoint: str, p_scene: Array) -> None:
        """Moves a keypoint to a position (3,) in the scene [m]."""
        entry = self.edit.articulation.part(part)
        frame = self.frame_pose(entry, entry.keypoint(keypoint).frame)
        self.move_in_frame(part, keypoint, frame.inverse() @ p_scene)
        if keypoint == HEAD and (part, TAIL) in self.controls:
            self.controls[part, TAIL].position = self._place(part, TAIL)

    def _place(self, part: str, keypoint: str) -> Array:
        """Returns where a keypoint is in the scene, (3,) [m]."""
        entry = self.edit.articulation.part(part)
        return self.frame_pose(entry, entry.keypoint(keypoint).frame) @ entry.keypoint(keypoint).xyz


class AnnotationEditor:
    """Shows an object with a control at each keypoint; dragging moves a keypoint, saving writes the file.

    What a moved keypoint changes, see `KeypointEdit`.
    """

    def __init__(self, server: Any, loaded: AnnotatedUrdf) -> None:
        """Builds the page on a `viser.ViserServer`."""
        self.edit = KeypointEdit(loaded)
        """The annotation with what has been moved so far."""
        self._loaded = loaded
        self._nodes = SceneNodes(server)
        self._nodes.view.set_up_direction("+z")
        meshes = {
            link: [replace(mesh, rgba=(*mesh.rgba[:3], _OPACITY), texture=None) for mesh in pieces]
            for link, pieces in link_meshes(loaded.model).items()
        }
        closed = loaded.articulation.closed_positions()
        model = SceneModel("object", meshes, loaded.model, Pose.identity(), dict(closed))
        self._nodes.show(link_bodies("object", meshes, model.link_poses()))
        self.points = KeypointControls(
            self._nodes, self.edit, model.frame_pose, self.edit.move, {"scale": 0.12 * loaded.size_m}
        )
        for part in self.edit.articulation.parts.values():
            for name in part.keypoints:
                path = self.points.add(part.name, name, f"{part.name}: {name}")
                rgb = KEYPOINT_COLOURS.get(name, (60, 60, 60))
                self._nodes.view.add_icosphere(f"/{path}/dot", radius=0.012 * loaded.size_m, color=rgb)
        self.status = server.gui.add_markdown("Drag a keypoint, then save.")
        self.save_button = server.gui.add_button("Save")
        self.save_button.on_click(lambda _: self._save_and_report())

    def _save_and_report(self) -> None:
        try:
            self.edit.save()
        except AssetError as exc:
            self.status.content = exc.message
        else:
            self.status.content = f"Saved {self._loaded.path}"


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


class ObjectAnnotation(KeypointEdit):
    """Moves the keypoints of an object in a scene, and keeps what is wrong with them."""

    def __init__(self, name: str, loaded: AnnotatedUrdf) -> None:
        super().__init__(loaded)
        self.object = name
        """Name of the object in the scene."""
        self.found: list[str] = []
        """The problems when it was checked last."""
        self._checked: Articulation | None = None
        self._saved = self.articulation

    def check(self) -> bool:
        """Finds the problems of what has been moved; returns whether it had changed since the last time."""
        if self._checked is self.articulation:
            return False
        self._checked, self.found = self.articulation, self.problems
        return True

    def save(self) -> None:
        """See `KeypointEdit`."""
        super().save()
        self._saved = self.articulation

    def movable(self, shown: Articulation) -> list[tuple[str, str]]:
        """Returns part and name of the keypoints that are at the same place in the file and in the scene.

        Loading an object may give it another root, and moves what is stated in the frame of the base.
        """
        found = []
        for part in self.loaded.articulation.parts.values():
            for name, point in part.keypoints.items():
                other = shown.parts[part.name].keypoints.get(name) if part.name in shown.parts else None
                # keypoints of the file and of the scene that are closer than this are the same [m]
                if other is not None and other.frame == point.frame and np.allclose(point.xyz, other.xyz, atol=1e-6):
                    found.append((part.name, name))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Returns plain values for the page."""
        is_saved = self.articulation is self._saved
        return {"object": self.object, "path": str(self.loaded.path), "problems": self.found, "is_saved": is_saved}


def annotatable(objects: Mapping[str, ObjectCfg]) -> list[str]:
    """Returns the names of the objects whose annotation can be edited: single URDFs of one's own."""
    return [name for name, item in objects.items() if item.source is ObjectSource.urdf and item.root is not None]


def open_annotation(objects: Mapping[str, ObjectCfg], name: str) -> ObjectAnnotation:
    """Opens the annotation of an object; one that is missing is made first.

    Raises:
        ConfigError: It is not a single URDF of one's own.
        AssetError: It cannot be annotated.
    """
    if name not in annotatable(objects):
        raise ConfigError(
            f"The keypoints of '{name}' cannot be moved: its annotation is no file of yours. Expected a URDF, as in "
            "object=cabinet.urdf.",
            key="object",
        )
    targets = find_targets(Path(str(objects[name].root)), out=None)
    if len(targets) != 1:
        raise ConfigError(f"'{name}' is one of {len(targets)} objects. Expected the folder of one.", key="object")
    (target,) = targets
    if not target.file.exists():
        annotate_target(target, AnnotateCfg(), category=None, force=False, picture=False)
    return ObjectAnnotation(name, target.load())
