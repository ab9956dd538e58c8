"""What a package lists in `__all__` exists, is sorted, and the packages are those of this repository."""

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import unlatch

ROOT = Path(__file__).resolve().parents[2]


def packages_with_names() -> list[str]:
    found = []
    for top in unlatch.PACKAGES:
        package = importlib.import_module(top)
        names = [top, *(info.name for info in pkgutil.walk_packages(package.__path__, f"{top}.") if info.ispkg)]
        found += [name for name in names if hasattr(importlib.import_module(name), "__all__")]
    return found


@pytest.mark.parametrize("name", packages_with_names())
def test_listed_names_exist_and_are_sorted(name: str):
    package = importlib.import_module(name)
    listed = list(package.__all__)
    assert len(set(listed)) == len(listed)
    assert [missing for missing in listed if not hasattr(package, missing)] == []
    assert listed in (sorted(listed), sorted(listed, key=str.casefold), _ruff_order(listed))


def _ruff_order(names: list[str]) -> list[str]:
    """Constants, then classes, then the rest: how ruff's RUF022 sorts `__all__`."""
    return sorted(names, key=lambda n: (0 if n.isupper() else 1 if n[:1].isupper() else 2, n))


def test_pyproject_names_the_packages_that_the_entry_point_checks():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for name in unlatch.PACKAGES:
        assert f'"{name}*",' in text
        assert (ROOT / name / "py.typed").exists()
        assert (ROOT / name / "__init__.py").exists()


@pytest.mark.e2e
def test_packages_resolve_inside_the_repository_from_another_directory(tmp_path: Path):
    code = (
        "import importlib.util, sys; print('\\n'.join(importlib.util.find_spec(name).origin for name in sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *unlatch.PACKAGES], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip("unlatch is not installed in this environment")
    assert done.stdout.splitlines() == [str(ROOT / name / "__init__.py") for name in unlatch.PACKAGES]
