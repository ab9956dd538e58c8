"""What the process of the page runs, see `PageProcess`."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from unlatch.workflows.viewing.live.page_server import PageServer

_NICENESS = 10
"""The page gets the time that a run leaves."""


def serve(descriptor: int, paths: Sequence[str], title: str) -> None:
    """Serves the page on an open socket until stdin, whose first line is the token, is closed by the parent's end."""
    os.nice(_NICENESS)
    token = sys.stdin.buffer.readline().decode("ascii").strip()
    server = PageServer(socket.socket(fileno=descriptor), [Path(path) for path in paths], title=title, token=token)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    server.serve_forever()


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)  # at once: it has nothing to save, and its threads may be waiting for a browser


if __name__ == "__main__":
    serve(int(sys.argv[1]), **json.loads(sys.argv[2]))
