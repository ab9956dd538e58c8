"""Builds the scene of every page with a scene in three dimensions: starts viser, and adds, moves and removes the
nodes of bodies, keypoints and forces. The record viewer, the live page, the studio and the annotation editor use it.
"""

from __future__ import annotations

import hmac
import io
import math
import secrets
import threading
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from http import HTTPStatus
from itertools import chain, cycle
from typing import Any

import numpy as np
from PIL import Image

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.robots.description import RobotCfg
from unlatch.simcore.errors import PluginError
from unlatch.simcore.extras import import_extra
from unlatch.simcore.meshes.obj_file import linear_light
from unlatch.workflows.viewing import recorded_scene

Array = np.ndarray

Handle = Any
"""viser's handle of a node."""

LABEL_ANCHORS = ("bottom-right", "top-left", "bottom-left", "top-right")
"""Anchors of labels, in turn: keypoints come in pairs that are close to each other."""
LABEL_SCALE = 0.75
"""Size of names beside viser's own."""
SECRET_HEADER = "X-Unlatch-Secret"
"""Header of the requests that viser answers."""
_STARTING = threading.Lock()


def import_viser() -> Any:
    """Returns the package viser.

    Raises:
        PluginError: It is not installed.
    """
    return import_extra("viser", extra="view", needed_by="A page with a scene in three dimensions")


def start_viser(*, secret: str | None = None) -> Any:
    """Starts a `viser.ViserServer` at a free port of this computer.

    Other users of this computer reach the port, too. So viser answers only requests, also for its web socket, whose
    header `SECRET_HEADER` is `secret`; None: it answers none.

    Raises:
        PluginError: viser is not installed, or this version of it starts its server in an unknown manner, and would
            answer everybody.
    """
    viser = import_viser()
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
    camera.position, camera.look_at, camera.fov = eye, target, math.radians(recorded_scene.FOV_DEG)


@dataclass(frozen=True)
class PointNode:
    """The nodes of a keypoint."""

    dot: Handle
    label: Handle


