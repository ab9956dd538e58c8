"""Shards: folders of at most a thousand episodes each."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from unlatch.simcore.errors import RecordingError

EPISODES = "episodes"
"""Name of the folder of all shards."""
SHARD_SIZE = 1000
"""Episodes in one folder at most."""
MAX_NUMBER = 10**10 - 1
"""Largest episode number."""
_SHARD = re.compile(r"\d{7}\Z", re.ASCII)
_EPISODE = re.compile(r"\d{10}\Z", re.ASCII)


def episode_folder(data_set: Path, number: int) -> Path:
    """Returns the folder of an episode, whether it exists or not.

    Raises:
        RecordingError: The number is negative or too large.
    """
    if isinstance(number, bool) or not 0 <= number <= MAX_NUMBER:
        raise RecordingError(f"Episode number {number} is out of range. Expected 0 to {MAX_NUMBER}.", number=number)
    return folder_in_shard(data_set / EPISODES, number)


def folder_in_shard(root: Path, number: int) -> Path:
    """Returns the folder of an episode below a folder of shards."""
    return root / f"{number // SHARD_SIZE:07d}" / f"{number:010d}"


def shard_folders(data_set: Path) -> list[Path]:
    """Returns the shards of a data set, sorted."""
    return shards_in(data_set / EPISODES)


def shards_in(root: Path) -> list[Path]:
    """Returns the shards in a folder, sorted; none where the folder does not exist."""
    if not root.is_dir():
        return []
    return [root / name for name in sorted(entry.name for entry in root.iterdir()) if _SHARD.match(name)]


def numbers_in(shard: Path) -> list[int]:
    """Returns the numbers of the episodes in a shard, in any order; none where the shard does not exist."""
    try:
        names = [entry.name for entry in os.scandir(shard)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    numbers = [int(name) for name in names if _EPISODE.match(name)]
    return [number for number in numbers if f"{number // SHARD_SIZE:07d}" == shard.name]


def missing_of(data_set: Path, numbers: Iterable[int]) -> list[int]:
    """Returns those numbers whose episode does not exist, in their order; only their own shards are read."""
    there: dict[int, set[int]] = {}
    missing = []
    for number in numbers:
        shard = episode_folder(data_set, number).parent
        key = number // SHARD_SIZE
        if key not in there:
            there[key] = set(numbers_in(shard))
        if number not in there[key]:
            missing.append(number)
    return missing
