"""Prints how large the code is and how much of it one episode needs: before it was redrawn, now, and as aims.

Usage: python benchmarks/code_size.py [time=false]

- The product is what an installation holds: `unlatch/` with the folders that it links. Tests, benchmarks, documentation
  and examples do not count.
- An episode is one of `open_drawer` without pictures, in a new process, whose object and compiled programs are kept on
  disk from a run before. Counted is what Python has imported when it ends.
- The CPU time of importing is that of all outermost import statements in this process; the median of five processes.
  Python finds all modules compiled, as after an installation. `python -X importtime` shows its parts. `time=false`
  leaves it out.
- A public function has no name with an underscore on the way to it. Its docstring has units or errors if it names a
  unit in brackets, such as `[m]`, or has a section `Raises:`.

Ends with exit code 1 if an aim is not reached.
"""

from __future__ import annotations

import ast
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from unlatch.workflows.cli.terminal import print_line, run_guarded

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("configs", "objects", "robots", "simcore", "skills", "solver", "tasks", "workflows")
PUBLIC = (
    "unlatch",
    *(f"unlatch.{name}" for name in ("data", "exporters", "importers", "objects", "policies", "randomization")),
    *(f"unlatch.{name}" for name in ("robots", "sensors", "sim", "skills", "solver", "testing")),
)
"""Modules whose names users may rely on."""
RUNS = 5
_UNIT = re.compile(
    r"\[(1|%|deg|degrees|rad|mm|m|s|ms|kg|N|Hz|px|W|J|C|K|MB|MiB|bytes)\b[^\]]*\]|\[(kg|N|m|rad)[^\]]*\]"
)
_EPISODE = """
import builtins, importlib, json, sys, tempfile, time
from pathlib import Path

spent, depth = 0.0, 0

def timed(function):
    def call(*args, **kwargs):
        global spent, depth
        start, depth = time.process_time(), depth + 1
        try:
            return function(*args, **kwargs)
        finally:
            depth -= 1
            spent += 0.0 if depth else time.process_time() - start
    return call

builtins.__import__ = timed(builtins.__import__)
importlib.import_module = timed(importlib.import_module)
with tempfile.TemporaryDirectory() as folder:
    words = ["collect", "task=open_drawer", "episodes=1", "executor=serial", "pictures=0", f"out={folder}/set"]
    from unlatch.command_table import main
    code = main(words)
modules = {
    name: module.__file__ for name, module in list(sys.modules.items()) if getattr(module, "__file__", None) is not None
}
Path(sys.argv[1]).write_text(json.dumps({"code": code, "spent": spent, "modules": modules}))
"""


@dataclass(frozen=True)
class Loaded:
    """What a process had imported at the end of one episode."""

    modules: dict[str, Path]
    """Our own modules and their files, by name."""
    packages: frozenset[str]
    """Top-level packages of others."""
    import_s: float
    """CPU time of all imports [s]."""

    @property
    def lines(self) -> int:
        """Lines of our own modules."""
        return sum(map(count_lines, self.modules.values()))


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    before: float
    """Before the code was redrawn (version 0.2.0)."""
    value: float
    aim: float
    at_least: bool = False
    """Whether the aim is a least value; otherwise it is the largest."""

    @property
    def is_reached(self) -> bool:
        """Whether the value reaches the aim."""
        return self.value >= self.aim if self.at_least else self.value <= self.aim


