"""Public modules: what a user may import from, that it is documented, and that nothing else is needed."""

from __future__ import annotations

import ast
import collections
import importlib
import json
import re
import sys
from functools import cache

import pytest

import unlatch
from tests.architecture.test_layers import MODULES, ROOT, imports, parsed
from tests.architecture.test_redirects import CONFIG
from unlatch.simcore.registry import Catalog

sys.path.insert(0, str(ROOT / "docs" / "_site"))
from api_pages import api_pages, public_modules

PUBLIC = public_modules(ROOT)
INNER_MODULES = sorted({*MODULES} - {*PUBLIC, "unlatch.__main__"})
FUNCTIONS = (
    *("annotate", "collect", "evaluate", "export", "load", "make_env", "open_dataset", "plan", "read_arrays", "render"),
    "replay",
)
MOST_LINES = 700
INNER = {
    "docs/checks.md": "names modules to whoever changes Unlatch",
    "examples/learn/states.py": "reads records, and compares a network with the planner's own model of an arm",
    "examples/moving_picture.py": "makes pictures of the pages",
}
"""Files that may use inner modules, and why."""
IMPORT = re.compile(
    r"^\s*(?:from (unlatch(?:\.[\w.]+)?) import (\([^)]*\)|[^\n(]+)|import (unlatch(?:\.[\w.]+)?))", re.M
)
PATH = re.compile(r"(?<![\w/.@-])unlatch(?:\.[A-Za-z]\w*)+(?![\w/])")


def texts() -> dict[str, str]:
    """What a user or the author of a plugin reads and copies, by its path."""
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    files += [*(ROOT / "docs").rglob("*.csv"), *(ROOT / "workflows" / "templates").glob("*.txt")]
    files += (path for suffix in ("md", "py", "toml", "ipynb") for path in (ROOT / "examples").rglob(f"*.{suffix}"))
    found = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in sorted(files)}
    for name, text in found.items():
        if name.endswith(".ipynb"):
            found[name] = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return found


TEXTS = {name: text for name, text in texts().items() if name not in INNER}


def imported(text: str) -> set[str]:
    """Names that a text imports from Unlatch, with the module before them; `@name@` stands for any in a template."""
    found = set()
    for module, names, plain in IMPORT.findall(text):
        words = [item.split("#")[0].split()[:1] for item in names.strip("()").split(",")]
        found |= {f"{module}.{word[0]}" for word in words if word and "@" not in word[0]}
        found |= {plain} if plain else set()
    return found


@cache
def groups() -> set[str]:
    """Groups of entry points, which look like modules."""
    text = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    return {
        group
        for line in re.findall(r"^\| (`unlatch\..*?) \|", text, re.MULTILINE)
        for group in re.findall(r"`(.*?)`", line)
    }


def is_public(path: str) -> bool:
    """Whether a dotted path is a public module, a name of one or an attribute of such a name, or a group."""
    if path in groups() or path == "unlatch":
        return True
    words = path.split(".")
    for size in (2, 1):
        module = ".".join(words[:size])
        if module in PUBLIC:
            rest = words[size:]
            return not rest or rest[0] in importlib.import_module(module).__all__
    return False


@pytest.mark.parametrize("name", PUBLIC)
def test_names_are_there_once(name: str):
    module = importlib.import_module(name)
    assert len(set(module.__all__)) == len(module.__all__)
    assert [missing for missing in module.__all__ if not hasattr(module, missing)] == []


@pytest.mark.parametrize("name", PUBLIC)
def test_the_docstring_of_a_module_has_an_example_with_its_own_names(name: str):
    text = importlib.import_module(name).__doc__ or ""
    found = imported(text)
    assert name in {path.rpartition(".")[0] for path in found} | found
    assert [path for path in found if not is_public(path)] == []


@pytest.mark.parametrize("name", PUBLIC)
def test_a_module_is_on_a_page_and_in_the_navigation(name: str):
    assert f"reference/api/{name}.md" in api_pages(ROOT)
    assert f"reference/api/{name}.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [text for path, text in TEXTS.items() if path.startswith("docs/")]
    assert any(re.search(rf"`{re.escape(name)}[`.]|(from|import) {re.escape(name)}\b", text) for text in pages)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_unlatch_documents_arguments_result_errors_and_an_example(name: str):
    text = getattr(unlatch, name).__doc__
    assert [section for section in ("Args:", "Returns:", "Raises:", "Example:") if section not in text] == []


def test_lazy_names_are_those_that_type_checkers_see():
    tree = ast.parse((ROOT / "unlatch" / "__init__.py").read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    seen: dict[str, list[str]] = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        (alias,) = node.names
        assert alias.asname == alias.name, "type checkers hide it otherwise"
        seen.setdefault(str(node.module), []).append(alias.name)
    assert {module: tuple(names) for module, names in seen.items()} == unlatch._NAMES


def test_an_unknown_name_raises_an_attribute_error():
    with pytest.raises(AttributeError, match="colect"):
        _ = unlatch.colect


def test_no_inner_module_imports_a_public_one():
    found = {f"{name} imports {other}" for name in INNER_MODULES for other in imports(MODULES[name]) if other in PUBLIC}
    of_its_version = {"unlatch.command_table imports unlatch", "unlatch.workflows.cli.installation imports unlatch"}
    assert found == of_its_version


@pytest.mark.parametrize("name", TEXTS)
def test_pages_templates_and_examples_name_public_modules_only(name: str):
    text = TEXTS[name]
    found = imported(text) | set(PATH.findall(text))
    assert sorted(path for path in found if not is_public(path)) == []


def test_what_is_excepted_uses_inner_modules():
    assert [
        name for name in INNER if all(map(is_public, imported(texts()[name]) | set(PATH.findall(texts()[name]))))
    ] == []


def test_an_inner_module_is_found():
    text = (
        "from unlatch.skills.close import (\n    Close,\n)\nimport unlatch.simcore.state\n`unlatch.solver.term_kinds`"
    )
    found = imported(text) | set(PATH.findall(text))
    assert sorted(path for path in found if not is_public(path)) == [
        "unlatch.simcore.state",
        "unlatch.skills.close",
        "unlatch.skills.close.Close",
        "unlatch.solver.term_kinds",
    ]


def test_every_group_of_entry_points_is_on_the_page_of_plugins():
    catalogs = [
        value for module in list(sys.modules.values()) for value in vars(module).values() if isinstance(value, Catalog)
    ]
    assert len(catalogs) > 10
    assert {catalog.group for catalog in catalogs if catalog.group} <= groups() | {None}


def test_no_module_is_longer_than_a_person_reads():
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in MODULES.items()}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_the_navigation_is_in_the_order_of_the_modules():
    assert re.findall(r"reference/api/(unlatch[\w.]*)\.md", str(CONFIG["nav"])) == PUBLIC


def test_no_two_public_classes_have_one_name():
    places = collections.defaultdict(list)
    for path in MODULES.values():
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
