"""One page a package of what its docstrings say."""

from __future__ import annotations

from pathlib import Path

PACKAGES = ("workflows", "configs", "skills", "tasks", "robots", "objects", "solver", "simcore")


def api_pages(root: Path) -> dict[str, str]:
    """Pages of all packages that hold modules of their own, and one that lists them.

    Args:
        root: Root of the repository.

    Returns:
        Markdown by place on the site.
    """
    pages = {f"reference/api/{name}.md": _page(name, root) for name in _packages(root)}
    lines = [f"- [`{name}`]({name}.md): {_summary(_folder(name, root))}" for name in _packages(root)]
    return {"reference/api/index.md": "# Packages\n\n" + "\n".join(lines) + "\n", **pages}


def _packages(root: Path) -> list[str]:
    found = [init.parent for name in PACKAGES for init in sorted((root / name).rglob("__init__.py"))]
    return ["unlatch", *("unlatch." + path.relative_to(root).as_posix().replace("/", ".") for path in found)]


def _page(package: str, root: Path) -> str:
    folder = _folder(package, root)
    modules = [package, *(f"{package}.{path.stem}" for path in sorted(folder.glob("[!_]*.py")))]
    return f"# {package}\n\n" + "\n".join(f"::: {module}\n" for module in modules)


def _folder(package: str, root: Path) -> Path:
    return root / package.replace(".", "/")


def _summary(folder: Path) -> str:
    """First line of a package's docstring."""
    text = (folder / "__init__.py").read_text(encoding="utf-8")
    return text.split('"""')[1].strip().splitlines()[0] if '"""' in text else ""
