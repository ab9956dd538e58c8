"""Caches: folders and files on disk for later processes, and bounded caches in memory.

A cached folder or file has a name that follows from its sources, and is written completely or not at all. A program
in the cache runs as the user who loads it. So it is used only if it, its folder and the folders up to the cache
directory belong to this user (or to root) and nobody else may write to them. Others may write to the cache
directory itself if it is sticky, as `/tmp` is: there, nobody can replace what belongs to this user.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import logging
import os
import pwd
import shlex
import shutil
import stat
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.files import file_sha256, home_folder, open_draft, user_path
from unlatch.simcore.process import WORKER_VARIABLE, speaks_for_all
from unlatch.simcore.temporary_folders import locked_folder

if TYPE_CHECKING:
    import numpy as np


logger = logging.getLogger(__name__)

CACHE_VARIABLE = "UNLATCH_CACHE_DIR"
"""Environment variable that names the cache directory."""

OWN_MODE = 0o755
"""Mode of a folder that nobody but its owner may write to."""

MANIFEST_FILE = "manifest.json"
"""Written last: a folder is valid only if its files match its manifest."""


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
    user = os.getuid()
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
    files = {str(p.relative_to(folder)): file_sha256(p) for p in _list_files(folder)}
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
        if any(file_sha256(folder / name) != value for name, value in listed.items()):
            return None
        return str(manifest["content_hash"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # an unreadable cache is made again, whatever the reason
        return None


def _list_files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file() and p.name != MANIFEST_FILE)


def _carry_over(carry_over: Callable[[Path, Path], None], folder: Path, temporary: Path) -> None:
    for left in reversed(range(20)):  # attempts to read a folder while another host replaces it
        try:
            return carry_over(folder, temporary) if folder.exists() else None
        except FileNotFoundError:
            if not left:
                raise
            # another host, which the lock does not stop, replaced the folder: copy from the new one


def _move_into_place(temporary: Path, folder: Path) -> None:
    # mkdtemp makes folders that only their owner can read; a shared cache needs the usual mode
    umask = os.umask(0)
    os.umask(umask)
    temporary.chmod(0o777 & ~umask)
    with tempfile.TemporaryDirectory(prefix=".writing-", dir=folder.parent, ignore_cleanup_errors=True) as trash:
        # an existing folder is damaged, or another process was faster with the same content: it can be replaced
        with suppress(FileNotFoundError):
            folder.rename(Path(trash) / "old")
        for left in reversed(range(1000)):  # attempts to rename a folder while other processes do the same
            try:
                temporary.rename(folder)
                return
            except OSError as exc:
                if exc.errno not in (errno.ENOTEMPTY, errno.EEXIST) or not left:
                    raise
            if folder.is_dir():
                return  # another process has just put its own folder there: same name, same content
            # a third process has just moved that away: the place is free again


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


def is_own(path: Path) -> bool:
    """Returns whether only this user or root can have written a file or folder of the cache; True if it is missing.

    If not, logs one line that says why, and what to do.
    """
    problem = foreign_access(path)
    if problem is not None and not _warned and speaks_for_all():
        _warned.append(problem)
        logger.warning(
            "A compiled program of the cache is not used, which is slower: %s, or set %s to a folder of your own.",
            problem,
            CACHE_VARIABLE,
        )
    return problem is None


def foreign_access(path: Path) -> str | None:
    """Returns who else can have written a file or folder of the cache, and what to do; None: nobody."""
    root, place = cache_root().resolve(), path.resolve()
    for part in (path, *path.parents):
        if part.resolve() == root:
            break
        if part.is_symlink():  # whoever owns it can change where it leads
            return f"{path} leads to {place} by a link. Remove it"
    for checked in (*reversed(place.parents), place)[len(root.parents) :]:
        try:
            found = checked.stat()
        except FileNotFoundError:
            return None
        except OSError as exc:
            return f"{checked} cannot be read ({exc.strerror}). Make it readable"
        if found.st_uid not in (os.geteuid(), 0):
            return f"{checked} belongs to {_user_name(found.st_uid)}. Remove it"
        is_sticky_root = checked == root and found.st_mode & stat.S_ISVTX
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not is_sticky_root:
            others = "every user of this computer" if found.st_mode & stat.S_IWOTH else "its group"
            return f"{others} may write to {checked}. Run chmod go-w {shlex.quote(str(checked))}"
    return None


def close_to_others(path: Path) -> None:
    """Takes the right to write to a file from all others, who have it by the umask of some systems.

    Raises:
        OSError: It cannot be changed.
    """
    path.chmod(path.stat().st_mode & OWN_MODE)


def _user_name(number: int) -> str:
    with suppress(KeyError):
        return f"user {pwd.getpwuid(number).pw_name}"
    return f"user {number}"


_warned: list[str] = []
"""What this process has said: one line is enough, as one remedy mostly helps for all programs."""


_DIGEST = 32
"""Bytes of a SHA-256."""


def read_kept(path: Path) -> bytes | None:
    """Returns the content that `write_kept` wrote; None if there is no such file, or it is damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
        return None
    with suppress(OSError):  # a shared cache that this user may only read
        os.utime(path)  # for `_remove_oldest`
    return content[_DIGEST:]


