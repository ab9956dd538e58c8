"""Temporary files of this process: generated objects, which can be generated again from their seed.

Each process has one temporary folder. It is removed at the end of the process; the folder of a killed process is
removed by the next process.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from unlatch.simcore.errors import AssetError
from unlatch.simcore.locked_area import LockedArea, clean_areas

PREFIX = "unlatch-objects-"
"""Beginning of the folder's name, below the system's temporary folder."""
_MAX_FOLDERS = 512
"""Largest number of objects that a process keeps, so that a long run does not fill the disk."""


def scratch_files(name: str, files: Mapping[str, bytes]) -> Path:
    """Writes files by relative name into the folder `name` in the temporary folder of this process, and returns it.

    The caller derives `name` from the content of the files, so that equal objects share a folder.

    Raises:
        AssetError: The temporary folder cannot be written.
    """
    try:
        return _get_area(os.getpid()).write(name, files)
    except OSError as exc:
        raise AssetError(
            f"The temporary folder {tempfile.gettempdir()} cannot be written ({exc.strerror or exc}). "
            "Set TMPDIR to a folder that this user can write to.",
            path=tempfile.gettempdir(),
        ) from exc


class ScratchArea(LockedArea):
    """The temporary folder of one process, with the objects that it used last."""

    def __init__(self) -> None:
        """Makes and locks the folder, and removes those of processes that have ended.

        Raises:
            OSError: The temporary folder cannot be written, or has no locks.
        """
        root = Path(tempfile.gettempdir())
        clean_areas(root, prefix=PREFIX)
        super().__init__(root, prefix=PREFIX, mode=0o700)
        self._folders: dict[str, Path] = {}
        """Folders of the objects by name, the one that was used last at the end."""
        atexit.register(self.close)

    def write(self, name: str, files: Mapping[str, bytes]) -> Path:
        """See `scratch_files`.

        Raises:
            OSError: The folder cannot be written.
        """
        folder = self.folder / name
        # always written, since a cleaner of the temporary folder may have removed some files
        folder.mkdir(parents=True, exist_ok=True)
        for file, data in files.items():
            (folder / file).write_bytes(data)
        self._folders.pop(name, None)
        self._folders[name] = folder
        if len(self._folders) > _MAX_FOLDERS:
            shutil.rmtree(self._folders.pop(next(iter(self._folders))), ignore_errors=True)
        return folder


@lru_cache(maxsize=1)
def _get_area(pid: int) -> ScratchArea:
    """Returns the folder of a process; a forked child has another process id and makes its own."""
    return ScratchArea()
