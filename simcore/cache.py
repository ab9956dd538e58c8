"""Cached folders: written once under a name that follows from their sources."""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.files import home_folder, user_path
from unlatch.simcore.locked_area import locked_folder
from unlatch.simcore.native_output import WORKER_VARIABLE

logger = logging.getLogger(__name__)

CACHE_VARIABLE = "UNLATCH_CACHE_DIR"
"""Environment variable that names the cache directory."""

OWN_MODE = 0o755
"""Mode of a folder that nobody but its owner may write to."""

MANIFEST_FILE = "manifest.json"
"""Written last: a folder is valid only if its files match its manifest."""

_RENAME_TRIES = 1000
"""Attempts to rename a folder while other processes do the same."""
_CARRY_TRIES = 20
"""Attempts to read a folder while another host replaces it."""


def cache_root(cache_dir: str | None = None) -> Path:
    """Returns the cache directory: the argument, else `UNLATCH_CACHE_DIR`, else `~/.cache/unlatch`.

    For a user who has no home directory, or one that cannot be written, it is a folder in the system's temporary
    folder that only this user can open; one line says so.

    Raises:
        ConfigError: That folder belongs to somebody else.
        AssetError: It cannot be made.
    """
    chosen = cache_dir or os.environ.get(CACHE_VARIABLE)
    if chosen:
        return user_path(chosen).resolve()
    home = home_folder()
    if home is None:
        return _temporary_root("This user has no home directory")
    root = home / ".cache" / "unlatch"
    existing = next(folder for folder in (root, *root.parents) if folder.exists())
    if existing == root or os.access(existing, os.W_OK | os.X_OK):
        return root
    return _temporary_root(f"{existing} cannot be written")


@lru_cache(maxsize=1)
def _temporary_root(reason: str) -> Path:
    """Makes and returns the cache directory of a user without a home; `reason` says why it is needed."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    root = Path(tempfile.gettempdir()) / f"unlatch-cache-{user}"
    try:
        root.mkdir(0o700, exist_ok=True)
        found = root.lstat()
    except OSError as exc:
        raise _cache_error(root / "any", exc) from exc
    if found.st_uid != user or not stat.S_ISDIR(found.st_mode):
        raise ConfigError(
            f"{reason}, and {root} belongs to somebody else. Expected a folder for the cache. Set {CACHE_VARIABLE} to "
            "one of your own."
        )
    if WORKER_VARIABLE not in os.environ:  # the process that starts workers says it
        logger.warning("%s: the cache is %s. Set %s to a folder that lasts.", reason, root, CACHE_VARIABLE)
    return root


def make_cache_folder(folder: Path, *, mode: int = 0o777) -> None:
    """Makes a folder of the cache, and those above it that are missing.

    Nobody else may write to the cache directory itself, whatever the umask: it holds compiled programs, see `is_own`.

    Args:
        folder: The folder.
        mode: Its mode, from which the umask takes bits; that of the folders between it and the cache directory, too.

    Raises:
        OSError: It cannot be made.
    """
    root = cache_root()
    for path in (*reversed(folder.parents), folder):
        if not path.is_dir():
            path.mkdir(OWN_MODE if path == root or path in root.parents else mode, exist_ok=True)


def content_hash(files: Mapping[str, bytes]) -> str:
    """Returns the SHA-256 over names and contents, in the order of the names."""
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{len(files[name])}\0".encode())
        digest.update(files[name])
    return digest.hexdigest()


def json_hash(value: Any) -> str:
    """Returns the SHA-256 over plain values as JSON; members of enums count by their values."""
    text = json.dumps(value, sort_keys=True, default=lambda member: member.value)
    return hashlib.sha256(text.encode()).hexdigest()


@contextmanager
def replaced_folder(
    folder: Path,
    *,
    is_good: Callable[[Path], bool] | None = None,
    carry_over: Callable[[Path, Path], None] | None = None,
) -> Iterator[Path]:
    """Yields a temporary folder and renames it to `folder` if the block succeeds.

    Two processes may do this at once and end with one valid result. A killed process leaves only a `.writing-` folder.

    Args:
        folder: Its final place; an existing folder there is replaced.
        is_good: Returns whether an existing folder is valid. A valid folder that another process made meanwhile stays.
            None: every existing folder is replaced.
        carry_over: Copies the files to keep from the old folder, if there is one, to the new one. No process of this
            host replaces the old folder during the call.

    Raises:
        AssetError: The cache cannot be written.
    """
    try:
        make_cache_folder(folder.parent)
        temporary = Path(tempfile.mkdtemp(prefix=".writing-", dir=folder.parent))
    except OSError as exc:
        raise _cache_error(folder, exc) from exc
    try:
        yield temporary
        with locked_folder(folder.parent):
            if is_good is None or not is_good(folder):
                if carry_over is not None:
                    _carry_over(carry_over, folder, temporary)
                _move_into_place(temporary, folder)
    except OSError as exc:
        raise _cache_error(folder, exc) from exc
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def cached_folder(folder: Path, *, key: str, make: Callable[[Path], None]) -> str:
    """Returns the content hash of a folder; `make` writes its content first unless the folder is intact.

    `key` is the hash of the sources of the content.

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
    """Writes the manifest of all files of a complete folder; returns the hash of its content.

    `key` is the hash of the sources of the content.
    """
    files = {str(p.relative_to(folder)): _file_hash(p) for p in _list_files(folder)}
    total = json_hash(files)
    text = json.dumps({"key": key, "content_hash": total, "files": files}, indent=1, sort_keys=True)
    (folder / MANIFEST_FILE).write_text(text + "\n", encoding="utf-8")
    return total


