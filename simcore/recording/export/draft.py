"""A temporary place beside the target of an export or of labels; the finished draft is renamed to the target."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from filelock import lock_descriptor

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.files import report_unwritable, sync_path, unwritable_error
from unlatch.simcore.recording.data_set.location import missing_folders

_KEY_FILE = "export.json"


class Draft:
    """The temporary folder of one command, `.<name>.export` beside the target; a context manager.

    It contains the draft of the target, and `parts/`, which survives a killed process and is reused by an export with
    the same key. Only one process at a time can use it.
    """

    def __init__(self, target: Path, *, key: str, is_file: bool) -> None:
        """Creates or reopens the folder and locks it; parts with another `key` are removed.

        Raises:
            RecordingError: It cannot be written, or another process uses it.
        """
        self._target = target
        self._root = target.with_name(f".{target.name}.export")
        self._old = self._root / "old"
        self._made = missing_folders(target.parent)
        with report_unwritable(target.parent):
            self._lock = self._take_lock()
        try:
            self._restore()
            _remove(self.path)
            if not self._has_key(key):
                _remove(self.parts)
                (self._root / _KEY_FILE).write_text(key, encoding="utf-8")
            self.parts.mkdir(exist_ok=True)
            if not is_file:
                self.path.mkdir()
        except OSError as exc:
            os.close(self._lock)
            raise unwritable_error(target.parent, exc) from exc

    @property
    def path(self) -> Path:
        """The draft of the target."""
        return self._root / "draft"

    @property
    def parts(self) -> Path:
        """Folder that survives a killed process."""
        return self._root / "parts"

    def commit(self) -> None:
        """Replaces the target with the draft.

        Raises:
            RecordingError: It cannot be replaced.
        """
        with report_unwritable(self._target.parent):
            for file in [self.path] if self.path.is_file() else filter(Path.is_file, self.path.rglob("*")):
                sync_path(file)
            if self._target.exists():
                self._target.rename(self._old)
            self.path.rename(self._target)
            sync_path(self._target.parent)
            _remove(self._old)
            _remove(self.parts)

    def _take_lock(self) -> int:
        lock_path = self._root / "lock"
        while True:
            self._root.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(lock_path, os.O_RDWR | os.O_CREAT, 0o644)
            if not lock_descriptor(descriptor, blocking=False):
                break
            with suppress(FileNotFoundError):
                if os.path.samestat(lock_path.stat(), os.fstat(descriptor)):
                    return descriptor
            os.close(descriptor)  # the lock of an export that has just ended and removed its folder
        os.close(descriptor)
        raise RecordingError(
            f"Another command is writing '{self._target}'. Expected one at a time. Wait for it, or choose another "
            "out=.",
            path=str(self._target),
        )

    def _restore(self) -> None:
        """Undoes a replacement that was interrupted between its two renames."""
        if self._old.exists():
            if self._target.exists():
                _remove(self._old)
            else:
                self._old.rename(self._target)

    def _has_key(self, key: str) -> bool:
        try:
            return (self._root / _KEY_FILE).read_text(encoding="utf-8") == key
        except (OSError, UnicodeDecodeError):
            return False

    def __enter__(self) -> Draft:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        _remove(self.path)
        with suppress(OSError):
            self._restore()
        # after Ctrl-C the parts are kept for the next call, as after a kill; after an error or success they are removed
        if not self._old.exists() and (kind is None or not issubclass(kind, KeyboardInterrupt)):
            with suppress(OSError):
                shutil.rmtree(self._root)
                for folder in self._made:  # removes created parent folders up to the first that is not empty
                    folder.rmdir()
        os.close(self._lock)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
