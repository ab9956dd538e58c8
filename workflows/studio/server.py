"""Draws the session in a scene of viser, and serves it with the page of the studio over HTTP, all on one port."""

from __future__ import annotations

import json
import queue
import socket
import threading
import time
from contextlib import suppress
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

import numpy as np

from unlatch.simcore.errors import UnlatchError
from unlatch.workflows.studio.jobs import PLAN, RUN, PlanResult, ShownScene
from unlatch.workflows.studio.scene_marks import (
    PlanGhosts,
    RegionBoxes,
    SceneMarks,
    move_parts,
    planned_state,
)
from unlatch.workflows.studio.session import StudioSession
from unlatch.workflows.viewing.page_server import SCENE, ScenePageHandler, ScenePageServer
from unlatch.workflows.viewing.picture import fill_template
from unlatch.workflows.viewing.scene_nodes import LiveScene, ShownEpisode, set_view

_FRAME_S = 1.0 / 20.0
"""Time between two states of the scene while something is played [s]."""
EYE_M, TARGET_M = (-0.95, -1.4, 1.2), (0.36, -0.04, 0.25)
"""From where a page looks at first, world frame [m]."""


class SceneView:
    """Draws what the session has, in a thread of its own; a failure is a message of the session, never its end."""

    def __init__(self, server: Any, session: StudioSession) -> None:
        """Makes a view on a `viser.ViserServer`; `start` starts its thread."""
        self._server, self._session = server, session
        self._events: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._scene = LiveScene(server, has_view=True)
        self._marks = SceneMarks(server, session, self._scene)
        self._boxes = RegionBoxes(server, session, redraw=lambda: self._events.put("show"))
        self._ghosts = PlanGhosts(server, session, self._scene)
        self._run_count = 0
        self._plays_run = False
        self._last_run: object = None
        self.is_drawn = False
        """Whether robot and objects have been drawn once."""
        self.problem = ""
        """Why the scene could not be drawn; empty if it could."""
        session.listeners.append(self._events.put)
        server.on_client_disconnect(lambda _: self._boxes.end_drag())  # a page may be closed in the middle of a drag
        set_view(server, np.array(EYE_M), np.array(TARGET_M))
        server.scene.configure_default_lights(cast_shadow=False)  # a browser without a GPU draws twice as fast
        server.gui.configure_theme(show_logo=False, show_share_button=False)
        server.gui.main_panel.minimize()  # the page has its own controls
        self._thread = threading.Thread(target=self._run, name="unlatch-studio-scene", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Waits for what is being drawn, and ends the thread. Its warnings while Python ends can abort Python."""
        self._events.put("stop")
        if self._thread.is_alive():
            self._thread.join(10.0)  # longest time in which the end waits for what is being drawn [s]

    def _run(self) -> None:
        played = time.monotonic()
        while True:
            try:
                what = {self._events.get(timeout=_FRAME_S if self._session.clock.playing else 60.0)}
            except queue.Empty:
                what = set()
            with suppress(queue.Empty):
                while True:
                    what.add(self._events.get_nowait())
            if "stop" in what:
                return
            now = time.monotonic()
            if self._session.clock.playing and now - played >= _FRAME_S:
                frames = round(min(now - played, 0.5) * self._session.frame_hz())
                self._session.tick(max(frames, 1))
                what.add("clock")
                played = now
            elif not self._session.clock.playing:
                played = now
            self._draw(what)

    def _draw(self, what: set[str]) -> None:
        try:
            with self._session.changed:
                scene = self._session.scene
                plan = None if self._session.is_old(PLAN) else self._session.plan
            if scene is None:
                return
            if what & {"scene", "plan", "run", "clock", "openings", "show", "annotation"}:
                self._draw_state(scene.scene, plan)
                if not self.is_drawn:
                    self.is_drawn = True
                    self._session.tell("busy")
            if what & {"scene", "show", "clock", "annotation"}:
                self._boxes.draw(scene.scene.cfg.task.regions)
            plays_run = self._session.clock.of == RUN and self._session.clock.playing
            if what & {"scene", "show", "views"} or plays_run != self._plays_run:
                self._plays_run = plays_run
                self._marks.draw_cameras()
            if what & {"scene", "plan", "show", "clock", "annotation"}:
                self._ghosts.draw(plan, scene.scene.cfg.robot)
            if what & {"scene", "annotation"}:
                self._marks.draw_keypoint_controls()
            if what & {"annotation", "keypoint"}:
                self._session.check_annotation()
            if what & {"scene", "reach", "show", "annotation"}:
                self._marks.draw_reach(scene.scene.cfg.task.regions)
            self.problem = ""
        except (UnlatchError, OSError, ValueError, LookupError) as exc:  # a damaged mesh, an object that was removed
            self.problem = exc.message if isinstance(exc, UnlatchError) else f"{type(exc).__name__}: {exc}"

    def _draw_state(self, first: ShownScene, plan: PlanResult | None) -> None:
        """Poses robot and objects: as in the run, in the plan, or at the start."""
        session, show = self._session, self._session.drawn()
        scene = first if plan is None else plan.scene
        acted_on = {f"{skill['object']}.{skill['part']}" for skill in (session.scene.skills if session.scene else ())}
        if session.clock.of == RUN and session.run is not None and session.run.record.arrays:
            record = session.run.record
            if session.run is not self._last_run:
                self._run_count, self._last_run = self._run_count + 1, session.run
            key = ("run", self._run_count)
            shown = ShownEpisode(key, session.run.cfg, record.number, record.layout, record.assets)
            self._scene.show(shown, record.arrays, session.clock.frame, acted_on=acted_on)
        else:
            layout = json.dumps(scene.layout, sort_keys=True, default=str)
            shown = ShownEpisode(layout, scene.cfg, scene.episode, scene.layout, scene.hashes)
            state = {key: np.asarray(value)[None] for key, value in scene.state.items()}
            self._scene.show(shown, state, 0, acted_on=acted_on)
            if session.clock.of == PLAN and plan is not None:
                state = planned_state(plan, session.clock.frame, scene.cfg.robot, self._scene)
                self._scene.show(shown, state, 0, acted_on=acted_on)
            elif session.openings:
                self._scene.show(shown, move_parts(state, session.openings, self._scene), 0, acted_on=acted_on)
        for node in self._scene.nodes.points.values():
            node.dot.visible, node.label.visible = show.keypoints, show.keypoints and show.names
        self._marks.draw_axes(acted_on)


class StudioServer(ScenePageServer):
    """Serves a session."""

    def __init__(self, listening: socket.socket, session: StudioSession, *, token: str) -> None:
        """Starts viser and the thread of the scene.

        Args:
            listening: The socket.
            session: What is served.
            token: What a browser must know.
        """
        super().__init__(listening, _Handler, token=token)
        self.session = session
        self.view = SceneView(self.scene, session)
        self.html = fill_template("studio.html", scene=f"{SCENE}/").encode()
        self.view.start()

    def server_close(self) -> None:
        """Ends the threads and viser."""
        self.view.stop()
        super().server_close()


class _Handler(ScenePageHandler):
    server: StudioServer

    def do_POST(self) -> None:  # noqa: N802 - the name that http.server calls
        """Does one action: `{"action": NAME, ...}`; answers `{}` or `{"error": MESSAGE}`."""
        length = self.headers.get("Content-Length", "")
        kind = self.headers.get("Content-Type", "").partition(";")[0]
        if not self.is_allowed():
            return
        if kind != "application/json":  # a page of another site can send forms, but no JSON
            self.close_connection = True
            self.send_error(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Expected an action as application/json")
        elif not length.isdigit() or int(length) > 2 << 20:  # largest body of a request
            self.close_connection = True
            self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        else:
            self.answer(json.dumps(self._act(self.rfile.read(int(length)))).encode(), "application/json")

    def _act(self, body: bytes) -> dict[str, str]:
        try:
            values = json.loads(body)
        except ValueError:
            return {"error": "The request is no JSON."}
        if not isinstance(values, dict):
            return {"error": "The request is no mapping."}
        try:
            self.server.session.act(str(values.pop("action", "")), values)
        except UnlatchError as exc:
            return {"error": exc.message}
        except Exception as exc:  # noqa: BLE001 - a request of one page must not end the server
            return {"error": f"{type(exc).__name__}: {exc}"}
        return {}

    def read_state(self, query: str) -> bytes:
        """Returns the state as soon as it is newer than the one that the page has."""
        session = self.server.session
        since = parse_qs(query).get("since", [""])[0]
        known = int(since) if since.isdigit() else -1
        with session.changed:
            # longest time in which a request for a newer state waits for it [s]
            session.changed.wait_for(lambda: session.revision != known, timeout=20.0)
            state = session.to_dict()
        view = self.server.view
        return json.dumps({**state, "scene_problem": view.problem, "scene_is_drawn": view.is_drawn}).encode()
