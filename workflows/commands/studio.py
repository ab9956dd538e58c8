"""`unlatch studio`: composes a task on a page."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Annotated

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.ranges import Range, Ranged
from unlatch.workflows.cli.arguments import read_pairs, split_own
from unlatch.workflows.cli.terminal import OK, command, parse_command_line, print_line
from unlatch.workflows.runs.schema import LOCAL_HOST, MAX_PORT
from unlatch.workflows.studio.document import TaskDocument, new_document, open_document
from unlatch.workflows.studio.jobs import PLAN, REACH, SCENE
from unlatch.workflows.studio.server import StudioServer
from unlatch.workflows.studio.session import StudioSession
from unlatch.workflows.studio.worker import WorkerProcess
from unlatch.workflows.viewing.page_server import listen_at, opened_in_browser, page_url
from unlatch.workflows.viewing.scene_nodes import import_viser

DEFAULT_PORT = 8070
"""Port of the page if none is given."""
_YAML = (".yaml", ".yml")


@dataclass
class StudioCfg(Ranged):
    """Options of `unlatch studio`."""

    host: str = LOCAL_HOST
    """Address at which the page is served; `0.0.0.0`: other computers can open it, too."""
    port: Annotated[int, Range(0, MAX_PORT)] = DEFAULT_PORT
    """Port of the page; if it is taken, the next free one."""
    browser: bool = False
    """Whether a browser is opened."""
    episode: Annotated[int, Range(0, 2**31 - 1)] = 0
    """Episode that is shown first."""


@command
def studio_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    line = parse_command_line(arguments, command="studio")
    own, words = split_own(StudioCfg, line.overrides)
    files = [word for word in words if "=" not in word and word.endswith(_YAML)]
    if files and len(words) > 1:
        raise ConfigError(
            f"{files[0]} is a task file, which states robot, object and other values itself. Expected it alone, beside "
            "episode, port, host and browser. Remove the others, or change them on the page.",
            key="task",
        )
    document = open_document(files[0]) if files else new_document(words, config_dirs=line.config_dirs)
    serve_studio(document, read_pairs(StudioCfg, own), config_dirs=line.config_dirs)
    return OK


def serve_studio(document: TaskDocument, cfg: StudioCfg, *, config_dirs: Sequence[str] = ()) -> None:
    """Serves the page until Ctrl-C is pressed.

    Raises:
        PluginError: viser is not installed.
        ConfigError: There is no such address here, or the port is not allowed.
    """
    import_viser()
    listening = listen_at(cfg.host, cfg.port)
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe()
    runners = {kind: WorkerProcess() for kind in (SCENE, PLAN, REACH)}
    session = StudioSession(document, runners, config_dirs=tuple(config_dirs), episode=cfg.episode)
    server = StudioServer(listening, session, token=token)
    url = page_url(cfg.host, port, token)
    print_line(f"studio: {url} (Ctrl-C ends it)")
    sys.stdout.flush()  # it is read through a pipe, too
    try:
        with opened_in_browser(url) if cfg.browser else nullcontext():
            server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        session.close()
        server.server_close()
        for runner in runners.values():
            runner.close()
