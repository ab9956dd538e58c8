"""`unlatch view`: writes one recorded episode as a file to look at."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.command_line import split_paths
from unlatch.workflows.cli.console import OK, print_line, print_note, relative_path
from unlatch.workflows.runs.recorded_config import check_episode
from unlatch.workflows.viewing.episode_files import VIEW
from unlatch.workflows.viewing.output_file import check_suffix, output_path, write_output
from unlatch.workflows.viewing.viewers.catalog import VIEWERS
from unlatch.workflows.viewing.viewers.recorded_scene import read_scene


@dataclass
class ViewCfg:
    """Options of `unlatch view`."""

    episode: int = 0
    """Episode number."""
    format: str = "html"
    """Name in the catalog of viewers."""
    out: str | None = None
    """File to write; null: view-<episode>.<format> in the data set."""


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    (path,), pairs = split_paths("view", arguments, count=1)
    started = time.perf_counter()
    file, notices = write_view(DataSet.open(path), read_pairs(ViewCfg, pairs))
    for notice in notices:
        print_note(f"unlatch: {notice}")
    print_line(
        f"view: {relative_path(file)} ({file.stat().st_size / 1e6:.1f} MB, {time.perf_counter() - started:.1f} s)"
    )
    return OK


def write_view(data_set: DataSet, cfg: ViewCfg) -> tuple[Path, list[str]]:
    """Writes an episode as a file to look at.

    Returns:
        The file's path, and one line for each thing that cannot be shown.

    Raises:
        UnlatchError: The input is wrong, or an extra is missing. Nothing is written.
    """
    VIEWERS.entry(cfg.format)
    check_episode(data_set, cfg.episode)
    check_suffix(cfg.out, f".{cfg.format}", formats=VIEWERS.names())
    path = output_path(cfg.out, data_set.path / VIEW.format(number=cfg.episode, format=cfg.format))
    scene, notices = read_scene(data_set, cfg.episode)
    write_output(path, VIEWERS.load(cfg.format)(scene))
    return path, notices
