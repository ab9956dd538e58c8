"""Finds data sets below folders, and joins those of one configuration."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unlatch.simcore.errors import ConfigError, RecordingError, UnlatchError
from unlatch.simcore.files import user_path
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode_folders import DATASET_FILE, SHARD_SIZE, absolute_folder, check_same_header
from unlatch.simcore.recording.episode_reading import verify_episode
from unlatch.simcore.recording.index import EpisodeSummary
from unlatch.workflows.runs.progress import copy_run_times
from unlatch.workflows.runs.runner import writer_name
from unlatch.workflows.runs.statistics import CorruptEpisodes, RunStatistics


def data_sets_below(folder: Path) -> list[Path]:
    """Returns the folder itself if it is a data set, else all data sets below it, by path.

    Raises:
        ConfigError: The folder does not exist, or has no data set below it.
    """
    folder = user_path(folder)
    if not folder.is_dir():
        raise ConfigError(
            f"Folder '{folder}' does not exist. Expected a folder with data sets below it. Name another one."
        )
    found = []
    for place, folders, files in os.walk(folder):
        folders.sort()
        if DATASET_FILE in files:
            folders.clear()
            found.append(Path(place))
    if not found:
        raise ConfigError(
            f"No data set lies below '{folder}'. Expected folders that `unlatch collect` made. Name another folder."
        )
    return sorted(found)


def data_sets_in(paths: Sequence[str]) -> list[Path]:
    """Returns the data sets at or below several paths, each once.

    Raises:
        ConfigError: A folder does not exist, or has no data set below it.
    """
    found = {folder.resolve(): folder for path in paths for folder in data_sets_below(Path(path))}
    return list(found.values())


def short_names(folders: Sequence[Path]) -> list[str]:
    """Returns the shortest ends of the folders' paths that tell the folders apart."""
    parts = [folder.absolute().parts for folder in folders]
    for length in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(part[-length:]) for part in parts]
        if len(set(names)) == len(set(parts)):
            return names
    return [str(folder) for folder in folders]


def count_episodes(data_set: DataSet, corrupt: CorruptEpisodes | None = None) -> RunStatistics:
    """Counts the episodes of a data set by their index; adds those that cannot be read to `corrupt`.

    Raises:
        RecordingError: An episode without a line in the index cannot be read, or the data set cannot.
    """
    return RunStatistics.of(data_set.each_summary((corrupt or CorruptEpisodes()).add))


def describe_data_set(path: Path) -> str:
    """Returns task, robot, seed and success rate of a data set in one line, from its header and its index."""
    corrupt = CorruptEpisodes()
    try:
        data_set = DataSet.open(path)
        statistics = count_episodes(data_set, corrupt)
    except UnlatchError as exc:
        return f"damaged: {exc.message}"
    config = data_set.header.get("config", {})
    names = [str(config.get(key, {}).get("name", "?")) for key in ("task", "robot")]
    policy = data_set.header.get("evaluate", {}).get("policy")
    made_by = [f"policy {policy}"] if policy else []
    words = [*names, f"seed {config.get('seed', '?')}", *made_by, statistics.success_text(), *corrupt.count_text()]
    return ", ".join(words)


logger = logging.getLogger(__name__)

Array = np.ndarray


@dataclass(frozen=True)
class MergeReport:
    """A finished merge."""

    data_set: DataSet
    episodes: int
    taken: int
    """How many of them this merge added."""
    left_out: int
    """Episodes that are damaged or differ from another one with the same number."""


