"""Serves the page of the studio over HTTP, and below `/scene/` viser, all on one port."""

from __future__ import annotations

import hmac
import ipaddress
import json
import secrets
import socket
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from unlatch.simcore.errors import SimCoreError
from unlatch.workflows.studio.drawing.scene_view import SceneView
from unlatch.workflows.studio.session import StudioSession
from unlatch.workflows.viewing.template import fill_template
from unlatch.workflows.viewing.viewers.scene_page_server import SCENE, ScenePageHandler, ScenePageServer

_COOKIE = "unlatch_studio"
_WAIT_S = 20.0
"""Longest time in which a request for a newer state waits for it [s]."""
_MAX_BYTES = 2 << 20
"""Largest body of a request."""
_LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")


def is_local(host: str) -> bool:
    """Whether only this computer reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def new_token() -> str:
    """Returns a token that nobody can guess."""
    return secrets.token_urlsafe(24)


class StudioServer(ScenePageServer):
    """Serves a session."""

    def __init__(self, listening: socket.socket, session: StudioSession, *, token: str | None) -> None:
        """Starts viser and the thread of the scene.

        Args:
            listening: The socket.
            session: What is served.
            token: What a browser must know; None: requests come from this computer only.
        """
        super().__init__(listening, _Handler)
        self.session, self.token = session, token
        self.view = SceneView(self.scene, session)
        self.html = fill_template("unlatch.workflows.studio", "page.html", scene=f"{SCENE}/").encode()
        self.view.start()

    def server_close(self) -> None:
        """Ends the threads and viser."""
        self.view.stop()
        super().server_close()


class _Handler(ScenePageHandler):
    server: StudioServer

    def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
        """Answers one request."""
        url = urlsplit(self.path)
        if not self._is_from_here():
            self.send_error(HTTPStatus.FORBIDDEN, "This page is reached at the printed address only")
        elif self._gives_token(url.query):
            self.send_response(HTTPStatus.SEE_OTHER)
            self.send_header("Set-Cookie", f"{_COOKIE}={self.server.token}; HttpOnly; SameSite=Strict; Path=/")
            self.send_header("Location", "/")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif not self._has_token():
            self.send_error(HTTPStatus.FORBIDDEN, "Open the whole address that was printed, with its token")
        elif url.path == "/":
            self.answer(self.server.html, "text/html; charset=utf-8")
        elif url.path == "/state.json":
            self.answer(self._wait_for_state(url.query), "application/json")
        elif self.is_for_scene(url.path):
            self.answer_with_scene()
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:  # noqa: N802 - the name that http.server calls
        """Does one action: `{"action": NAME, ...}`; answers `{}` or `{"error": MESSAGE}`."""
        length = self.headers.get("Content-Length", "")
        kind = self.headers.get("Content-Type", "").partition(";")[0]
        # a page of another site can send forms, but no JSON
        if not self._is_from_here() or not self._has_token() or kind != "application/json":
            self.close_connection = True
            self.send_error(HTTPStatus.FORBIDDEN)
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
        except SimCoreError as exc:
            return {"error": exc.message}
        except Exception as exc:  # noqa: BLE001 - a request of one page must not end the server
            return {"error": f"{type(exc).__name__}: {exc}"}
        return {}

    def _wait_for_state(self, query: str) -> bytes:
        """Returns the state as soon as it is newer than the one that the page has."""
        session = self.server.session
        since = parse_qs(query).get("since", [""])[0]
        known = int(since) if since.isdigit() else -1
        with session.changed:
            session.changed.wait_for(lambda: session.revision != known, timeout=_WAIT_S)
            state = session.to_dict()
        view = self.server.view
        return json.dumps({**state, "scene_problem": view.problem, "scene_is_drawn": view.is_drawn}).encode()

    def _is_from_here(self) -> bool:
        """Whether the browser asked for this page by its own address, and not from a page of another site."""
        host = self.headers.get("Host", "")
        origin = self.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return False
        return self.server.token is not None or host.rpartition(":")[0] in _LOCAL_NAMES or host in _LOCAL_NAMES

    def _gives_token(self, query: str) -> bool:
        given = parse_qs(query).get("token", [""])[0]
        return self.server.token is not None and hmac.compare_digest(given.encode(), self.server.token.encode())

    def _has_token(self) -> bool:
        if self.server.token is None:
            return True
        try:
            cookie = SimpleCookie(self.headers.get("Cookie", "")).get(_COOKIE)
        except CookieError:
            return False
        return cookie is not None and hmac.compare_digest(cookie.value.encode(), self.server.token.encode())
