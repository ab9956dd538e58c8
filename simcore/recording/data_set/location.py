"""Where a data set goes: what stands there already, and whether it may be used."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.files import not_writable
from unlatch.simcore.recording.data_set.writer_area import FOLDER
from unlatch.simcore.recording.json_values import differences

DATASET_FILE = "dataset.json"
"""Name of the file that makes a folder a data set."""
_MOST_TOLD = 5
"""Values that differ of which a message tells."""
_TELLING = ("config.task.name", "config.robot.name", "config.object.category", "config.seed")
_WORKER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")


def absolute_folder(path: str | Path) -> Path:
    """The folder as an absolute path, `~` resolved.

    Raises:
        RecordingError: It is not a path.
    """
    try:
        return Path(path).expanduser().absolute()
    except (RuntimeError, ValueError) as exc:
        raise RecordingError(f"'{path}' is not a path: {exc}. Expected a folder. Change it.", path=str(path)) from exc


def check_worker(worker: str) -> None:
    """Raises unless a worker's name can name a file.

    Raises:
        RecordingError: It cannot.
    """
    if not _WORKER.match(worker):
        raise RecordingError(
            f"Worker name {worker!r} cannot name a file. Expected 1 to 64 letters, digits, '_', '.' or '-'. Rename it.",
            worker=worker,
        )


def is_data_set(folder: Path) -> bool:
    """Whether a data set is there; False for a new or empty folder.

    Raises:
        RecordingError: Something else is there.
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
        raise not_writable(folder, exc) from exc
    if DATASET_FILE in names:
        return True
    # a run that was killed before it wrote dataset.json leaves this one folder
    foreign = [name for name in names if name != FOLDER]
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
    there: dict[str, Any],
    wanted: dict[str, Any],
    folder: Path,
    *,
    what: str = "Data set",
    advice: str = "Use them, or choose another folder.",
) -> None:
    """Raises if two headers differ, with every key that does and both values.

    Args:
        there: The one on disk.
        wanted: The other one.
        folder: Where it is.
        what: What has it.
        advice: What to do.

    Raises:
        RecordingError: They differ.
    """
    found = list(differences(there, wanted))
    if found:
        # what the run is about first: most else follows from it
        found.sort(key=lambda item: _TELLING.index(item[0]) if item[0] in _TELLING else len(_TELLING))
        listed = "; ".join(f"{key}: there {old}, now {new}" for key, old, new in found[:_MOST_TOLD])
        if len(found) > _MOST_TOLD:
            listed += f"; and {len(found) - _MOST_TOLD} more"
        raise RecordingError(
            f"{what} '{folder}' was made with another configuration; {len(found)} values differ: {listed}. "
            f"Expected the same values on resume. {advice}",
            path=str(folder),
            differences=found,
        )


def missing_folders(folder: Path) -> list[Path]:
    """The folders that will have to be made, innermost first."""
    return [place for place in (folder, *folder.parents) if not place.exists()]


def remove_folders(folder: Path, made: list[Path]) -> None:
    """Removes folders that were made for a data set that could not be written; stops at one that is not empty."""
    leftovers = [folder / FOLDER, *made]
    for place in leftovers:
        try:
            place.rmdir()
        except OSError:
            return
