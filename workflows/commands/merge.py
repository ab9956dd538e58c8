"""`unlatch merge`: joins data sets of the same configuration, such as shards from different disks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unlatch.simcore.recording.data_set.shards import SHARD_SIZE
from unlatch.workflows.cli.command import run_command
from unlatch.workflows.cli.console import FAILED, OK, print_line, print_note
from unlatch.workflows.runs.corrupt_episodes import Damaged
from unlatch.workflows.runs.run import writer_name

if TYPE_CHECKING:
    from pathlib import Path

    from unlatch.simcore.recording.data_set.data_set import DataSet
    from unlatch.simcore.recording.data_set.index import EpisodeSummary

Array = np.ndarray

HELP = """usage: unlatch merge OUT DATA [DATA ...] [key=value ...]

Joins data sets into OUT, byte by byte. The sets must have the same configuration, seed and versions, such as shards
from different disks. Other sets are refused, with every key that differs. An episode in several sets must be the same
in all; it is taken once. The same command again continues an interrupted merge.

  link=false     true: link files instead of copying them, if the file system can

Exit code 0: complete; 1: an episode is damaged or differs between sets, all others are joined; 2: other errors.
"""


@dataclass
class MergeCfg:
    """What `unlatch merge` takes beside data sets."""

    link: bool = False
    """Whether files are linked where the file system can do that."""


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return run_command(argv, HELP, _main)


def _main(arguments: list[str]) -> int:
    from unlatch.workflows.cli.arguments import read_pairs, split_some_paths

    (out, *sources), pairs = split_some_paths("merge", arguments, least=2)
    return merge(out, sources, read_pairs(MergeCfg, pairs))


def merge(out: str, sources: Sequence[str], cfg: MergeCfg) -> int:
    """Joins data sets and says what came of it.

    Args:
        out: Folder of the joined set: new, or one that an earlier call began.
        sources: Folders of the sets.
        cfg: How.

    Returns:
        The exit code: 0, or 1 if an episode was left out.

    Raises:
        SimCoreError: The input is at fault; nothing was written.
    """
    from unlatch.simcore.recording.data_set.data_set import DataSet
    from unlatch.simcore.recording.data_set.location import absolute_folder, check_same_header

    started = time.perf_counter()
    sets = [DataSet.open(path) for path in sources]
    for other in sets[1:]:
        check_same_header(sets[0].header, other.header, sets[0].path)
    _check_apart(absolute_folder(out), sets)
    problems = taken = 0
    with DataSet.create_or_resume(
        out, header=sets[0].header, info=sets[0].info, worker=writer_name("merged")
    ) as joined:
        marks, damaged = _Marks(), Damaged()
        for summary in joined.each_summary(damaged.add):
            marks.add(summary)
        for number in damaged.numbers:
            print_note(f"episode {number} of '{joined.path}' is damaged; kept as {joined.set_aside(number)}")
        for source in sets:
            left_out = Damaged()
            for summary in source.each_summary(left_out.add):
                problem = _problem(source, summary, marks.of(summary.number))
                if problem is not None:
                    print_note(f"unlatch: left out: {problem}")
                    problems += 1
                elif marks.of(summary.number) is None:
                    joined.adopt(source.folder_of(summary.number), summary, link=cfg.link)
                    marks.add(summary)
                    taken += 1
            for line in left_out.lines():
                print_note(f"unlatch: left out of '{source.path}': {line}")
            problems += left_out.n
        print_line(f"{marks.n} episodes, {taken} taken in {time.perf_counter() - started:.1f} s: {joined.path}")
    return FAILED if problems else OK


class _Marks:
    """What two equal episodes have in common, by number, in eight bytes each: there may be ten million."""

    def __init__(self) -> None:
        self.n = 0
        self._shards: dict[int, Array] = {}
        """By shard, (SHARD_SIZE,) uint64; 0: none."""

    def add(self, summary: EpisodeSummary) -> None:
        """Keeps the mark of an episode that is there."""
        shard, place = divmod(summary.number, SHARD_SIZE)
        marks = self._shards.setdefault(shard, np.zeros(SHARD_SIZE, dtype=np.uint64))
        self.n += marks[place] == 0
        marks[place] = _mark(summary)

    def of(self, number: int) -> int | None:
        """The mark of an episode; None where it is not there."""
        shard, place = divmod(number, SHARD_SIZE)
        marks = self._shards.get(shard)
        return None if marks is None or marks[place] == 0 else int(marks[place])


def _mark(summary: EpisodeSummary) -> int:
    """Not 0; attempts without arrays have one digest, and differ in the rest."""
    found = hash((summary.seed, summary.success, summary.code, summary.n_actions, summary.state_sha256))
    return max(found & ((1 << 64) - 1), 1)


def _problem(source: DataSet, summary: EpisodeSummary, taken: int | None) -> str | None:
    """Why an episode cannot be taken; None if it can, or was."""
    from unlatch.simcore.errors import RecordingError
    from unlatch.simcore.recording.episode import verify_episode

    if taken is not None:
        if taken == _mark(summary):
            return None
        return f"episode {summary.number} of '{source.path}' is not equal to the one that was taken"
    try:
        verify_episode(source.folder_of(summary.number))
    except RecordingError as exc:
        return exc.message
    return None


def _check_apart(out: Path, sets: Sequence[DataSet]) -> None:
    from unlatch.simcore.errors import ConfigError

    for data_set in sets:
        if out.resolve() == data_set.path.resolve():
            raise ConfigError(
                f"OUT is '{out}', one of the data sets. Expected a folder of its own. Name another one first."
            )
