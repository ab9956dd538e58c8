"""Builds the distribution with setuptools, and brings a C compiler where the machine has none.

The compiler is that of the package `ziglang` (100 MB), which is downloaded for the build alone.
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403  # what is not below is that of setuptools

_COMPILERS = ("cc", "gcc", "clang")


def _lacks_compiler() -> bool:
    return "CC" not in os.environ and not any(map(shutil.which, _COMPILERS))


def _requirements() -> list[str]:
    return ["ziglang>=0.13"] if _lacks_compiler() else []


def _choose_compiler() -> None:
    if _lacks_compiler():
        os.environ["CC"] = os.environ["LDSHARED"] = f"{sys.executable} -m ziglang cc"
        os.environ["LDSHARED"] += " -shared"


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Returns what building a wheel needs."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), *_requirements()]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    """Returns what an editable installation needs."""
    return [*build_meta.get_requires_for_build_editable(config_settings), *_requirements()]


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Builds a wheel; returns its file name."""
    _choose_compiler()
    return str(build_meta.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Builds an editable wheel; returns its file name."""
    _choose_compiler()
    return str(build_meta.build_editable(wheel_directory, config_settings, metadata_directory))
