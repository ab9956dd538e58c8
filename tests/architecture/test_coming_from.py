"""In the tables of names for users of other systems, every name on our side exists."""

import ast
import csv
import dataclasses
import importlib
import inspect
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from unlatch import command_table, randomization
from unlatch.objects import annotation, validation
from unlatch.robots.catalog import load_robot
from unlatch.simcore.catalogs import ANNOTATORS
from unlatch.simcore.randomization import replicator as node_graph
from unlatch.simcore.recording.keys import KEYS
from unlatch.skills.catalog import SKILLS
from unlatch.solver.setting import CONTACT_NAME, MEANINGS
from unlatch.solver.term_kinds import TERMS
from unlatch.tasks.task import RelationKind
from unlatch.workflows.runs.schema import CollectCfg, EvaluateCfg

ROOT = Path(__file__).resolve().parents[2]
TABLES = sorted((ROOT / "docs" / "coming_from" / "names").glob("*.csv"))
HELP_ONLY = {"unlatch.skills": "skill"}
"""Entry-point groups that tables name, and the catalog's word for an entry."""


def rows(table: Path) -> list[list[str]]:
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def names(table: Path) -> list[str]:
    return sorted({name for _, _, ours, _ in rows(table) for name in ours.split("; ") if name})


def is_key(path: str) -> bool:
    """Whether a path leads to a key of a configuration; entries of lists have the keys of their dataclass."""
    classes: list[type] = [CollectCfg, EvaluateCfg]
    for word in path.split("."):
        found = [hint for cls in classes for key, hint in keys_of(cls) if key == word]
        if not found:
            return False
        classes = [cls for hint in found for cls in dataclasses_in(hint)]
    return True


@cache
def keys_of(cls: type) -> list[tuple[str, Any]]:
    hints = get_type_hints(cls)
    return [(str(item.metadata.get("key", item.name)), hints[item.name]) for item in dataclasses.fields(cls)]


def dataclasses_in(hint: Any) -> list[type]:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return [hint]
    return [inner for argument in get_args(hint) for inner in dataclasses_in(argument)]


def is_python(path: str) -> bool:
    """Whether a path is a module, or what one holds: a class, a function, a method, a field, an attribute."""
    words = path.split(".")
    if words[0] != "unlatch":
        return False
    for size in range(len(words), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(words[:size]))
        except ModuleNotFoundError:
            continue
        for word in words[size:]:
            if not has(found, word):
                return False
            found = getattr(found, word, None)
        return True
    return False


def has(owner: Any, name: str) -> bool:
    """Whether it has an attribute, a field of a dataclass, or one that its methods set."""
    if hasattr(owner, name) or name in getattr(owner, "__dataclass_fields__", {}):
        return True
    return isinstance(owner, type) and any(
        f"self.{name} =" in source_of(base) or f"self.{name}:" in source_of(base)
        for base in owner.__mro__
        if base.__module__.split(".")[0] == "unlatch"
    )


source_of = cache(inspect.getsource)


def is_randomization(path: str) -> bool:
    """`dr.physics_view.randomize_rigid_prim_view(mass)`: a function, and a parameter of it."""
    name, _, parameter = path.removesuffix(")").partition("(")
    found: Any = randomization
    for word in name.removeprefix("dr.").split("."):
        found = getattr(found, word, None)
    return found is not None and (not parameter or parameter in inspect.signature(found).parameters)


def is_command(path: str) -> bool:
    """`unlatch replay mode=state`: a command, and a key of its help."""
    _, command, *rest = path.split()
    if command not in command_table.COMMANDS:
        return False
    text = command_table.read_help(command)
    return all(word in text for word in rest)


def is_parameter(path: str) -> bool:
    """`package.module.function(parameter)`."""
    name, _, parameter = path.removesuffix(")").partition("(")
    module, _, function = name.rpartition(".")
    return parameter in inspect.signature(getattr(importlib.import_module(module), function)).parameters


@cache
def words_of(kind: str) -> set[str]:
    """Names of a kind that are no keys and no Python names."""
    return {
        "annotator": lambda: set(ANNOTATORS.names()),
        "axis": lambda: {*texts_in(validation), "link0_vertical_axis"},
        "keypoint": lambda: {*texts_in(annotation), *load_robot("franka_panda").arms[0].keypoints},
        "meaning": lambda: {CONTACT_NAME, *MEANINGS},
        "node": lambda: texts_in(node_graph),
        "port": lambda: texts_in(node_graph),
        "record": lambda: {spec.pattern for spec in KEYS},
        "relation": lambda: {kind.value for kind in RelationKind},
        "skill": lambda: set(SKILLS.own_names()),
        "term": lambda: set(TERMS.names()),
    }[kind]()


def texts_in(module: Any) -> set[str]:
    """Texts and names of keyword arguments in a module's code."""
    nodes = list(ast.walk(ast.parse(inspect.getsource(module))))
    texts = {str(node.value) for node in nodes if isinstance(node, ast.Constant)}
    return texts | {str(node.arg) for node in nodes if isinstance(node, ast.keyword)}


def exists(name: str) -> bool:
    kind, colon, word = name.partition(": ")
    if colon:
        return word in words_of(kind)
    if name.startswith("unlatch "):
        return is_command(name)
    if name in HELP_ONLY:
        return any(catalog.group == name for catalog in (SKILLS, TERMS))
    if name.startswith("dr."):
        return is_randomization(name)
    if "/" in name:
        return (ROOT / name).exists()
    return is_parameter(name) if name.endswith(")") else is_key(name) or is_python(name)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_every_name_on_our_side_exists(table: Path):
    assert [name for name in names(table) if not exists(name)] == []


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_every_row_is_whole_and_says_why_there_is_nothing(table: Path):
    assert len(rows(table)) > 10
    assert [row for row in rows(table) if len(row) != 4 or not row[0] or not row[1]] == []
    assert [theirs for _, theirs, ours, why in rows(table) if not ours and not why] == []


def test_every_other_system_has_a_table_that_a_page_links_to():
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "coming_from").glob("*.md")]
    assert len(TABLES) == 5
    assert [table.name for table in TABLES if not any(f"(names/{table.name})" in page for page in pages)] == []


def test_what_does_not_exist_is_found():
    wrong = [
        "skills.prat",
        "unlatch.simcore.sim.world.World.stepp",
        "unlatch colect",
        "dr.gate.on_reset",
        "term: point",
    ]
    assert [name for name in wrong if exists(name)] == []
