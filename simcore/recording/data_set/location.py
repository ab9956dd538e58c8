"""Checks whether a folder can hold a data set: new, empty, or a data set with the same header."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.files import unwritable_error, user_path
from unlatch.simcore.recording.data_set.episode_folders import AREAS
from unlatch.simcore.recording.json_values import differences

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