def run_episode() -> Loaded:
    """Runs one episode in a new process and returns what it had imported.

    Raises:
        RuntimeError: The episode failed.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "loaded.json"
        done = subprocess.run(
            [sys.executable, "-c", _EPISODE, str(result)],
            cwd=folder,
            env={**environment, "PYTHONPATH": str(ROOT / "src"), "PYTHONPYCACHEPREFIX": _compiled_modules().name},
            capture_output=True,
            text=True,
        )
        if done.returncode or json.loads(result.read_text())["code"]:
            raise RuntimeError(f"The episode ended with an error:\n{done.stdout}\n{done.stderr}")
        found = json.loads(result.read_text())
    own = {name: Path(path) for name, path in found["modules"].items() if name.partition(".")[0] == "unlatch"}
    others = {name.partition(".")[0] for name in found["modules"]} - {"unlatch"}
    return Loaded(own, frozenset(others), found["spent"])


@cache
def _compiled_modules() -> tempfile.TemporaryDirectory[str]:
    """Returns the folder of compiled modules, which the first episode fills."""
    return tempfile.TemporaryDirectory()


def product_files() -> list[Path]:
    """Returns the Python files of the product."""
    files = [*(ROOT / "unlatch").glob("*.py"), *(path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))]
    return sorted(files)


@cache
def count_lines(path: Path) -> int:
    """Returns the number of lines of a file."""
    return len(path.read_text(encoding="utf-8").splitlines())


@cache
def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _functions(node: ast.AST, *, public: bool = True) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, bool]]:
    """Yields all functions and methods below a node, each with whether it is public."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child, public and not child.name.startswith("_")
            yield from _functions(child, public=False)
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, public=public and not child.name.startswith("_"))
        else:
            yield from _functions(child, public=public)


def count_functions() -> tuple[float, float]:
    """Returns the median length of all functions in lines, and the share of public ones with units or errors."""
    lengths, described = [], []
    for path in product_files():
        for function, is_public in _functions(_parse(path)):
            lengths.append((function.end_lineno or function.lineno) - function.lineno + 1)
            text = ast.get_docstring(function) or ""
            if is_public and text:
                described.append("Raises:" in text or bool(_UNIT.search(text)))
    return statistics.median(lengths), sum(described) / len(described)


def public_modules() -> list[str]:
    """Returns those of `PUBLIC` that exist as plain modules with a list `__all__` of names, and have a page."""
    found = []
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for name in PUBLIC:
        place = ROOT / "unlatch" / Path(*name.split(".")[1:])
        path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        has_page = f": reference/api/{name}.md\n" in navigation
        if path.is_file() and not path.with_suffix(".pyi").exists() and has_page and _lists_names(path):
            found.append(name)
    return found


def _lists_names(path: Path) -> bool:
    """Whether a module states a list `__all__`."""
    return any(
        isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]
        for node in _parse(path).body
    )


def core_dependencies() -> list[str]:
    """Returns the packages that an installation without extras brings."""
    content = (ROOT / "pyproject.toml").read_text(encoding="utf-8")  # Python 3.10 has no reader of TOML
    listed = content.partition("\ndependencies = [\n")[2].partition("\n]")[0]
    return re.findall(r'^ *"([^"]+)"', listed, re.MULTILINE)


def measure(*, with_time: bool) -> list[Row]:
    """Returns the whole table; `with_time` runs `RUNS` more episodes for the CPU time of imports."""
    files = product_files()
    run_episode()  # fills the cache
    loaded = run_episode()
    length, share = count_functions()
    rows = [
        Row("product lines", 106_563, sum(map(count_lines, files)), 75_000),
        Row("modules", 824, len(files), 400),
        Row("modules that one episode imports", 502, len(loaded.modules), 220),
        Row("lines in them", 67_041, loaded.lines, 28_000),
        Row("faces (__init__.pyi)", 81, sum(1 for name in PACKAGES for _ in (ROOT / name).rglob("*.pyi")), 0),
        Row("public modules with a page", 0, len(public_modules()), len(PUBLIC), at_least=True),
        Row("core dependencies", 24, len(core_dependencies()), 14),
        Row("median length of a function [lines]", 8, length, 8),
        Row("public functions with units or errors [%]", 33.5, round(100.0 * share, 1), 33.5, at_least=True),
    ]
    if with_time:
        spent = statistics.median(run_episode().import_s for _ in range(RUNS))
        rows.insert(4, Row("CPU time of importing what `collect` needs [s]", 2.1, round(spent, 2), 0.8))
    return rows


def main() -> int:
    """Prints the table; returns 1 if an aim is not reached."""
    rows = measure(with_time="time=false" not in sys.argv[1:])
    print_line(f"{'':<48} {'before':>9} {'now':>9}  {'aim':>9}")
    for row in rows:
        aim = f"{'>=' if row.at_least else '<='} {row.aim:,}"
        state = "" if row.is_reached else "  not yet"
        print_line(f"{row.what:<48} {row.before:>9,} {row.value:>9,}  {aim:>9}{state}")
    return int(not all(row.is_reached for row in rows))


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
