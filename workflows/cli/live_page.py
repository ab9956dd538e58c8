"""The page that shows runs while they are made, of commands with `live=true`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.files import path_word
from unlatch.workflows.cli.console import print_note, relative_path
from unlatch.workflows.runs.run import output_folder
from unlatch.workflows.runs.schema import RunCfg


@contextmanager
def live_page(cfgs: Sequence[RunCfg], *, prefix: str, sweep: Path | None) -> Iterator[None]:
    """Serves one page for all jobs of a command if their configurations ask for it, until the block ends.

    A page that ends early is reported at the end; the block goes on.

    Args:
        cfgs: The configurations of the jobs.
        prefix: Beginning of the default folders' names.
        sweep: The folder of the sweep; None: each job has a folder of its own.

    Raises:
        PluginError: viser is not installed.
        ConfigError: The page cannot be served at the given address, or jobs name several addresses.
    """
    shown = [cfg for cfg in cfgs if cfg.live and cfg.live_port is not None]
    if not shown:
        yield
        return
    from unlatch.workflows.viewing.live.page_process import PageProcess

    host, port = shown[0].live_host, shown[0].live_port
    if any((cfg.live_host, cfg.live_port) != (host, port) for cfg in shown):
        raise ConfigError(
            "Jobs of one multirun have several live_hosts or live_ports. Expected one page for all. Name one.",
            key="live_port",
        )
    folders = [output_folder(cfg, prefix=prefix) for cfg in shown] if sweep is None else [sweep]
    page = PageProcess(
        folders,
        host=host,
        port=port or 0,
        title=", ".join(dict.fromkeys(cfg.task.name for cfg in shown)),
        host_key="live_host",
        port_key="live_port",
    )
    with page:
        taken = f" (port {port} is taken)" if port and page.port != port else ""
        print_note(f"live: {page.url}{taken}")
        try:
            yield
        finally:
            if (reason := page.death()) is not None:
                again = " ".join(path_word(relative_path(folder)) for folder in folders[:3])
                print_note(f"unlatch: the page ended before the run: {reason}; `unlatch watch {again}` shows it again")
