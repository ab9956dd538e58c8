"""Keeps the syntax trees of C headers that cffi parses: wgpu has its whole header parsed in every process.

The tree of a text is stored under the hash of the text and of the parser's version. What cffi makes of the tree is not
touched. A version of cffi that keeps its parser elsewhere parses as before.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from unlatch.simcore.cache import cache_root

_PARSER = "_parser_cache"
"""Where `cffi.cparser` keeps its parser."""
_DIGEST = 32
"""Bytes of a SHA-256."""
MOST_FILES = 60
"""Number of files above which all are removed; a version of wgpu has about ten, of 1 MB together."""


@contextmanager
def keeping_parsed_headers() -> Iterator[None]:
    """Makes cffi take syntax trees from the cache meanwhile, and store those that it parses."""
    cparser: Any = import_module("cffi.cparser")
    if not hasattr(cparser, "_get_parser") or not hasattr(cparser, _PARSER):
        yield
        return
    parser = cparser._get_parser()
    setattr(cparser, _PARSER, _KeptParser(parser))
    try:
        yield
    finally:
        setattr(cparser, _PARSER, parser)


class _KeptParser:
    """A parser of pycparser, and the trees that it has made in this process and in earlier ones."""

    def __init__(self, parser: Any) -> None:
        self._parser = parser
        self._versions = f"{version('pycparser')} {sys.version_info[:2]}"

    def parse(self, text: str) -> Any:
        key = hashlib.sha256(f"{self._versions}\0{text}".encode()).hexdigest()
        path = cache_root() / "headers" / f"{key[:32]}.pickle"
        with suppress(OSError):
            content = path.read_bytes()
            if hashlib.sha256(content[_DIGEST:]).digest() == content[:_DIGEST]:
                return pickle.loads(content[_DIGEST:])
        tree = self._parser.parse(text)
        with suppress(OSError):  # a cache that cannot be written costs nothing but time
            _write_tree(path, pickle.dumps(tree, protocol=pickle.HIGHEST_PROTOCOL))
        return tree


def _write_tree(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    old = list(path.parent.glob("*.pickle"))
    for other in old if len(old) >= MOST_FILES else ():
        other.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix=".writing-", dir=path.parent) as folder:
        draft = Path(folder) / path.name
        draft.write_bytes(hashlib.sha256(content).digest() + content)
        draft.replace(path)
