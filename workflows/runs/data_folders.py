"""Finds data sets below folders, names and describes them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from unlatch.simcore.errors import ConfigError, UnlatchError
from unlatch.simcore.files import user_path
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.recording.data_set.location import DATASET_FILE
from unlatch.workflows.runs.corrupt_episodes import CorruptEpisodes
from unlatch.workflows.runs.statistics import RunStatistics


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
