"""Folders of episodes on disk: where they are, how they are written in one step, and whether a folder can hold a data
set.
"""

from __future__ import annotations

import errno
import json
import operator
import os
import platform
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.files import publish_once, unwritable_error, user_path, write_durably, write_whole_file
from unlatch.simcore.recording.json_values import differences, encode_sealed
from unlatch.simcore.temporary_folders import LockedArea, is_in_use, locked_folder

AREAS = ".tmp"
"""Name of the folder of all areas of writers."""
REPLACED = "replaced"
"""Name of the folder of episodes that are being replaced; absent between two runs."""
_CLAIM_FILE = "claim.json"
"""File in the area of a run: which episodes it makes."""
_MOVE_TRIES = 5
SHARD_SIZE = 1000
"""Episodes in one shard at most."""
MAX_NUMBER = 10**10 - 1
"""Largest episode number."""
_SHARD = re.compile(r"\d{7}\Z", re.ASCII)
_EPISODE = re.compile(r"\d{10}\Z", re.ASCII)
SetT = TypeVar("SetT", bound="EpisodeFolders")


class EpisodeFolders:
    """Episode folders of one set; a context manager.

    It may be sent to another process, where it makes a new area.
    """

    def __init__(self, path: Path, *, root: Path) -> None:
        """Takes the folder of the set and the folder of its shards, `root`; nothing is made yet."""
        self.path = path
        """Folder of the set."""
        self.root = root
        """Folder of the shards."""
        self._area: LockedArea | None = None

    def folder_of(self, number: int) -> Path:
        """Returns the folder of an episode, whether it exists or not.

        Raises:
            RecordingError: The number is negative or too large.
        """
        if isinstance(number, bool) or not 0 <= number <= MAX_NUMBER:
            raise RecordingError(f"Episode number {number} is out of range. Expected 0 to {MAX_NUMBER}.", number=number)
        return self.root / f"{number // SHARD_SIZE:07d}" / f"{number:010d}"

    def numbers(self) -> list[int]:
        """Returns the numbers of all episodes, sorted; read from the folders, not from an index."""
        return list(self.each_number())

    def each_number(self) -> Iterator[int]:
        """Yields the numbers of all episodes, sorted; there may be ten million."""
        return (number for shard in self._shards() for number in sorted(numbers_in(shard)))

    def missing(self, numbers: Iterable[int]) -> list[int]:
        """Returns those numbers whose episode does not exist, in their order; only their own shards are read."""
        there: dict[Path, set[int]] = {}
        missing = []
        for number in numbers:
            shard = self.folder_of(number).parent
            if shard not in there:
                there[shard] = set(numbers_in(shard))
            if number not in there[shard]:
                missing.append(number)
        return missing

    def _shards(self) -> list[Path]:
        return sorted(path for path in self.root.iterdir() if _SHARD.match(path.name)) if self.root.is_dir() else []

    @property
    def area(self) -> LockedArea:
        """The area of this process, made on first use.

        Raises:
            OSError: The set cannot be written, or its file system has no locks.
        """
        if self._area is None or self._area.pid != os.getpid():
            self._area = LockedArea(self.path / AREAS)
        return self._area

    def publish(self, name: str, content: Mapping[str, Any]) -> None:
        """Writes a sealed JSON file of the set, unless it exists or another writer is faster.

        Raises:
            OSError: The set cannot be written.
        """
        draft = self.area.folder / name
        if not (self.path / name).exists():
            write_durably(draft, encode_sealed(content))
            publish_once(draft, self.path / name)

    def claim(self, numbers: Sequence[int], *, advice: str) -> None:
        """Claims episodes for this run, until `close` or the end of the process.

        The claim lies in the area of this process, so it ends with the process, however that ends. Runs on several
        hosts see each other's claims if the file system has locks between hosts.

        Args:
            numbers: Episode numbers, ascending.
            advice: What the user can do instead of waiting, for the message.

        Raises:
            RecordingError: Another run that has not ended has claimed one of them; nothing is claimed.
            OSError: The set cannot be written.
        """
        areas = self.area.folder.parent
        with locked_folder(areas):
            for path in areas.glob(f"*/{_CLAIM_FILE}"):
                claimed, owner = ((), "") if path.parent == self.area.folder else _read_claim(path)
                both = next((number for number in numbers if number in claimed), None)
                if both is not None:
                    raise RecordingError(
                        f"Another run has claimed episode {both} of '{self.path}': {owner}. Expected one run for "
                        f"each episode. Wait until it has ended, {advice}",
                        path=str(self.path),
                        number=both,
                    )
            claim = {
                "numbers": _encode_numbers(numbers),
                "owner": f"process {os.getpid()} on {platform.node()}, since {time.strftime('%Y-%m-%d %H:%M:%S')}",
            }
            write_whole_file(self.area.folder / _CLAIM_FILE, json.dumps(claim).encode())

    def write_folder(self, number: int, fill: Callable[[Path], None]) -> bool:
        """Makes the folder of an episode; `fill` writes all files into the empty folder that it is given.

        Returns:
            Whether it was written; False if another writer was faster, whose folder then stays as it is.

        Raises:
            OSError: The set cannot be written.
        """
        with self._filled_draft(number, fill) as draft:
            return _move_unless_taken(draft, self.folder_of(number))

    def replace_folder(self, number: int, fill: Callable[[Path], None], *, may_replace: Callable[[Path], bool]) -> bool:
        """Replaces the folder of an episode by a new one, once the new one is complete; `fill` as in `write_folder`.

        A writer that is killed in between leaves the old folder in `replaced/`; `restore_replaced` moves it back.

        Args:
            number: The episode's number.
            fill: Writes all files into the empty folder that it is given.
            may_replace: Whether the folder that it is given, the old one, is to be replaced. No other writer can reach
                that folder meanwhile.

        Returns:
            Whether it was replaced; False if the old folder stays, or another writer was faster.

        Raises:
            OSError: The set cannot be written.
        """
        target, aside = self.folder_of(number), self.path / REPLACED / f"{number:010d}"
        with self._filled_draft(number, fill) as draft:
            try:
                self._move_aside(target, aside)
            except OSError:
                if aside.exists() or not target.exists():
                    return False  # another writer is replacing it
                raise
            try:
                replaced = may_replace(aside) and _move_unless_taken(draft, target)
            finally:
                _move_unless_taken(aside, target)  # the old one returns, unless the new one is there
                shutil.rmtree(aside, ignore_errors=True)
        return replaced

    def restore_replaced(self) -> None:
        """Moves old folders back that a killed writer left in `replaced/`, unless the new ones are in their places."""
        for aside in sorted((self.path / REPLACED).glob("*")):
            if _EPISODE.match(aside.name):
                with suppress(OSError):  # its own writer may be at work after all
                    _move_unless_taken(aside, self.folder_of(int(aside.name)))
                    shutil.rmtree(aside, ignore_errors=True)

    def remove_empty_replaced(self) -> None:
        """Removes the folder `replaced/` once nothing is being replaced."""
        with suppress(OSError):  # it does not exist, or a writer is at work
            (self.path / REPLACED).rmdir()

    @staticmethod
    def _move_aside(target: Path, aside: Path) -> None:
        for _ in range(_MOVE_TRIES):
            aside.parent.mkdir(exist_ok=True)
            try:
                target.rename(aside)  # not every file system can exchange two folders in one step
            except FileNotFoundError:
                if aside.parent.exists() or not target.exists():
                    raise
            else:
                return  # another writer has not removed the empty folder in between
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(aside.parent))

    @contextmanager
    def _filled_draft(self, number: int, fill: Callable[[Path], None]) -> Iterator[Path]:
        """Gives a folder that `fill` has filled, beside which the shard of the episode exists; removes what is left."""
        target = self.folder_of(number)
        draft = self.new_draft(target.name)
        try:
            fill(draft)
            target.parent.mkdir(parents=True, exist_ok=True)
            yield draft
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def new_draft(self, name: str) -> Path:
        """Makes an empty folder in the area; what an earlier failure left under the name is removed."""
        folder = self.area.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    def close(self) -> None:
        """Removes this writer's area; the set can still be written."""
        if self._area is not None:
            self._area.close()
            self._area = None

    def __enter__(self: SetT) -> SetT:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __len__(self) -> int:
        return sum(len(numbers_in(shard)) for shard in self._shards())

    def __contains__(self, number: int) -> bool:
        return self.folder_of(number).is_dir()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_area": None}


