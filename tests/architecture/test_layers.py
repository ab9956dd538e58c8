"""Who may import whom; the layers themselves are checked by import-linter (`make lint`)."""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("configs", "robots", "simcore", "skills", "solver", "tasks", "workflows")


def imported_modules(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def files_importing(top_level: str) -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if any(name.split(".")[0] == top_level for name in imported_modules(path))
    }


def test_only_the_simulation_layer_imports_the_engine():
    foreign = {path for path in files_importing("pybullet") if not path.startswith("simcore/sim/")}
    assert not foreign


def test_only_workflows_and_configs_import_hydra():
    foreign = {path for path in files_importing("hydra") if not path.startswith(("workflows/", "configs/"))}
    assert not foreign


def test_the_entry_point_needs_the_standard_library_only():
    names = {name.split(".")[0] for name in imported_modules(ROOT / "unlatch.py")}
    assert names <= set(sys.stdlib_module_names)


def test_no_package_imports_tests():
    assert not files_importing("tests")


def test_tests_hold_no_package_file():
    # tests/solver/__init__.py alone would make `import solver` find the tests
    assert not list((ROOT / "tests").rglob("__init__.py"))
