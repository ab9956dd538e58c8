"""Keeps arrays that take long to compute on disk, under a hash of what they follow from."""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np

from unlatch.simcore.cache import cache_root

Array = np.ndarray

logger = logging.getLogger(__name__)

MOST_FILES = 400
"""Number of files of one folder above which the ones that were not used for longest are removed."""


def kept_arrays(folder: str, key: str, make: Callable[[], Mapping[str, Array]]) -> Mapping[str, Array]:
    """Returns arrays by name from the cache, or makes and stores them.

    Args:
        folder: Name of their folder in the cache.
        key: Hash of all that they follow from, the code included; see `arrays_key`.
        make: Makes them.
    """
    path = cache_root() / folder / f"{key}.npz"
    try:
        with np.load(path, allow_pickle=False) as stored:
            found = {name: stored[name] for name in stored.files}
        with suppress(OSError):  # a shared cache that this user may only read
            os.utime(path)  # for `remove_oldest`
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):  # missing or damaged: it is made again
        pass
    else:
        return found
    made = make()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".writing-", dir=path.parent) as temporary:
            draft = Path(temporary) / path.name
            np.savez(draft, allow_pickle=False, **made)
            draft.replace(path)
        remove_oldest(path.parent, ".npz", MOST_FILES)
    except OSError as exc:  # a cache that cannot be written costs nothing but time
        logger.info("Arrays are not kept for the next process: %s", exc)
    return made


def arrays_key(code: str, *parts: object) -> str:
    """Returns a key for `kept_arrays`.

    Args:
        code: The file of the module that makes the arrays, its `__file__`: other code makes other arrays.
        parts: Whatever else they follow from: arrays, bytes, and values whose `repr` states all of them.
    """
    digest = hashlib.sha256(Path(code).read_bytes())
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype} {part.shape}\0".encode())
            digest.update(np.ascontiguousarray(part).tobytes())
        else:
            digest.update(part if isinstance(part, bytes) else repr(part).encode())
        digest.update(b"\0")
    return digest.hexdigest()[:32]


def remove_oldest(folder: Path, suffix: str, most: int) -> None:
    """Removes the files of a suffix that were not used for longest, if there are more than `most`."""
    used = []
    for path in folder.glob(f"*{suffix}"):
        with suppress(OSError):  # another process has just removed it
            used.append((path.stat().st_mtime, path))
    for _, path in sorted(used)[:-most]:
        path.unlink(missing_ok=True)
