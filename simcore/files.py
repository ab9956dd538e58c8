"""Files on disk: durable and complete writes, and bounded reads of plain files."""

from __future__ import annotations

import codecs
import hashlib
import os
import re
import shlex
import shutil
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from unlatch.simcore.errors import AssetError, ConfigError, RecordingError


def user_path(path: str | Path) -> Path:
    """Returns a path of a user with `~` and `~name` replaced by the home directory, as a shell does.

    A name after `~` that is of no user stays as it is: it may be a file.

    Raises:
        ConfigError: `~` stands for the home of a user who has none.
    """
    found = Path(os.path.expanduser(path))  # noqa: PTH111 - Path.expanduser raises RuntimeError
    if found.parts[:1] == ("~",):
        raise ConfigError(
            f"'{path}' begins with ~, but this user has no home directory: HOME is not set. Expected a whole path. "
            "Write it out, or set HOME."
        )
    return found


_HEAD_BYTES = 200
"""Enough to know a placeholder."""


def refuse_placeholder(path: Path) -> None:
    """Raises for a file of which only a placeholder was downloaded: a pointer of Git LFS, or a page of a website.

    Raises:
        AssetError: It is one.
    """
    with path.open("rb") as file:
        start = file.read(_HEAD_BYTES).lstrip().lower()
    if start.startswith(b"version https://git-lfs"):
        what = "a pointer of Git LFS, not the file. Fetch it: git lfs pull"
    elif start.startswith((b"<!doctype html", b"<html")):
        what = "a web page, not the file. Download the file itself, such as by the button Raw of GitHub"
    else:
        return
    raise AssetError(f"{path}: it is {what}.", path=str(path))


def path_word(path: str | Path) -> str:
    """Returns a path as one word of a command in a shell that commands of Unlatch read as a path."""
    text = str(path)
    # `lr=0.1` would be a key, and `-x` a flag
    return shlex.quote(f"./{text}" if text.startswith("-") or "=" in text.partition("/")[0] else text)


def read_text(file: Path) -> str:
    """Returns the text of a file in UTF-8, with or without a byte order mark, or in UTF-16 with one.

    Every line ends with a line feed, whatever it ended with in the file.

    Raises:
        ConfigError: It has another encoding; the message names the line.
        OSError: It cannot be read.
    """
    return decode_text(file.read_bytes(), name=str(file))


def decode_text(data: bytes, *, name: str) -> str:
    """Returns bytes as a text, see `read_text`; `name` names them in errors.

    Raises:
        ConfigError: They have another encoding.
    """
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as exc:
        line = exc.object.count(b"\n", 0, exc.start) + 1  # without the byte order mark, which `data` may have
        raise ConfigError(
            f"{name}, line {line}: the byte 0x{exc.object[exc.start]:02x} is not valid "
            f"{encoding.removesuffix('-sig').upper()}. "
            "Expected a text in UTF-8. Save the file in this encoding."
        ) from exc
    if "\0" in text:
        raise ConfigError(
            f"{name}, line {text.count(chr(10), 0, text.index(chr(0))) + 1}: it has NUL characters, as other encodings "
            "or damaged files have. Expected a text in UTF-8. Save the file in this encoding."
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")


def home_folder() -> Path | None:
    """Returns the home directory of this user; None if there is none: HOME is not set, and no account is known."""
    found = Path(os.path.expanduser("~"))  # noqa: PTH111 - as above
    return found if found.is_absolute() and found != Path("/") else None


def plain_name(name: str) -> str:
    """Returns a name that can be a file name on every system; other characters become `_`."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def write_durably(path: Path, data: bytes) -> None:
    """Writes a new file and waits until it is on the disk.

    Raises:
        OSError: It cannot be written; FileExistsError if it is there already.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def copy_files(source: Path, target: Path, names: Iterable[str], *, link: bool) -> None:
    """Copies plain files by name from one folder into another, durably, with their times.

    With `link`, it makes hard links if the file system supports them.

    Raises:
        OSError: One cannot be copied.
    """
    for name in names:
        if link:
            try:
                os.link(source / name, target / name, follow_symlinks=False)
                continue
            except OSError:
                pass  # another file system, or one without links
        shutil.copy2(source / name, target / name, follow_symlinks=False)
        sync_path(target / name)


def publish_once(draft: Path, target: Path) -> None:
    """Moves a draft to its place, unless a faster process has put a file there. Removes the draft.

    Raises:
        OSError: It cannot be moved.
    """
    try:
        os.link(draft, target)  # unlike a rename, never replaces
    except FileExistsError:
        pass
    except OSError:  # a file system without hard links
        draft.rename(target)
    draft.unlink(missing_ok=True)
    sync_path(target.parent)


def sync_path(path: Path) -> None:
    """Waits until a file, or the list of files of a folder, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_bounded(path: Path, *, limit: int) -> bytes:
    """Returns the content of a plain file of at most `limit` bytes.

    Raises:
        RecordingError: It is missing, not a plain file, too large or unreadable.
    """
    try:
        # links and devices are refused: a foreign data set must not make us read other files, or read for ever
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError as exc:
        raise RecordingError(
            f"File '{path}' is missing. Every complete data set has it. Restore it from a copy, or remove its "
            "folder: the command that made it makes it again.",
            path=str(path),
        ) from exc
    except OSError as exc:
        raise RecordingError(
            f"File '{path}' cannot be read: {exc.strerror}. Expected a plain file. Check its permissions.",
            path=str(path),
        ) from exc
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise RecordingError(f"'{path}' is not a plain file. Unlatch did not write it. Remove it.", path=str(path))
        if status.st_size > limit:
            raise RecordingError(
                f"File '{path}' has {status.st_size} bytes, expected at most {limit}. Unlatch did not write it. "
                "Remove it.",
                path=str(path),
            )
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(limit)
    finally:
        os.close(descriptor)


def file_sha256(path: Path) -> str:
    """Returns the SHA-256 checksum of a file of any size."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def unwritable_error(path: Path, exc: OSError) -> RecordingError:
    """Returns the error for an output folder that cannot be written."""
    return RecordingError(
        f"Output folder '{path}' cannot be written: {exc.strerror or exc}. Expected a folder that this user can write "
        "to. Choose another folder, or change its permissions or free some space.",
        path=str(path),
    )


@contextmanager
def report_unwritable(folder: Path) -> Iterator[None]:
    """Turns an OSError of the block into an error that names the output folder.

    Raises:
        RecordingError: The folder cannot be written.
    """
    try:
        yield
    except OSError as exc:
        raise unwritable_error(folder, exc) from exc


def write_whole_file(path: Path, content: bytes) -> None:
    """Writes a file completely or not at all; readers never see a part of it. Its folder is created.

    It does not wait for the disk, unlike `write_durably`.

    Raises:
        OSError: The file cannot be written.
    """
    with open_draft(path) as draft:
        draft.write_bytes(content)


@contextmanager
def open_draft(path: Path) -> Iterator[Path]:
    """Yields the path of a file that takes the place of `path` at the end; after an error it is removed.

    The folder is created. The draft has the ending of `path`.

    Raises:
        OSError: The file cannot be written.
    """
    draft = path.with_name(f".part-{os.getpid()}-{threading.get_native_id()}-{path.name}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield draft
        draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