def write_kept(path: Path, content: bytes, *, most: int) -> None:
    """Writes a file completely or not at all, and keeps at most `most` files of its suffix in its folder.

    Only this user may write to it. If the cache cannot be written, nothing is kept.
    """
    try:
        make_cache_folder(path.parent, mode=OWN_MODE)
        with open_draft(path) as draft:
            draft.write_bytes(hashlib.sha256(content).digest() + content)
            close_to_others(draft)
        _remove_oldest(path.parent, path.suffix, most)
    except OSError as exc:
        logger.info("%s is not kept for the next process: %s", path.name, exc)


def _remove_oldest(folder: Path, suffix: str, most: int) -> None:
    used = []
    for path in folder.glob(f"*{suffix}"):
        with suppress(OSError):  # another process has just removed it
            used.append((path.stat().st_mtime, path))
    for _, path in sorted(used)[:-most]:
        path.unlink(missing_ok=True)


MOST_FILES = 400
"""Largest number of files in one folder; the least recently used ones are removed."""


def kept_arrays(folder: str, key: str, make: Callable[[], Mapping[str, np.ndarray]]) -> Mapping[str, np.ndarray]:
    """Returns arrays by name from the cache, or makes and stores them.

    Args:
        folder: Name of their folder in the cache.
        key: Hash of the code and of all inputs, see `arrays_key`.
        make: Makes them.
    """
    import numpy as np  # only here and below: shell completion, which must be quick, reads the cache, too

    path = cache_root() / folder / f"{key}.npz"
    content = read_kept(path)
    if content is not None:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    made, written = make(), io.BytesIO()
    np.savez(written, allow_pickle=False, **made)
    write_kept(path, written.getvalue(), most=MOST_FILES)
    return made


def arrays_key(code: str, *parts: object) -> str:
    """Returns a key for `kept_arrays`.

    Args:
        code: The file of the module that makes the arrays, its `__file__`: other code makes other arrays.
        parts: All inputs: arrays, bytes, and values whose `repr` states all of them.
    """
    import numpy as np

    digest = hashlib.sha256(Path(code).read_bytes())
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype} {part.shape}\0".encode())
            digest.update(np.ascontiguousarray(part).tobytes())
        else:
            digest.update(part if isinstance(part, bytes) else repr(part).encode())
        digest.update(b"\0")
    return digest.hexdigest()[:32]


ValueT = TypeVar("ValueT")


class LRUCache(Generic[ValueT]):
    """Least-recently-used cache of computed values; for functions of hashable arguments use `functools.lru_cache`."""

    def __init__(self, max_size: int) -> None:
        """Makes an empty cache of at most `max_size` values."""
        self._max_size = max_size
        self._values: OrderedDict[Hashable, ValueT] = OrderedDict()

    def get(self, key: Hashable, compute: Callable[[], ValueT]) -> ValueT:
        """Returns the value of a key, and computes it if it is missing."""
        if key not in self._values:
            self._values[key] = compute()
        self._values.move_to_end(key)
        while len(self._values) > self._max_size:
            self._values.popitem(last=False)
        return self._values[key]


FileState: TypeAlias = tuple[int, int, int, int] | None
"""Number, size [bytes], and times of the last change of content and of metadata [ns]; None: there is no such file."""

_SETTLED_NS = 2_000_000_000
"""A file that changed later than this before its state was taken may change again within one tick of its clock [ns]."""


class FileCache(Generic[ValueT]):
    """The least recently used values are dropped; a value is read again once a file that it was read from changes."""

    def __init__(self, max_size: int) -> None:
        self._entries: LRUCache[list[tuple[ValueT, dict[Path, FileState]]]] = LRUCache(max_size)

    def get(self, key: Hashable, read: Callable[[], ValueT], *, files_of: Callable[[ValueT], Iterable[Path]]) -> ValueT:
        """Returns the value of a key.

        Args:
            key: What the value depends on, apart from the content of files.
            read: Reads the value.
            files_of: Returns the files and folders that a value was read from, also those that may come to exist. A
                folder changes when a file in it comes or goes. No files: the value is not kept.
        """
        entries = self._entries.get(key, list)
        for value, states in entries:
            if all(_state_of(path) == state for path, state in states.items()):
                return value
        entries.clear()
        began = time.time_ns()
        value = read()
        states = {path: _state_of(path) for path in files_of(value)}
        is_settled = all(state is None or max(state[2:]) < began - _SETTLED_NS for state in states.values())
        if states and is_settled:
            entries.append((value, states))
        return value


def _state_of(path: Path) -> FileState:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
