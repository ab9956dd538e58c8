"""`unlatch view`: one recorded episode as a file to look at."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unlatch.workflows.cli.console import OK, banner_hidden, command, note, say

if TYPE_CHECKING:
    from unlatch.simcore.recording.data_set.data_set import DataSet

HELP = """usage: unlatch view DATA [key=value ...]

Writes one recorded episode as a file to look at: robot, object, keypoints, contact forces and the state of the part,
with a time slider. Needs no screen; the page needs no network.

  episode=0      episode number
  format=html    a page for any browser (extra viz), or rrd: a recording for the Rerun viewer (extra rerun)
  out=FILE       default: DATA/view-<episode>.<format>
"""


@dataclass
class ViewCfg:
    """What `unlatch view` takes beside the data set."""

    episode: int = 0
    """Episode number."""
    format: str = "html"
    """Name in the catalog of viewers."""
    out: str | None = None
    """File to write; null: view-<episode>.<format> in the data set."""


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return command(argv, HELP, _main)


def _main(arguments: list[str]) -> int:
    from unlatch.simcore.recording.data_set.data_set import DataSet
    from unlatch.workflows.cli.arguments import read_pairs, split_paths

    (path,), pairs = split_paths("view", arguments, count=1)
    view(DataSet.open(path), read_pairs(ViewCfg, pairs))
    return OK


def view(data_set: DataSet, cfg: ViewCfg) -> Path:
    """Writes an episode as a file to look at and says where it is.

    Args:
        data_set: Where the episode is.
        cfg: Which one, and the file's form.

    Returns:
        The file's path.

    Raises:
        SimCoreError: The input is at fault, or an extra is missing; nothing was written.
    """
    from unlatch.workflows.runs.recorded import check_episode
    from unlatch.workflows.viewing.viewers.catalog import VIEWERS

    started = time.perf_counter()
    VIEWERS.entry(cfg.format)
    check_episode(data_set, cfg.episode)
    path = _output_file(data_set, cfg)
    with banner_hidden():
        from unlatch.workflows.viewing.viewers.read_scene import read_scene

    scene, notices = read_scene(data_set, cfg.episode)
    for notice in notices:
        note(f"unlatch: {notice}")
    content: bytes = VIEWERS.load(cfg.format)(scene)
    _write(path, content)
    say(f"view: {path} ({len(content) / 1e6:.1f} MB, {time.perf_counter() - started:.1f} s)")
    return path


def _output_file(data_set: DataSet, cfg: ViewCfg) -> Path:
    from unlatch.simcore.errors import ConfigError
    from unlatch.workflows.viewing.viewers.catalog import VIEWERS

    if cfg.out is None:
        return data_set.path / f"view-{cfg.episode}.{cfg.format}"
    path = Path(cfg.out).expanduser().absolute()
    if path.suffix != f".{cfg.format}":
        meant = path.suffix.removeprefix(".")
        advice = f"add format={meant}" if meant in VIEWERS.names() else "rename it"
        raise ConfigError(
            f"out={cfg.out} does not end in .{cfg.format}, the format that is written; {advice}.", key="out"
        )
    return path


def _write(path: Path, content: bytes) -> None:
    """Writes a file, whole or not at all."""
    from unlatch.simcore.errors import RecordingError
    from unlatch.simcore.files import write_page

    try:
        write_page(path, content)
    except OSError as exc:
        raise RecordingError(
            f"View '{path}' cannot be written: {exc.strerror or exc}. Expected a place that this user can write to. "
            "Change `out`.",
            path=str(path),
        ) from exc
