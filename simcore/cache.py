"""Folders of converted objects: written once, under a name made of what they were made from, and kept."""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from unlatch.simcore.errors import AssetError
from unlatch.simcore.file_lock import locked_folder

logger = logging.getLogger(__name__)

CACHE_VARIABLE = "UNLATCH_CACHE_DIR"
"""Environment variable that names the cache directory."""

MANIFEST_FILE = "manifest.json"
"""Written last: a folder without it, or whose files differ from it, does not count."""


_RENAME_TRIES = 1000
"""So often another process may be quicker before we give up."""
_CARRY_TRIES = 20
"""And so often one may replace a folder while it is read."""


def cache_root(cache_dir: str | None = None) -> Path:
    """The cache directory: the argument, else `UNLATCH_CACHE_DIR`, else `~/.cache/unlatch`."""
    chosen = cache_dir or os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().resolve()
    return Path.home() / ".cache" / "unlatch"


def content_hash(files: Mapping[str, bytes]) -> str:
    """SHA-256 over names and contents, in the order of the names."""
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{len(files[name])}\0".encode())
        digest.update(files[name])
    return digest.hexdigest()


@contextmanager
def replaced_folder(
    folder: Path,
    *,
    is_good: Callable[[Path], bool] | None = None,
    carry_over: Callable[[Path, Path], None] | None = None,
) -> Iterator[Path]:
    """Gives a temporary folder and, if the block ends well, renames it into place.

    Two processes may do this at once, and end with one good result. A process that is killed leaves only a `.writing-`
    folder.

    Args:
        folder: The place.
        is_good: Says of a folder that another process has put there meanwhile whether it stays; without it, it goes.
        carry_over: Takes what stays from the folder that goes, if there is one, to the one that comes; nobody else
            replaces the folder meanwhile.

    Raises:
        AssetError: The cache cannot be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".writing-", dir=folder.parent))
    except OSError as exc:
        raise _unwritable(folder, exc) from exc
    try:
        yield temporary
        with locked_folder(folder.parent):
            if is_good is None or not is_good(folder):
                if carry_over is not None:
                    _carry_over(carry_over, folder, temporary)
                _move_into_place(temporary, folder)
    except OSError as exc:
        raise _unwritable(folder, exc) from exc
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def cached_folder(folder: Path, *, key: str, make: Callable[[Path], None]) -> str:
    """Returns the content hash of a folder, and makes the folder first unless it is intact.

    Args:
        folder: The place.
        key: What the content is made from.
        make: Writes the content into an empty folder, which is renamed into place.

    Raises:
        AssetError: The cache cannot be written, or `make` raises it.
    """
    digest = intact_hash(folder, key=key)
    if digest is None:
        if folder.exists():
            logger.warning("The cached folder %s is damaged and is made again.", folder)
        with replaced_folder(folder, is_good=lambda path: intact_hash(path, key=key) is not None) as temporary:
            make(temporary)
            write_manifest(temporary, key=key)
        digest = intact_hash(folder, key=key) or ""
    return digest


def write_manifest(folder: Path, *, key: str) -> str:
    """Writes the manifest of a complete folder and returns the hash of its content.

    Args:
        folder: The folder; every file in it is listed.
        key: What the content was made from.
    """
    files = {str(p.relative_to(folder)): _file_hash(p) for p in _files(folder)}
    total = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
    text = json.dumps({"key": key, "content_hash": total, "files": files}, indent=1, sort_keys=True)
    (folder / MANIFEST_FILE).write_text(text + "\n", encoding="utf-8")
    return total


def intact_hash(folder: Path, *, key: str, others: bool = False) -> str | None:
    """The content hash of a folder whose files are all there and unchanged, else None.

    Args:
        folder: The folder.
        key: What its content must have been made from.
        others: Whether files that the manifest does not list may stand beside them.
    """
    try:
        manifest = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
        listed: dict[str, str] = manifest["files"]
        if manifest["key"] != key:
            return None
        present = {str(p.relative_to(folder)) for p in _files(folder)}
        if (present if not others else present & set(listed)) != set(listed):
            return None
        if any(_file_hash(folder / name) != value for name, value in listed.items()):
            return None
        return str(manifest["content_hash"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # Whatever is wrong with it, a cache that cannot be read is made anew.
        return None


def _files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file() and p.name != MANIFEST_FILE)


def _file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _carry_over(carry_over: Callable[[Path, Path], None], folder: Path, temporary: Path) -> None:
    for _ in range(_CARRY_TRIES):
        if not folder.exists():
            return
        try:
            carry_over(folder, temporary)
        except FileNotFoundError:  # by another host, which the lock does not hold: what it put there counts
            continue
        return
    carry_over(folder, temporary)


def _move_into_place(temporary: Path, folder: Path) -> None:
    # mkdtemp makes folders that only their owner can read; a shared cache wants the usual mode.
    umask = os.umask(0)
    os.umask(umask)
    temporary.chmod(0o777 & ~umask)
    if folder.exists():
        # It is damaged, or another process was quicker with the same content: either way it may go.
        trash = Path(tempfile.mkdtemp(prefix=".writing-", dir=folder.parent))
        try:
            folder.rename(trash / "old")
        except FileNotFoundError:
            pass
        finally:
            _rename_or_keep(temporary, folder)
            shutil.rmtree(trash, ignore_errors=True)
        return
    _rename_or_keep(temporary, folder)


def _rename_or_keep(temporary: Path, folder: Path) -> None:
    for _ in range(_RENAME_TRIES):
        try:
            temporary.rename(folder)
        except OSError as exc:
            if exc.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            if folder.is_dir():
                return  # another process has just put its own there: same name, same content
            # and a third one has just moved that away: the place is free again
        else:
            return
    temporary.rename(folder)


def _unwritable(folder: Path, exc: OSError) -> AssetError:
    return AssetError(
        f"The asset cache at {folder.parent} cannot be written ({exc.strerror or exc}). "
        f"Set object.cache_dir or {CACHE_VARIABLE} to a folder that can.",
        path=str(folder),
    )
