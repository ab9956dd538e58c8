"""Serves the page of the studio over HTTP, and below `/scene/` viser, all on one port."""

from __future__ import annotations

import json
import socket
from http import HTTPStatus
from urllib.parse import parse_qs

from unlatch.simcore.errors import UnlatchError
from unlatch.workflows.studio.drawing.scene_view import SceneView
from unlatch.workflows.studio.session import StudioSession
from unlatch.workflows.viewing.template import fill_template
from unlatch.workflows.viewing.viewers.scene_page_server import SCENE, ScenePageHandler, ScenePageServer

_WAIT_S = 20.0
"""Longest time in which a request for a newer state waits for it [s]."""
_MAX_BYTES = 2 << 20
"""Largest body of a request."""


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
        elif not length.isdigit() or int(length) > _MAX_BYTES:
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
            session.changed.wait_for(lambda: session.revision != known, timeout=_WAIT_S)
            state = session.to_dict()
        view = self.server.view
        return json.dumps({**state, "scene_problem": view.problem, "scene_is_drawn": view.is_drawn}).encode()