def intact_hash(folder: Path, *, key: str, allow_unlisted: bool = False) -> str | None:
    """Returns the content hash of a folder if all its files exist unchanged, else None.

    `key` is the expected key of its manifest. With `allow_unlisted`, the folder may hold files that the manifest does
    not list.
    """
    try:
        manifest = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
        listed: dict[str, str] = manifest["files"]
        if manifest["key"] != key:
            return None
        present = {str(p.relative_to(folder)) for p in _list_files(folder)}
        if not (present >= listed.keys() if allow_unlisted else present == listed.keys()):
            return None
        if any(_file_hash(folder / name) != value for name, value in listed.items()):
            return None
        return str(manifest["content_hash"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # an unreadable cache is made again, whatever the reason
        return None


def _list_files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file() and p.name != MANIFEST_FILE)


def _file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _carry_over(carry_over: Callable[[Path, Path], None], folder: Path, temporary: Path) -> None:
    for _ in range(_CARRY_TRIES):
        if not folder.exists():
            return
        try:
            carry_over(folder, temporary)
        except FileNotFoundError:
            continue  # another host, which the lock does not stop, replaced the folder: copy from the new one
        return
    carry_over(folder, temporary)


def _move_into_place(temporary: Path, folder: Path) -> None:
    # mkdtemp makes folders that only their owner can read; a shared cache needs the usual mode
    umask = os.umask(0)
    os.umask(umask)
    temporary.chmod(0o777 & ~umask)
    with tempfile.TemporaryDirectory(prefix=".writing-", dir=folder.parent, ignore_cleanup_errors=True) as trash:
        # an existing folder is damaged, or another process was faster with the same content: it can be replaced
        with suppress(FileNotFoundError):
            folder.rename(Path(trash) / "old")
        _rename_or_keep(temporary, folder)


def _rename_or_keep(temporary: Path, folder: Path) -> None:
    for _ in range(_RENAME_TRIES):
        try:
            temporary.rename(folder)
        except OSError as exc:
            if exc.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            if folder.is_dir():
                return  # another process has just put its own folder there: same name, same content
            # a third process has just moved that away: the place is free again
        else:
            return
    temporary.rename(folder)


def _cache_error(folder: Path, exc: OSError) -> AssetError:
    source = exc.filename if isinstance(exc, FileNotFoundError) else None
    if isinstance(source, str) and not Path(source).is_relative_to(folder.parent) and not folder.is_relative_to(source):
        return AssetError(
            f"{source} is missing. {folder} is made from it. If it belongs to a Python package, install that again.",
            path=source,
        )
    return AssetError(
        f"The asset cache at {folder.parent} cannot be written ({exc.strerror or exc}). "
        f"Set object.cache_dir or {CACHE_VARIABLE} to a folder that this user can write to.",
        path=str(folder),
    )
