"""An HTTP server of one page and the scene of viser, which the page shows, on one port, for whoever has its token.

Every user of a computer reaches its ports, also those at 127.0.0.1. So each page has a token that nobody can guess. The
address that is printed holds it; the browser keeps it as a cookie and sends it with every further request. The live
page of a run is served by a process beside it, so that nothing that happens there slows down or ends the run.
"""

from __future__ import annotations

import errno
import hmac
import ipaddress
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from html import escape
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.extras import import_extra
from unlatch.simcore.files import home_folder
from unlatch.workflows.runs.schema import LOCAL_HOST, MAX_PORT
from unlatch.workflows.viewing.scene_nodes import SECRET_HEADER, start_viser, stop_viser


@contextmanager
def opened_in_browser(url: str) -> Iterator[None]:
    """Opens an address with a token in a browser when the block begins.

    The browser gets a file of this user that leads to the address: every user of this computer can list the arguments
    of programs. The file is removed at the end.
    """
    home = home_folder()  # a browser that is installed as a snap reads no folder for temporary files
    folder_of_browser = home if home is not None and os.access(home, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="unlatch-", dir=folder_of_browser) as folder:
        file = Path(folder) / "open.html"
        link = escape(url, quote=True)
        file.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={link}"><a href="{link}">open</a>')
        webbrowser.open(file.as_uri())
        yield


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

        def send_on() -> None:
            # a buffered reader: it may hold the beginning of what follows the request
            _copy(lambda: handler.rfile.read1(_CHUNK_BYTES), upstream.sendall)
            with suppress(OSError):
                upstream.shutdown(socket.SHUT_WR)

        back = threading.Thread(target=send_on, daemon=True)
        back.start()
        _copy(lambda: upstream.recv(_CHUNK_BYTES), handler.connection.sendall)
        for end in (upstream, handler.connection):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        back.join(1.0)


def _copy(receive: Callable[[], bytes], send: Callable[[bytes], None]) -> None:
    """Copies bytes until one side is closed."""
    with suppress(OSError, ValueError):
        while data := receive():
            send(data)


SCENE = "/scene"
"""Path below which viser is reached."""
_NEEDS_TOKEN = "Open the whole address that the command has printed, with the token at its end"
_OTHER_SITE = "This page opens at the address that the command has printed, not under another name or from another page"


class ScenePageServer(ThreadingHTTPServer):
    """Serves on a socket that listens already; `serve_forever` serves until `shutdown`."""

    daemon_threads = True
    html: bytes
    """The page; its subclass sets it."""

    def __init__(self, listening: socket.socket, handler: type[ScenePageHandler], *, token: str) -> None:
        """Starts viser on a port of its own; `handler` answers each request that knows the token."""
        self.viser_secret = secrets.token_urlsafe()
        self.scene = start_viser(secret=self.viser_secret)
        host, port = listening.getsockname()[:2]
        super().__init__((host, port), handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.token = token
        self.is_local = is_local(host)
        self.cookie = f"unlatch_{port}"
        """Name of the cookie with the token: a browser sends cookies to every port of a computer."""

    def server_close(self) -> None:
        """Ends the server and viser."""
        super().server_close()
        stop_viser(self.scene)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores a connection that broke: the page was closed."""


class ScenePageHandler(BaseHTTPRequestHandler):
    """Answers requests with the token for one page, whose state a subclass reads; refuses all others."""

    protocol_version = "HTTP/1.1"
    error_message_format = (
        '<!doctype html><meta charset="utf-8"><title>Unlatch</title>'
        '<body style="font-family: sans-serif; margin: 3em"><h1>%(code)d</h1><p>%(message)s.</p></body>\n'
    )
    server: ScenePageServer

    def do_GET(self) -> None:
        """Answers one request."""
        url = urlsplit(f"/{self.path.lstrip('/')}")  # `//name` would be a host
        if self._is_from_here() and self._is_token((query := dict(parse_qsl(url.query))).pop("token", "")):
            self.send_response(HTTPStatus.SEE_OTHER)
            # not SameSite=Strict: the address may be opened from a chat or a terminal in the browser
            self.send_header("Set-Cookie", f"{self.server.cookie}={self.server.token}; HttpOnly; SameSite=Lax; Path=/")
            self.send_header("Location", urlunsplit(("", "", url.path, urlencode(query), "")))
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.is_allowed():
            self.answer_page(url)

    def answer_page(self, url: SplitResult) -> None:
        """Answers one request that may be answered: for the page, for its state, or for the scene."""
        if url.path == "/":
            self.answer(self.server.html, "text/html; charset=utf-8")
        elif url.path == "/state.json":
            self.answer(self.read_state(url.query), "application/json")
        elif url.path.startswith(f"{SCENE}/") or url.path == SCENE:
            self.answer_with_scene()
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def read_state(self, query: str) -> bytes:
        """Returns what the page shows, as JSON."""
        raise NotImplementedError

    def is_allowed(self) -> bool:
        """Returns whether a request knows the token and comes from the page itself; else answers with the reason."""
        reason = _OTHER_SITE if not self._is_from_here() else "" if self._has_cookie() else _NEEDS_TOKEN
        if reason:
            self.close_connection = True  # the body of the request is not read
            self.send_error(HTTPStatus.FORBIDDEN, reason)
        return not reason

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing: a page asks again and again."""

    def answer_with_scene(self, *, prefix: str = SCENE) -> None:
        """Passes the request on to viser; `prefix` is the beginning of the path, which viser does not see."""
        server = self.server
        forward_to_viser(self, server.scene.get_port(), prefix=prefix, secret=server.viser_secret)

    def answer(self, content: bytes, kind: str) -> None:
        """Sends content of a media type, which no browser may keep."""
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        with suppress(ConnectionError):  # the reader is gone
            self.wfile.write(content)

    def end_headers(self) -> None:
        """Keeps the token, which may be in the address, from other sites, and the page out of their frames."""
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Frame-Options", "SAMEORIGIN")
        super().end_headers()

    def _is_from_here(self) -> bool:
        """Whether the browser asked for this page by its own address, and not from a page of another site.

        `Host` guards against a foreign name that leads to this computer (DNS rebinding), `Origin` against requests and
        web sockets of other sites, `Sec-Fetch-Site` against those that browsers send without an origin.
        """
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return False
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin") and (
            self.headers.get("Sec-Fetch-Dest") != "document"  # a link was followed
        ):
            return False
        return not self.server.is_local or is_local(_host_name(host))

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(errors="replace"), self.server.token.encode())

    def _has_cookie(self) -> bool:
        try:
            cookie = SimpleCookie(self.headers.get("Cookie", "")).get(self.server.cookie)
        except CookieError:
            return False
        return cookie is not None and self._is_token(cookie.value)


