"""Data sets below a folder, and what to call them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.data_set.location import DATASET_FILE


def data_sets_below(folder: Path) -> list[Path]:
    """The folder itself if it is a data set, else all below it, by path; what is in a data set is not looked through.

    Args:
        folder: Where to look.

    Raises:
        ConfigError: There is no such folder, or no data set below it.
    """
    folder = folder.expanduser()
    if not folder.is_dir():
        raise ConfigError(f"Folder '{folder}' is not there. Expected one that data sets lie below. Name another.")
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
    """The data sets that several paths name or lie above, each once.

    Args:
        paths: Data sets, or folders that they lie below.

    Raises:
        ConfigError: A folder is not there, or has no data set below it.
    """
    found = {folder.resolve(): folder for path in paths for folder in data_sets_below(Path(path))}
    return list(found.values())


def short_names(folders: Sequence[Path]) -> list[str]:
    """Names as short as they tell the folders apart: the last parts of their paths.

    Args:
        folders: Folders of data sets.
    """
    parts = [folder.absolute().parts for folder in folders]
    for length in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(part[-length:]) for part in parts]
        if len(set(names)) == len(set(parts)):
            return names
    return [str(folder) for folder in folders]
