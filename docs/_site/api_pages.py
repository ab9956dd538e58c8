"""Writes one page per package with its docstrings."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("workflows", "configs", "skills", "tasks", "robots", "objects", "solver", "simcore")
_SEARCH = "---\nsearch:\n  boost: 0.2\n---\n\n"
"""Head of the page of a package: the search lists it below pages that explain."""


def api_pages(root: Path) -> dict[str, str]:
    """Returns the pages of all packages, and a page that lists them.

    Args:
        root: Root of the repository.

    Returns:
        Markdown by path on the site.
    """
    pages = {f"reference/api/{name}.md": _package_page(name, root) for name in _list_packages(root)}
    begin = "Begin with [`unlatch`](unlatch.md), or with [from Python](../../python.md)."
    head = f"# Packages\n\nThese pages describe Unlatch {version('unlatch')}. {begin}\n\n"
    lines = [f"- [`{name}`]({name}.md): {_read_summary(_package_folder(name, root))}" for name in _list_packages(root)]
    return {"reference/api/index.md": head + "\n".join(lines) + "\n", **pages}


def _list_packages(root: Path) -> list[str]:
    found = [init.parent for name in PACKAGES for init in sorted((root / name).rglob("__init__.py"))]
    return ["unlatch", *("unlatch." + path.relative_to(root).as_posix().replace("/", ".") for path in found)]


def _package_page(package: str, root: Path) -> str:
    folder = _package_folder(package, root)
    modules = [f"{package}.{path.stem}" for path in sorted(folder.glob("[!_]*.py"))]
    # the modules of the other packages are on pages of their own
    names = [f"{package}.{name}" for name in _read_lazy_names(folder)] if package == "unlatch" else []
    head = f"{_SEARCH}# {package}\n\nUnlatch {version('unlatch')}\n\n"
    return head + "\n".join(f"::: {path}\n" for path in (package, *names, *modules))


def _read_lazy_names(folder: Path) -> list[str]:
    """Returns the names that a package imports on use, from its stub: functions, then classes."""
    stub = folder / "__init__.pyi"
    found = re.findall(r"import (\w+) as", stub.read_text(encoding="utf-8")) if stub.is_file() else []
    return sorted(found, key=lambda name: (name[0].isupper(), name))


def _package_folder(package: str, root: Path) -> Path:
    return root / package.replace(".", "/")


def _read_summary(folder: Path) -> str:
    """Returns the first line of a package's docstring."""
    text = (folder / "__init__.py").read_text(encoding="utf-8")
    return text.split('"""')[1].strip().splitlines()[0] if '"""' in text else ""
