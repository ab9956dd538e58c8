"""`unlatch clip`: writes one recorded episode as a moving picture."""

from __future__ import annotations

import time
from dataclasses import dataclass

from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.command_line import parse_command_line, split_paths
from unlatch.workflows.cli.console import OK, print_line, relative_path
from unlatch.workflows.runs.progress import StepProgress
from unlatch.workflows.runs.recorded_config import check_episode, config_of
from unlatch.workflows.viewing.clips.clip import ClipCfg, check_clip_file, write_clip
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
    with StepProgress("pictures") as progress:
        made = write_clip(config_of(data_set), record, cfg, out, config_dirs=line.config_dirs, on_frame=progress.update)
    print_line(
        f"clip: {relative_path(made.path)} ({made.frames} pictures, {made.length_s:.1f} s, "
        f"{made.path.stat().st_size / 1e6:.1f} MB; renderer {made.renderer}, {time.perf_counter() - started:.1f} s)"
    )
    return OK
