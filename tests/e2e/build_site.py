"""Runs mkdocs in half the time, without three things that no check of a page needs.

These are the line breaks of long signatures, for which mkdocstrings starts 1800 processes of ruff; the index of the
search; and Python's garbage collection, which finds little because nearly everything is used to the end.
"""

import gc
import sys

from material.plugins.search.config import SearchConfig
from mkdocs.__main__ import cli

if __name__ == "__main__":
    gc.disable()
    sys.modules["black"] = sys.modules["ruff.__main__"] = None  # type: ignore[assignment]
    SearchConfig.enabled.default = False
    cli()
