"""pip that builds with the setuptools beside the tests: to fetch and install another one takes 4 s for each package.

That a package states what builds it is what `test_wheel.py` tests, without this.
"""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version

from packaging.version import Version

LEAST = Version("77")
"""Version of setuptools from which on it reads every `pyproject.toml` of the repository."""


def has_setuptools() -> bool:
    """Returns whether the setuptools beside the tests can build every package of the repository."""
    try:
        return Version(version("setuptools")) >= LEAST
    except PackageNotFoundError:
        return False


def pip_environment() -> dict[str, str]:
    """Returns the variables for a process of pip."""
    # pip reads it the other way round: 0 does not isolate
    return {**os.environ, "PIP_NO_BUILD_ISOLATION": "0"} if has_setuptools() else dict(os.environ)
