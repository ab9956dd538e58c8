"""Keeps arrays that take long to compute in the cache, by a hash of the code and the inputs that make them."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from unlatch.simcore.cache import cache_root
from unlatch.simcore.kept.files import read_kept, write_kept

if TYPE_CHECKING:
    import numpy as np

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
