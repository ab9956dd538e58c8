"""Exports: data sets in the formats that policies are trained from."""

from typing import TYPE_CHECKING

from unlatch.old_paths import old_names

if not TYPE_CHECKING:
    __getattr__ = old_names(__name__)