def merge(
    out: str | Path,
    sources: Sequence[str | Path],
    *,
    link: bool = False,
    notify: Callable[[str], None] = logger.warning,
) -> MergeReport:
    """Joins data sets of the same configuration, byte by byte.

    An episode that ended as `error` is taken only if it ended so in every set; in the joined set, another outcome
    replaces it.

    Args:
        out: Folder of the joined set: new, or one that an earlier call began.
        sources: Folders of the sets.
        link: Whether files are linked where the file system can do that.
        notify: Called with one line for each episode that is left out.

    Raises:
        UnlatchError: The input is wrong; nothing was written.
    """
    sets = [DataSet.open(path) for path in sources]
    for other in sets[1:]:
        check_same_header(
            sets[0].header,
            other.header,
            sets[0].path,
            expected=f"the same values as in '{other.path}'",
            advice="Merge sets of one configuration only.",
        )
    folder = absolute_folder(out)
    if folder.resolve() in [data_set.path.resolve() for data_set in sets]:
        raise ConfigError(
            f"OUT is '{folder}', one of the data sets. Expected another folder. Give it before the data sets."
        )
    left_out = taken = 0
    name = writer_name("merged")
    with DataSet.create_or_resume(out, header=sets[0].header, info=sets[0].info, worker=name) as joined:
        fingerprints, damaged, errors = _Fingerprints(), CorruptEpisodes(), set[int]()
        for summary in joined.each_summary(damaged.add):
            if summary.code == "error":
                errors.add(summary.number)
            else:
                fingerprints.add(summary)
        for number in damaged.numbers:
            notify(f"episode {number} of '{joined.path}' is damaged; kept as {joined.set_aside(number)}")
        if errors:
            joined.replace_errors(errors.intersection(_other_outcomes(sets)))
        for source, with_errors in [*((source, False) for source in sets), *((source, True) for source in sets)]:
            corrupt = CorruptEpisodes()
            for summary in source.each_summary(corrupt.add):
                if (summary.code == "error") != with_errors or (with_errors and summary.number in joined):
                    continue
                problem = _find_problem(source, summary, fingerprints.get(summary.number))
                if problem is not None:
                    notify(f"unlatch: left out: {problem}")
                    left_out += 1
                elif fingerprints.get(summary.number) is None:
                    taken += joined.copy_episode(source.folder_of(summary.number), summary, link=link)
                    fingerprints.add(summary)
            if not with_errors:
                for line in corrupt.lines():
                    notify(f"unlatch: left out of '{source.path}': {line}")
                left_out += len(corrupt.numbers)
        for source in sets:
            copy_run_times(source.path, joined.path)
        episodes = len(joined)
    return MergeReport(joined, episodes, taken, left_out)


def _other_outcomes(sets: Sequence[DataSet]) -> Iterator[int]:
    """Yields the numbers of the episodes that did not end as `error`."""
    for source in sets:
        for summary in source.each_summary(CorruptEpisodes().add):
            if summary.code != "error":
                yield summary.number


class _Fingerprints:
    """Fingerprints of episodes by number, eight bytes each: there may be ten million episodes."""

    def __init__(self) -> None:
        self._shards: dict[int, Array] = {}
        """By shard, (SHARD_SIZE,) uint64; 0: no episode."""

    def add(self, summary: EpisodeSummary) -> None:
        """Adds the fingerprint of an episode."""
        shard, place = divmod(summary.number, SHARD_SIZE)
        values = self._shards.setdefault(shard, np.zeros(SHARD_SIZE, dtype=np.uint64))
        values[place] = _fingerprint(summary)

    def get(self, number: int) -> int | None:
        """Returns the fingerprint of an episode; None if it is not there."""
        shard, place = divmod(number, SHARD_SIZE)
        values = self._shards.get(shard)
        return None if values is None or values[place] == 0 else int(values[place])


def _fingerprint(summary: EpisodeSummary) -> int:
    """Returns a fingerprint, never 0. The digest alone is not enough: it is equal for all attempts without arrays."""
    found = hash((summary.seed, summary.success, summary.code, summary.n_actions, summary.state_sha256))
    return max(found & ((1 << 64) - 1), 1)


def _find_problem(source: DataSet, summary: EpisodeSummary, taken: int | None) -> str | None:
    """Returns why an episode cannot be taken; None if it can be taken, or was taken already."""
    if taken is not None:
        if taken == _fingerprint(summary):
            return None
        return f"episode {summary.number} of '{source.path}' differs from the one that was taken"
    try:
        verify_episode(source.folder_of(summary.number))
    except RecordingError as exc:
        return exc.message
    return None
