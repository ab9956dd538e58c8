"""Contract checks for authors of plugins; a broken contract raises an `AssertionError` that names it."""

from typing import TYPE_CHECKING

from unlatch.old_paths import old_names

if not TYPE_CHECKING:
    __getattr__ = old_names(__name__)
