"""Randomization of the physics of one or many environments: `from unlatch import randomization as dr`."""

from typing import TYPE_CHECKING

from unlatch.old_paths import old_names

if not TYPE_CHECKING:
    __getattr__ = old_names(__name__)
