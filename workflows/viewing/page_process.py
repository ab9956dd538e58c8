"""The process of the live page: beside a run, so that nothing that happens in it slows down or ends the run."""

from __future__ import annotations

import errno
import json
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.registry import import_extra
from unlatch.workflows.runs.schema import LOCAL_HOST, MAX_PORT

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
                process.wait(2.0)  # time in which the process ends by itself [s]
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._errors is not None:
            self._errors.close()

    @property
    def pid(self) -> int | None:
        """Number of the process; None before it was started."""
        return None if self._process is None else self._process.pid

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
    # ports that are tried one after the other before the system chooses one
    for chosen in [*range(port, min(port + 20, MAX_PORT + 1)), 0] if port else [0]:
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


def page_url(host: str, port: int, token: str) -> str:
    """Returns the address that a browser opens first to reach a page that is served at `host`."""
    name = socket.gethostname() if host in ("", "0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/?token={token}"
