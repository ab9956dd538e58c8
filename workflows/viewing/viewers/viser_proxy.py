"""Passes requests of a page on to viser, so that page and scene are reached on one port."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler

from unlatch.workflows.viewing.viewers.viser_scene import SECRET_HEADER

_CHUNK_BYTES = 1 << 16
_NOT_FORWARDED = ("host", "cookie", SECRET_HEADER.lower())


def forward_to_viser(handler: BaseHTTPRequestHandler, port: int, *, prefix: str, secret: str) -> None:
    """Passes a request, and the web socket that it may open, on to viser.

    Args:
        handler: The request.
        port: Port of viser on this computer.
        prefix: Beginning of the path, which viser does not see.
        secret: What viser must be told, see `start_viser`.
    """
    handler.close_connection = True
    path = handler.path.removeprefix(prefix) or "/"
    headers = [(key, value) for key, value in handler.headers.items() if key.lower() not in _NOT_FORWARDED]
    headers.append((SECRET_HEADER, secret))
    upgrades = "upgrade" in (value.lower() for key, value in headers if key.lower() == "connection")
    if not upgrades and "upgrade" not in handler.headers.get("Connection", "").lower():
        headers = [(key, value) for key, value in headers if key.lower() != "connection"]
        headers.append(("Connection", "close"))
    lines = [f"GET {path if path.startswith('/') else '/' + path} HTTP/1.1", f"Host: 127.0.0.1:{port}"]
    head = "\r\n".join([*lines, *(f"{key}: {value}" for key, value in headers), "", ""])
    try:
        upstream = socket.create_connection(("127.0.0.1", port))
    except OSError:
        handler.send_error(HTTPStatus.BAD_GATEWAY)
        return
    with upstream:
        upstream.sendall(head.encode("latin-1"))
        back = threading.Thread(target=_send_on, args=(handler, upstream), daemon=True)
        back.start()
        _copy(lambda: upstream.recv(_CHUNK_BYTES), handler.connection.sendall)
        for end in (upstream, handler.connection):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        back.join(1.0)


def _send_on(handler: BaseHTTPRequestHandler, upstream: socket.socket) -> None:
    # a buffered reader: it may hold the beginning of what follows the request
    _copy(lambda: handler.rfile.read1(_CHUNK_BYTES), upstream.sendall)
    with suppress(OSError):
        upstream.shutdown(socket.SHUT_WR)


def _copy(receive: Callable[[], bytes], send: Callable[[bytes], None]) -> None:
    """Copies bytes until one side is closed."""
    with suppress(OSError, ValueError):
        while data := receive():
            send(data)
