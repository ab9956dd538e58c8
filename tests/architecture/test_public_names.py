"""Every package lists its public names: sorted, there, and the same at run time as for type checkers."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

import unlatch

PACKAGES = ["unlatch", *(info.name for info in pkgutil.walk_packages(unlatch.__path__, "unlatch.") if info.ispkg)]


@pytest.mark.parametrize("name", PACKAGES)
def test_public_names_of_a_package_exist_and_are_sorted(name: str):
    package = importlib.import_module(name)
    listed = list(package.__all__)
    assert listed == sorted(set(listed))
    assert [missing for missing in listed if not hasattr(package, missing)] == []


@pytest.mark.parametrize("name", PACKAGES)
def test_the_stub_of_a_package_lists_the_names_that_it_has(name: str):
    package = importlib.import_module(name)
    stub = Path(str(package.__file__)).with_suffix(".pyi")
    if not stub.exists():
        assert package.__all__ == []
        return
    imported = [
        alias
        for node in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert sorted(alias.name for alias in imported) == package.__all__
    assert [alias.name for alias in imported if alias.asname != alias.name] == [], "type checkers hide these"
