"""Where the episodes of a data set lie: folders of a thousand."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from unlatch.simcore.errors import RecordingError

EPISODES = "episodes"
"""Name of the folder of all of them."""
SHARD_SIZE = 1000
"""Episodes in one folder at most."""
MAX_NUMBER = 10**10 - 1
"""Largest episode number."""
_SHARD = re.compile(r"\d{7}\Z", re.ASCII)
_EPISODE = re.compile(r"\d{10}\Z", re.ASCII)


def episode_folder(data_set: Path, number: int) -> Path:
    """The folder of an episode, whether it is there or not.

    Raises:
        RecordingError: The number is negative or too large.
    """
    if isinstance(number, bool) or not 0 <= number <= MAX_NUMBER:
        raise RecordingError(f"Episode number {number} is out of range. Expected 0 to {MAX_NUMBER}.", number=number)
    return data_set / EPISODES / f"{number // SHARD_SIZE:07d}" / f"{number:010d}"


def shard_folders(data_set: Path) -> list[Path]:
    """The folders of episodes, sorted."""
    return shards_in(data_set / EPISODES)


def shards_in(root: Path) -> list[Path]:
    """The folders of a thousand in a folder, sorted; none where it is not there."""
    if not root.is_dir():
        return []
    return [root / name for name in sorted(entry.name for entry in root.iterdir()) if _SHARD.match(name)]


def numbers_in(shard: Path) -> list[int]:
    """Numbers of the episodes in one folder, in any order; none where there is no such folder."""
    try:
        names = [entry.name for entry in os.scandir(shard)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    numbers = [int(name) for name in names if _EPISODE.match(name)]
    return [number for number in numbers if f"{number // SHARD_SIZE:07d}" == shard.name]


def missing_of(data_set: Path, numbers: Iterable[int]) -> list[int]:
    """Those of the numbers whose episode is not there, in their order; looks only where they would be."""
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