def is_local(host: str) -> bool:
    """Returns whether only this computer reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _host_name(host: str) -> str:
    """Returns the name in a header `Host`, without the port; empty if it cannot be read."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


_TRIES = 20
"""Ports that are tried one after the other before the system chooses one."""
_STOP_S = 2.0
"""Time in which the process ends by itself [s]."""
_MAIN = "unlatch.workflows.viewing.live_page"
"""Module that the process runs."""


class PageProcess:
    """Serves the page of data sets in a process of its own while it is entered.

    The process ends with its parent, even if that is killed. The parent goes on if the process dies.
    """

    def __init__(
        self, paths: Sequence[Path], *, host: str, port: int, title: str, host_key: str = "host", port_key: str = "port"
    ) -> None:
        """Opens the port; the process is started when this is entered.

        Args:
            paths: Data sets, or folders with data sets below them; they may not exist yet.
            host: Address to listen at.
            port: Port; if it is taken, one of the next, or a free one that the system chooses.
            title: Title of the page.
            host_key: Key of the configuration that `host` comes from, for errors.
            port_key: The same for `port`.

        Raises:
            PluginError: viser is not installed.
            ConfigError: There is no such address here, or the port is not allowed.
        """
        import_extra("viser", extra="view", needed_by="The page")
        self._arguments = {"paths": [str(path) for path in paths], "title": title}
        self._socket = listen_at(host, port, host_key=host_key, port_key=port_key)
        self.port: int = self._socket.getsockname()[1]
        """The port at which it listens."""
        self._token = secrets.token_urlsafe()
        self.url = page_url(host, self.port, self._token)
        """The address of the page, with its token."""
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None

    def __enter__(self) -> PageProcess:
        self._errors = tempfile.TemporaryFile()
        words = [sys.executable, "-m", _MAIN, str(self._socket.fileno()), json.dumps(self._arguments)]
        with self._socket:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,  # it ends when this is closed
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=(self._socket.fileno(),),
                start_new_session=True,  # Ctrl-C in the terminal is for the run
            )
        if self._process.stdin is not None:
            with suppress(OSError):  # it has died already; `death` says why
                # not as an argument: every user of this computer can list those
                self._process.stdin.write(f"{self._token}\n".encode())
                self._process.stdin.flush()
        return self

    def __exit__(self, *exc: object) -> None:
        process = self._process
        if process is not None:
            if process.stdin is not None:
                with suppress(OSError):
                    process.stdin.close()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._errors is not None:
            self._errors.close()

    def death(self) -> str | None:
        """Returns why the process has ended, in one line; None while it runs."""
        if self._process is None or self._errors is None or self._process.poll() is None:
            return None
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit code {self._process.returncode}"

    def wait(self) -> None:
        """Waits until the process has ended."""
        if self._process is not None:
            self._process.wait()


def listen_at(host: str, port: int, *, host_key: str = "host", port_key: str = "port") -> socket.socket:
    """Returns a socket that listens at an address; if the port is taken, at one of the next, or at a free one.

    Args:
        host: Address.
        port: Port; 0: the system chooses a free one.
        host_key: Key of the configuration that `host` comes from, for errors.
        port_key: The same for `port`.

    Raises:
        ConfigError: There is no such address here, or the port is not allowed.
    """
    for chosen in [*range(port, min(port + _TRIES, MAX_PORT + 1)), 0] if port else [0]:
        try:
            family, *_, address = socket.getaddrinfo(host, chosen, type=socket.SOCK_STREAM)[0]
            return socket.create_server(address[:2], family=family)
        except PermissionError as exc:
            raise ConfigError(
                f"{port_key}={port} is not allowed: {exc.strerror}. Expected a port from 1024 on. Choose another.",
                key=port_key,
            ) from exc
        except OSError as exc:
            if exc.errno != errno.EADDRINUSE:
                raise ConfigError(
                    f"{host_key}={host} cannot be listened at: {exc.strerror or exc}. Expected an address of this "
                    f"computer, such as {LOCAL_HOST}, or 0.0.0.0 for all of them. Change it.",
                    key=host_key,
                ) from exc
    raise ConfigError(f"{port_key}={port}: no port is free. Choose another.", key=port_key)


def reachable_name(host: str) -> str:
    """Returns the name in an address by which others reach what listens at `host`."""
    return socket.gethostname() if host in ("", "0.0.0.0", "::") else f"[{host}]" if ":" in host else host


def page_url(host: str, port: int, token: str) -> str:
    """Returns the address that a browser opens first to reach a page that is served at `host`."""
    return f"http://{reachable_name(host)}:{port}/?token={token}"
