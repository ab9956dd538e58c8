"""Where an export is written until it is whole: beside its target, put into place by renaming."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.file_lock import try_lock
from unlatch.simcore.files import not_writable, sync_folder
from unlatch.simcore.recording.data_set.location import missing_folders

_KEY = "export.json"


class Draft:
    """The workplace of one export, `.<name>.export` beside the target; a context manager.

    It holds `parts/`, which stays when the process is killed and is used again by an export with the same key, and the
    draft of the target. One process at a time works in it.
    """

    def __init__(self, target: Path, *, key: str, is_file: bool) -> None:
        """Opens the workplace.

        Args:
            target: What is to be made.
            key: What the parts depend on, as text; parts of another key are removed.
            is_file: Whether the target is a file.

        Raises:
            RecordingError: It cannot be written, or another export works there.
        """
        self._target = target
        self._root = target.with_name(f".{target.name}.export")
        self._old = self._root / "old"
        self._made = missing_folders(target.parent)
        try:
            self._lock = self._locked()
        except OSError as exc:
            raise not_writable(target.parent, exc) from exc
        try:
            self._restore()
            _remove(self.place)
            if not self._same_key(key):
                _remove(self.parts)
                (self._root / _KEY).write_text(key, encoding="utf-8")
            self.parts.mkdir(exist_ok=True)
            if not is_file:
                self.place.mkdir()
        except OSError as exc:
            os.close(self._lock)
            raise not_writable(target.parent, exc) from exc

    @property
    def place(self) -> Path:
        """Where the target is written."""
        return self._root / "draft"

    @property
    def parts(self) -> Path:
        """What outlives a killed run."""
        return self._root / "parts"

    def commit(self) -> None:
        """Puts the draft into the target's place; what was there is gone afterwards.

        Raises:
            RecordingError: It cannot.
        """
        try:
            _sync(self.place)
            if self._target.exists():
                self._target.rename(self._old)
            self.place.rename(self._target)
            sync_folder(self._target.parent)
            _remove(self._old)
            _remove(self.parts)
        except OSError as exc:
            raise not_writable(self._target.parent, exc) from exc

    def _locked(self) -> int:
        path = self._root / "lock"
        while True:
            self._root.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            if not try_lock(descriptor):
                break
            with suppress(FileNotFoundError):
                if os.path.samestat(path.stat(), os.fstat(descriptor)):
                    return descriptor
            os.close(descriptor)  # of an export that ended meanwhile and took its workplace with it
        os.close(descriptor)
        raise RecordingError(
            f"Another export writes '{self._target}' at this moment. Expected one at a time. Wait for it, or choose "
            "another out=.",
            path=str(self._target),
        )

    def _restore(self) -> None:
        """Undoes a replacement that was broken off between its two renames."""
        if self._old.exists():
            if self._target.exists():
                _remove(self._old)
            else:
                self._old.rename(self._target)

    def _same_key(self, key: str) -> bool:
        try:
            return (self._root / _KEY).read_text(encoding="utf-8") == key
        except (OSError, UnicodeDecodeError):
            return False

    def __enter__(self) -> Draft:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        _remove(self.place)
        with suppress(OSError):
            self._restore()
        # what was finished before Ctrl-C serves the next call, as after a kill; after an error, or the end, none does
        if not self._old.exists() and (kind is None or not issubclass(kind, KeyboardInterrupt)):
            with suppress(OSError):
                shutil.rmtree(self._root)
                for folder in self._made:  # up to the first that is not empty: of an export that failed, nothing stays
                    folder.rmdir()
        os.close(self._lock)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Waits until a file, or everything in a folder, is on the disk."""
    files = [path] if path.is_file() else [found for found in path.rglob("*") if found.is_file()]
    for file in files:
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
