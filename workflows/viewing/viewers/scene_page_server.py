"""An HTTP server of one page and the scene of viser, which the page shows, on one port."""

from __future__ import annotations

import socket
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from unlatch.workflows.viewing.viewers.viser_proxy import forward_to_viser
from unlatch.workflows.viewing.viewers.viser_scene import start_viser, stop_viser

SCENE = "/scene"
"""Path below which viser is reached."""


class ScenePageServer(ThreadingHTTPServer):
    """Serves on a socket that listens already; `serve_forever` serves until `shutdown`."""

    daemon_threads = True

    def __init__(self, listening: socket.socket, handler: type[ScenePageHandler]) -> None:
        """Starts viser on a port of its own; `handler` answers each request."""
        self.scene = start_viser(port=0)
        super().__init__(listening.getsockname()[:2], handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening

    def server_close(self) -> None:
        """Ends the server and viser."""
        super().server_close()
        stop_viser(self.scene)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores a connection that broke: the page was closed."""


class ScenePageHandler(BaseHTTPRequestHandler):
    """Has the answers that all pages with a scene give."""

    protocol_version = "HTTP/1.1"
    server: ScenePageServer

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing: a page asks again and again."""

    def is_for_scene(self, path: str) -> bool:
        """Returns whether a path is one of viser."""
        return path.startswith(f"{SCENE}/") or path == SCENE

    def answer_with_scene(self) -> None:
        """Passes the request on to viser."""
        forward_to_viser(self, self.server.scene.get_port(), prefix=SCENE)

    def answer(self, content: bytes, kind: str) -> None:
        """Sends content of a media type, which no browser may keep."""
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        with suppress(ConnectionError):  # the reader is gone
            self.wfile.write(content)
