"""Who may import whom; the layers themselves are checked by import-linter (`make lint`)."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("configs", "objects", "robots", "simcore", "skills", "solver", "tasks", "workflows")
MOST_LOCAL_IMPORTS = 225
"""Imports inside functions, of the whole product: of packages of extras (exam and policy servers brought
two), and of what most episodes do not need (mechanisms brought six).

An episode loads half of what it would load if every import stood at the top (`benchmarks/code_size.py`).
"""


def module_files() -> dict[str, Path]:
    """Every module of the product by its dotted name."""
    files = [*(ROOT / "unlatch").glob("*.py"), *(path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))]
    found = {}
    for path in files:
        parts = list(path.relative_to(ROOT).with_suffix("").parts)
        if parts[0] != "unlatch":
            parts.insert(0, "unlatch")
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = module_files()


@cache
def parsed(path: Path) -> ast.Module:
    """To parse all files takes seconds."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def import_statements(path: Path) -> list[tuple[ast.Import | ast.ImportFrom, bool]]:
    """The import statements of a file, each with whether it is inside a function."""
    found = []
    stack: list[tuple[ast.AST, bool]] = [(parsed(path), False)]
    while stack:
        node, is_local = stack.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.append((node, is_local))
        is_local = is_local or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        # no statement is inside an expression
        stack += [(child, is_local) for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]
    return found


def imports(path: Path) -> Iterator[str]:
    """Modules that a file imports anywhere, in functions and for type checking too."""
    for node, _ in import_statements(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif node.module:
            submodules = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in MODULES else node.module for name in submodules)


def files_importing(top_level: str) -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for path in MODULES.values()
        if any(name.split(".")[0] == top_level for name in imports(path))
    }


def test_no_modules_import_each_other_in_a_circle():
    graph = {name: {other for other in imports(path) if other in MODULES} for name, path in MODULES.items()}
    TopologicalSorter(graph).prepare()  # which raises an error that names the circle


def test_imports_inside_functions_are_few():
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in MODULES.values()
        for node, is_local in import_statements(path)
        if is_local
    ]
    assert len(set(found)) <= MOST_LOCAL_IMPORTS, "\n".join(sorted(set(found)))


def test_only_the_simulation_layer_imports_the_engine():
    foreign = {path for path in files_importing("pybullet") if not path.startswith("simcore/sim/")}
    assert not foreign


def test_only_workflows_and_configs_import_hydra():
    foreign = {path for path in files_importing("hydra") if not path.startswith(("workflows/", "configs/"))}
    assert not foreign


def test_the_command_table_needs_the_standard_library_only():
    names = {name.split(".")[0] for name in imports(ROOT / "unlatch" / "command_table.py")}
    assert names <= {*sys.stdlib_module_names, "unlatch"}


def test_no_package_imports_tests():
    assert not files_importing("tests")


def test_tests_hold_no_package_file():
    # a file tests/solver/__init__.py would make `import solver` find the tests
    assert not list((ROOT / "tests").rglob("__init__.py"))


def test_every_package_of_the_repository_is_linked_into_unlatch():
    links = {path.name for path in (ROOT / "unlatch").iterdir() if path.is_symlink()}
    assert links == set(PACKAGES)


def test_tests_of_lower_packages_do_not_import_workflows():
    lower = [path for name in PACKAGES if name != "workflows" for path in (ROOT / "tests" / name).rglob("*.py")]
    assert len(lower) > 100
    assert [str(path) for path in lower if any(name.startswith("unlatch.workflows") for name in imports(path))] == []
