"""Keeps the words that shells complete in a file, and makes them anew when they are stale."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from unlatch.simcore.cache import cache_root, make_cache_folder
from unlatch.simcore.files import write_whole_file

CACHE_FILE = "completion.json"
"""Name of the file in the cache folder."""


def load_catalog() -> dict[str, Any]:
    """Returns the words from the cache; if a file that they come from has changed, makes them anew."""
    file = cache_root() / CACHE_FILE
    with suppress(OSError, ValueError, KeyError, TypeError):  # there is none yet, or it is not whole
        kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if kept["sources"] == _modification_times(kept["sources"]):
            return kept
    from unlatch.workflows.cli.completion_catalog import make_catalog  # only here: it takes a second

    catalog = make_catalog()
    catalog["sources"] = _modification_times(catalog["sources"])
    with suppress(OSError):  # without the file, the next answer is slower and the same
        make_cache_folder(file.parent)
        write_whole_file(file, json.dumps(catalog).encode())
    return catalog


def _modification_times(paths: Iterable[str]) -> dict[str, int]:
    """Returns when each file or folder was changed [ns]; 0 if it is not there."""
    found = dict.fromkeys(paths, 0)
    for path in found:
        with suppress(OSError):
            found[path] = Path(path).stat().st_mtime_ns
    return found
