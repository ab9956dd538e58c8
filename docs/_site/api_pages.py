"""Writes one page for each public module, with the docstrings of its names."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from pathlib import Path

_SEARCH = "---\nsearch:\n  boost: 0.2\n---\n\n"
"""Head of the page of a module: the search lists it below pages that explain."""
_INTRODUCTION = """You import from these modules only. A plugin needs no other one, and their names change as
[What may change](../../repository.md#what-may-change-between-versions) says. All other modules are private: they may
move in any version. Begin with [`unlatch`](unlatch.md), or with [from Python](../../python.md).
"""


def api_pages(root: Path) -> dict[str, str]:
    """Returns the pages of all public modules, and a page that lists them.

    Args:
        root: Root of the repository.

    Returns:
        Markdown by path on the site.
    """
    modules = public_modules(root)
    head = f"# Public modules\n\nThese pages describe Unlatch {version('unlatch')}. {_INTRODUCTION}\n"
    lines = [f"- [`{name}`]({name}.md): {_read_summary(name)}" for name in modules]
    pages = {f"reference/api/{name}.md": _module_page(name) for name in modules}
    return {"reference/api/index.md": head + "\n".join(lines) + "\n", **pages}


def public_modules(root: Path) -> list[str]:
    """Returns the modules directly in `unlatch` that list public names in `__all__`, the package itself first."""
    folder = root / "unlatch"
    files = {"unlatch": folder / "__init__.py"}
    files |= {f"unlatch.{file.stem}": file for file in folder.glob("[!_]*.py")}
    files |= {f"unlatch.{file.parent.name}": file for file in folder.glob("*/__init__.py")}
    return sorted(name for name, file in files.items() if "\n__all__ = " in file.read_text(encoding="utf-8"))


def _module_page(name: str) -> str:
    names: list[str] = import_module(name).__all__
    first = import_module("unlatch")
    twice = [item for item in names if name != "unlatch" and _is_same(first, import_module(name), item)]
    head = f"{_SEARCH}# {name}\n\nUnlatch {version('unlatch')}\n\n::: {name}\n    options:\n      members: false\n"
    if twice:
        head += f"\nAlso here: {', '.join(f'[`{item}`](unlatch.md#unlatch.{item})' for item in twice)}\n"
    return head + "".join(f"\n::: {name}.{item}\n" for item in sorted(set(names) - set(twice), key=_place_on_page))


def _is_same(first: object, second: object, name: str) -> bool:
    return name in getattr(first, "__all__") and getattr(first, name) is getattr(second, name)  # noqa: B009 - of a module


def _place_on_page(name: str) -> tuple[int, str]:
    """Functions first, then classes, then constants."""
    return (2 if name.isupper() else int(name[0].isupper()), name)


def _read_summary(name: str) -> str:
    """Returns the first line of a module's docstring."""
    return (import_module(name).__doc__ or "").strip().splitlines()[0]