def _read_claim(path: Path) -> tuple[Collection[int], str]:
    """Returns the episodes that a run makes, and who runs it; none if it has ended."""
    try:
        content = json.loads(path.read_text(encoding="utf-8")) if is_in_use(path.parent) else {}
    except FileNotFoundError:  # it has just ended
        content = {}
    numbers = content.get("numbers", {"list": []})
    return range(*numbers["range"]) if "range" in numbers else frozenset(numbers["list"]), content.get("owner", "")


def _encode_numbers(numbers: Sequence[int]) -> dict[str, list[int]]:
    """Returns ascending numbers as JSON: a run of ten million episodes, or a share of it, is a range."""
    step = numbers[1] - numbers[0] if len(numbers) > 1 else 1
    whole = range(numbers[0], numbers[-1] + 1, step) if numbers else range(0)
    if len(whole) == len(numbers) and all(map(operator.eq, whole, numbers)):
        return {"range": [whole.start, whole.stop, whole.step]}
    return {"list": list(numbers)}


def _move_unless_taken(folder: Path, target: Path) -> bool:
    """Moves a folder to its place; returns False if there is one already, which then stays.

    Folders are not synced: a power cut may take the newest folders, which the rerun makes again, but never leaves one
    with half its content, since its files were on the disk before.

    Raises:
        OSError: It cannot be moved.
    """
    try:
        folder.rename(target)
    except OSError:
        if target.exists():
            return False
        raise
    return True


