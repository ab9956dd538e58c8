"""Keeps single files in the cache, each with its checksum, and removes the least recently used ones."""

from __future__ import annotations

import hashlib
import logging
import os
from contextlib import suppress
from pathlib import Path

from unlatch.simcore.cache import OWN_MODE, make_cache_folder
from unlatch.simcore.files import open_draft
from unlatch.simcore.kept.own_files import close_to_others

logger = logging.getLogger(__name__)

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
