"""`unlatch clip`: writes one recorded episode as a moving picture."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.command_line import parse_command_line, split_paths
from unlatch.workflows.cli.console import OK, print_line, relative_path
from unlatch.workflows.runs.recorded_config import check_episode, config_of
from unlatch.workflows.viewing.clips.clip import ClipCfg, OnFrame, check_clip_file, write_clip
from unlatch.workflows.viewing.episode_files import CLIP


@dataclass
class ClipCommandCfg(ClipCfg):
    """Options of `unlatch clip`."""

    episode: int = 0
    """Episode number."""
    out: str | None = None
    """File to write, `.mp4`, `.webp` or `.gif`; null: clip-<episode>.mp4 in the data set."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_clip_file(self.out, self)


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    line = parse_command_line(arguments, command="clip")
    (path,), pairs = split_paths("clip", line.overrides, count=1)
    data_set, cfg = DataSet.open(path), read_pairs(ClipCommandCfg, pairs)
    check_episode(data_set, cfg.episode)
    out = cfg.out or str(data_set.path / CLIP.format(number=cfg.episode))
    record = data_set.read(cfg.episode)
    started = time.perf_counter()
    with _progress_bar() as on_frame:
        made = write_clip(config_of(data_set), record, cfg, out, config_dirs=line.config_dirs, on_frame=on_frame)
    print_line(
        f"clip: {relative_path(made.path)} ({made.frames} pictures, {made.length_s:.1f} s, "
        f"{made.path.stat().st_size / 1e6:.1f} MB; renderer {made.renderer}, {time.perf_counter() - started:.1f} s)"
    )
    return OK


@contextmanager
def _progress_bar() -> Iterator[OnFrame]:
    """Shows a bar on a terminal; yields the function that moves it."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.completed:.0f} of {task.total:.0f} pictures"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("pictures", total=None)
        yield lambda done, total: progress.update(bar, completed=done, total=total)