class SceneNodes:
    """Adds, moves and removes what a page shows in its scene of viser.

    A body `robot/NAME/LINK` is a node of this name, below which its meshes are `0`, `1` and so on. A keypoint has a dot
    `keypoints/NAME` and a name `labels/NAME`, a force has a ball `forces/NAME`.
    """

    def __init__(self, server: Any) -> None:
        """Takes a `viser.ViserServer`; nothing is shown yet."""
        self._server = server
        self.view = server.scene
        """viser's interface to the scene, for marks that only one page draws."""
        self._bodies: dict[str, tuple[Sequence[recorded_scene.ColouredMesh], Handle]] = {}
        self.points: dict[str, PointNode] = {}
        """Keypoints that are shown, by name."""
        self._balls: dict[str, Handle] = {}
        self._groups: dict[str, list[Handle]] = {}

    def show(
        self,
        bodies: Iterable[recorded_scene.ShownBody],
        points: Iterable[recorded_scene.ShownPoint] = (),
        forces: Iterable[recorded_scene.ShownForce] = (),
        *,
        frame: int = 0,
    ) -> None:
        """Shows one frame of bodies, keypoints and forces, and no others.

        What is shown already is moved. A body is sent again only if it has other meshes than before.
        """
        shown, marked = {body.name: body for body in bodies}, {point.name: point for point in points}
        with self._server.atomic():
            for name in [*self._bodies]:
                before, now = self._bodies[name][0], shown[name].meshes if name in shown else None
                if now is None or [*map(id, before)] != [*map(id, now)]:
                    self._bodies.pop(name)[1].remove()
            for name in [*self.points]:
                if name not in marked:
                    node = self.points.pop(name)
                    node.dot.remove()
                    node.label.remove()
            for body in shown.values():
                self._show_body(body, frame)
            for point, anchor in zip(marked.values(), cycle(LABEL_ANCHORS), strict=False):
                self._show_point(point, frame, anchor)
            for force in forces:
                self._show_force(force, frame)

    def hide_bodies(self) -> None:
        """Hides all bodies; those of the next `show` are visible again."""
        for _, handle in self._bodies.values():
            handle.visible = False

    def add_path(self, group: str, name: str, path: Array, rgb: tuple[int, int, int], **style: Any) -> None:
        """Draws a path (T, 3) in the world frame [m]; `style` are viser's names for its thickness."""
        pieces = np.stack([path[:-1], path[1:]], axis=1)  # (T - 1, 2, 3)
        self.keep(group, self.view.add_line_segments(f"/{name}", pieces, rgb, **style))

    def add_label(self, group: str, name: str, text: str, *, scale: float = LABEL_SCALE, **place: Any) -> Handle:
        """Writes a text in the scene; `place` is its `position` and `anchor`. Returns its handle."""
        return self.keep(group, self.view.add_label(f"/{name}", text, font_screen_scale=scale, **place))

    def keep(self, group: str, handle: Handle) -> Handle:
        """Adds a node that only one page draws to a group, which is removed as a whole; returns the node."""
        self._groups.setdefault(group, []).append(handle)
        return handle

    def clear(self, group: str) -> None:
        """Removes the nodes of a group."""
        for handle in reversed(self._groups.pop(group, [])):
            with suppress(KeyError):  # it went with its parent
                handle.remove()

    def _show_body(self, body: recorded_scene.ShownBody, frame: int) -> None:
        position, wxyz = _round_values(body.positions[frame]), _round_values(np.roll(body.quats_xyzw[frame], 1))
        if body.name in self._bodies:
            handle = self._bodies[body.name][1]
            handle.position, handle.wxyz, handle.visible = position, wxyz, True
            return
        handle = self.view.add_frame(f"/{body.name}", show_axes=False, position=position, wxyz=wxyz)
        for index, mesh in enumerate(body.meshes):
            self._add_mesh(f"/{body.name}/{index}", mesh)
        self._bodies[body.name] = (body.meshes, handle)

    def _add_mesh(self, name: str, mesh: recorded_scene.ColouredMesh) -> None:
        if mesh.texture is not None:
            self.view.add_mesh_trimesh(name, textured_trimesh(mesh, mesh.texture))
            return
        self.view.add_mesh_simple(
            name,
            mesh.vertices,
            mesh.faces,
            color=tuple(round(255 * value) for value in mesh.rgba[:3]),
            opacity=None if mesh.rgba[3] >= 1.0 else mesh.rgba[3],
            side="double",
        )

    def _show_point(self, point: recorded_scene.ShownPoint, frame: int, anchor: str) -> None:
        position = _round_values(point.positions[frame])
        if point.name in self.points:
            node = self.points[point.name]
            node.dot.position, node.label.position = position, position
            return
        dot = self.view.add_icosphere(
            f"/keypoints/{point.name}",
            0.008,
            recorded_scene.POINT_RGB,
            subdivisions=2,
            position=position,
            cast_shadow=False,
        )
        # not a child of the dot: when playback restarts, viser leaves labels where their parents were last
        label = self.view.add_label(
            f"/labels/{point.name}",
            short_label(point.label),
            font_screen_scale=LABEL_SCALE,
            anchor=anchor,
            position=position,
            visible=point.acted_on,
        )
        self.points[point.name] = PointNode(dot, label)

    def _show_force(self, force: recorded_scene.ShownForce, frame: int) -> None:
        """Shows a ball at the hand whose volume is the force; where there is none, a ball too small to see."""
        radius = round(float(force.radii_m[frame]), 4)
        if force.name not in self._balls:
            if not force.radii_m.any():
                return
            self._balls[force.name] = self.view.add_icosphere(
                f"/forces/{force.name}", 1.0, force.rgb, subdivisions=3, opacity=0.6, scale=1e-6, cast_shadow=False
            )
        ball = self._balls[force.name]
        ball.scale = max(radius, 1e-6)
        if radius:
            ball.position = _round_values(force.positions[frame])


