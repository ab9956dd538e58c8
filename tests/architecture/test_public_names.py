"""What a package lists in `__all__` exists and is sorted."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import unlatch

PACKAGES = ["unlatch", *(info.name for info in pkgutil.walk_packages(unlatch.__path__, "unlatch.") if info.ispkg)]


@pytest.mark.parametrize("name", PACKAGES)
def test_public_names_of_a_package_exist_and_are_sorted(name: str):
    package = importlib.import_module(name)
    listed = list(getattr(package, "__all__", []))
    assert len(set(listed)) == len(listed)
    assert [missing for missing in listed if not hasattr(package, missing)] == []
    assert listed in (sorted(listed), sorted(listed, key=str.casefold), _ruff_order(listed))


def _ruff_order(names: list[str]) -> list[str]:
    """Constants, then classes, then the rest: how ruff's RUF022 sorts `__all__`."""
    return sorted(names, key=lambda n: (0 if n.isupper() else 1 if n[:1].isupper() else 2, n))
