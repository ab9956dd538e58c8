"""Runs mkdocs without what takes half of its time and can break no page.

mkdocstrings starts ruff for each of 1800 long signatures, only to break their lines; the search gets an index; and
Python's garbage collections find little, since nearly everything stays to the end.
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