def numbers_in(shard: Path) -> list[int]:
    """Returns the numbers of the episodes in a shard, in any order; none where the shard does not exist."""
    try:
        names = [entry.name for entry in os.scandir(shard)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    numbers = [int(name) for name in names if _EPISODE.match(name)]
    return [number for number in numbers if f"{number // SHARD_SIZE:07d}" == shard.name]


DATASET_FILE = "dataset.json"
"""Name of the file that makes a folder a data set."""
_MOST_LISTED = 5
"""Largest number of differing values in a message."""
_FIRST_LISTED = ("config.task.name", "config.robot.name", "config.object.category", "config.seed")
_WORKER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")


def absolute_folder(path: str | Path) -> Path:
    """Returns the folder as an absolute path, with `~` resolved.

    Raises:
        RecordingError: It is not a path.
    """
    try:
        return user_path(path).absolute()
    except (RuntimeError, TypeError, ValueError) as exc:
        raise RecordingError(f"'{path}' is not a path: {exc}. Expected a folder. Change it.", path=str(path)) from exc


def check_worker(worker: str) -> None:
    """Raises unless a worker's name can be a file name.

    Raises:
        RecordingError: It cannot be one.
    """
    if not _WORKER.match(worker):
        raise RecordingError(
            f"Worker name {worker!r} cannot name a file. Expected 1 to 64 letters, digits, '_', '.' or '-'. Rename it.",
            worker=worker,
        )


def is_data_set(folder: Path) -> bool:
    """Whether a folder is a data set; False for a new or empty folder.

    Raises:
        RecordingError: The folder holds something else.
    """
    for place in (folder, *folder.parents):
        if place.exists() or place.is_symlink():
            if not place.is_dir():
                raise RecordingError(
                    f"Output folder '{folder}' cannot be made: '{place}' is a file. Expected a folder or nothing. "
                    "Choose another folder or move the file.",
                    path=str(folder),
                    obstacle=str(place),
                )
            break
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except FileNotFoundError:
        return False
    except OSError as exc:
        raise unwritable_error(folder, exc) from exc
    if DATASET_FILE in names:
        return True
    # a run that is killed before it writes dataset.json leaves only this folder
    foreign = [name for name in names if name != AREAS]
    if foreign:
        shown = ", ".join(f"'{name}'" for name in foreign[:3]) + (", ..." if len(foreign) > 3 else "")
        raise RecordingError(
            f"Output folder '{folder}' is not a data set of ours: it has no {DATASET_FILE} and holds {shown} "
            f"({len(foreign)} entries). Expected a new or empty folder, or a data set of the same run. "
            "Choose another folder.",
            path=str(folder),
            entries=foreign,
        )
    return False


def check_same_header(
    recorded: dict[str, Any],
    wanted: dict[str, Any],
    folder: Path,
    *,
    what: str = "Data set",
    expected: str = "the same values on resume",
    advice: str = "Use them, or choose another folder.",
) -> None:
    """Raises if the header on disk differs from that of this run; the error has every differing key and both values.

    Args:
        recorded: The header on disk.
        wanted: The header of this run.
        folder: Folder of the set, for the message.
        what: The first words of the message.
        expected: What is expected, after `Expected`.
        advice: The last sentence of the message.

    Raises:
        RecordingError: They differ.
    """
    found = list(differences(recorded, wanted))
    if found:
        # the task and robot first: most other differences follow from them
        found.sort(key=lambda item: _FIRST_LISTED.index(item[0]) if item[0] in _FIRST_LISTED else len(_FIRST_LISTED))
        listed = "; ".join(f"{key}: there {old}, now {new}" for key, old, new in found[:_MOST_LISTED])
        if len(found) > _MOST_LISTED:
            listed += f"; and {len(found) - _MOST_LISTED} more"
        count = "1 value differs" if len(found) == 1 else f"{len(found)} values differ"
        raise RecordingError(
            f"{what} '{folder}' was made with another configuration; {count}: {listed}. Expected {expected}. {advice}",
            path=str(folder),
            differences=found,
        )


def missing_folders(folder: Path) -> list[Path]:
    """Returns a folder and those of its parents that do not exist, innermost first."""
    return [place for place in (folder, *folder.parents) if not place.exists()]


def remove_folders(folder: Path, made: list[Path]) -> None:
    """Removes folders that were made for a data set that could not be written; stops at a folder that is not empty."""
    with suppress(OSError):
        for place in (folder / AREAS, *made):
            place.rmdir()
