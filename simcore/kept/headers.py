"""Keeps the syntax trees of C headers that cffi parses: wgpu has its whole header parsed in every process.

The tree of a text is stored under the hash of the text and of the parser's version. What cffi makes of the tree is not
touched. A version of cffi that keeps its parser elsewhere parses as before.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from typing import Any

from unlatch.simcore.cache import cache_root
from unlatch.simcore.kept.files import read_kept, write_kept

_PARSER = "_parser_cache"
"""Where `cffi.cparser` keeps its parser."""
MOST_FILES = 60
"""Number of files above which the ones that were not used for longest are removed; wgpu has about ten (1 MB)."""


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
        content = read_kept(path)
        if content is not None:
            return pickle.loads(content)
        tree = self._parser.parse(text)
        write_kept(path, pickle.dumps(tree, protocol=pickle.HIGHEST_PROTOCOL), most=MOST_FILES)
        return tree
