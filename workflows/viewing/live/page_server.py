"""Serves the page over HTTP: our panel, its numbers as JSON, and below `/scene/` viser, all on one port."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unlatch.simcore.errors import UnlatchError
from unlatch.workflows.viewing.live.content import PageContent
from unlatch.workflows.viewing.live.current_episode import CurrentEpisode
from unlatch.workflows.viewing.live.scene import LiveScene
from unlatch.workflows.viewing.template import fill_template
from unlatch.workflows.viewing.viewers.scene_page_server import SCENE, ScenePageHandler, ScenePageServer

_PERIOD_S = 1.0
"""Shortest time between two counts of the data sets [s]."""
_SHARE_OF_TIME = 0.1
"""Largest share of the time that is spent on counting."""
_FRAME_S = 0.1
"""Time between two states of the scene [s]."""
_NICENESS = 10
"""The page gets the time that a run leaves."""
_ASKED_S = 10.0
"""Time after the last request in which data sets are read; without a reader, nothing is."""


class LivePage:
    """Rates and scene of data sets, kept up to date in the background while somebody looks at the page."""

    def __init__(self, paths: list[Path], scene_server: Any) -> None:
        self._content = PageContent(paths)
        self._scene_server = scene_server
        self._about: dict[str, Any] | None = None
        self._asked = threading.Event()
        self._asked_at = 0.0
        self._counted = threading.Event()
        self._ended = threading.Event()
        self._problem = ""

    def start(self) -> None:
        """Starts the threads."""
        for target in (self._count_sets, self._show_scene):
            threading.Thread(target=target, daemon=True).start()

    def stop(self) -> None:
        """Ends the threads."""
        self._ended.set()
        self._asked.set()

    def to_json(self) -> bytes:
        """Returns the numbers of the page; waits until they were counted for the first time."""
        self._asked_at = time.monotonic()
        self._asked.set()
        self._counted.wait()
        about = None if self._about is None else dict(self._about)
        if about is not None:
            names = {str(path): name for path, name in self._content.names().items()}
            about["set"] = names.get(about.get("set", ""), "")
        return json.dumps({**self._content.to_dict(), "current": about, "problem": self._problem}).encode()

    def _wait_for_reader(self) -> bool:
        """Waits until somebody looks at the page; returns False at its end."""
        if time.monotonic() - self._asked_at > _ASKED_S:
            self._asked.clear()
            self._asked.wait()
        return not self._ended.is_set()

    def _count_sets(self) -> None:
        while self._wait_for_reader():
            started = time.monotonic()
            try:
                self._content.update()
                self._problem = ""
            except (OSError, UnlatchError) as exc:  # a folder that cannot be read now
                self._problem = str(exc)
            self._counted.set()
            took_s = time.monotonic() - started
            self._ended.wait(max(_PERIOD_S, took_s / _SHARE_OF_TIME))

    def _show_scene(self) -> None:
        with LiveScene(self._scene_server) as scene:
            current = CurrentEpisode(scene)
            while self._wait_for_reader():
                self._counted.wait()
                newest_last = sorted(self._content.sets, key=lambda item: item.pace.ended or 0.0)
                current.update([(item.path, item.last_number) for item in newest_last])
                self._about = current.about
                self._ended.wait(_FRAME_S)


class _Handler(ScenePageHandler):
    server: PageServer

    def read_state(self, query: str) -> bytes:
        """See `ScenePageHandler`."""
        return self.server.page.to_json()


class PageServer(ScenePageServer):
    """Serves the page of data sets."""

    def __init__(self, listening: socket.socket, paths: list[Path], *, title: str, token: str) -> None:
        """Starts viser and the threads of the page."""
        super().__init__(listening, _Handler, token=token)
        self.scene.gui.configure_theme(show_logo=False, show_share_button=False)
        self.page = LivePage(paths, self.scene)
        self.html = fill_template("live.html", title=title, scene=f"{SCENE}/").encode()
        self.page.start()

    def server_close(self) -> None:
        """Ends the threads and viser."""
        self.page.stop()
        super().server_close()


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


if __name__ == "__main__":  # in a process of its own, see `PageProcess`
    serve(int(sys.argv[1]), **json.loads(sys.argv[2]))