def _round_values(array: Array) -> Array:
    """Rounds values to a micrometre or microradian: such numbers compress well."""
    return np.round(array, 6).astype(np.float32)


def textured_trimesh(mesh: recorded_scene.ColouredMesh, texture: recorded_scene.MeshTexture) -> Any:
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


@dataclass(frozen=True)
class ShownEpisode:
    """What a scene is built from."""

    key: Hashable
    """Differs between episodes."""
    cfg: EpisodeCfg
    """The configuration of its data set."""
    number: int
    layout: Mapping[str, Any]
    """As in a record."""
    hashes: Mapping[str, str]
    """Content hash of each object, as in a record; objects with the hashes of the last episode are only moved."""


class LiveScene:
    """Shows one episode at a time on a `viser.ViserServer`; use it from one thread.

    The robot stays while the next episode has the same one: its meshes are sent once.
    """

    def __init__(self, server: Any, *, has_view: bool = False) -> None:
        """Makes an empty scene; `has_view` says that from where a page looks is set already."""
        self._server = server
        self._has_view = has_view
        self.nodes = SceneNodes(server)
        """What is shown of the episode."""
        self.assets: Mapping[str, ObjectAsset] = {}
        """The objects that are shown, by name."""
        self.objects: dict[str, recorded_scene.SceneModel] = {}
        """The models of the objects that are shown, by name."""
        self.robot: recorded_scene.SceneModel | None = None
        """The model of the robot that is shown."""
        self._robot_cfg: RobotCfg | None = None
        self._fixed: list[recorded_scene.ShownBody] = []
        """Table and plinths."""
        self._key: Hashable = None
        self._hashes: Mapping[str, str] = {}

    def show(self, episode: ShownEpisode, arrays: Mapping[str, Array], frame: int, *, acted_on: set[str]) -> None:
        """Shows a state.

        Args:
            episode: The episode; a scene that shows another one is built anew.
            arrays: Arrays (T, ...) by the key of the record; values that are not finite are not shown.
            frame: Which of the T states.
            acted_on: `object.part` of the parts whose keypoints are shown.

        Raises:
            UnlatchError: The robot or an object is not available here.
            KeyError: A value is missing.
        """
        now = {key: array[frame : frame + 1] for key, array in arrays.items() if array.dtype.kind == "f"}
        if not all(np.isfinite(array).all() for array in now.values()):
            return
        if episode.key != self._key:
            self._read_models(episode, now)
        robot = recorded_scene.robot_bodies(self.robot, episode.cfg.robot, now) if self.robot is not None else ()
        objects = (recorded_scene.object_bodies(model, name, now) for name, model in self.objects.items())
        points = (point for point in recorded_scene.shown_points(now, acted_on) if point.acted_on)
        self.nodes.show([*self._fixed, *robot, *chain.from_iterable(objects)], points)

    def _read_models(self, episode: ShownEpisode, now: Mapping[str, Array]) -> None:
        """Reads the models of an episode; those of the robot and of equal objects stay."""
        cfg, self._key = episode.cfg, None
        if not self._hashes or episode.hashes != self._hashes:
            self._hashes = {}
            self.objects.clear()
            self.assets, _ = recorded_scene.load_assets(
                [cfg.object, *cfg.objects], episode.layout, episode.hashes, number=episode.number
            )
            if not self._has_view:
                set_view(self._server, *recorded_scene.choose_view(self.assets, now))
                self._has_view = True
            self.objects.update((name, recorded_scene.object_model(name, asset)) for name, asset in self.assets.items())
        if self._robot_cfg != cfg.robot:
            self.robot, self._robot_cfg = None, None
            self.robot, self._robot_cfg = recorded_scene.robot_model(cfg.robot), cfg.robot
        self._fixed = list(recorded_scene.fixed_bodies(episode.layout))
        self._key, self._hashes = episode.key, episode.hashes
