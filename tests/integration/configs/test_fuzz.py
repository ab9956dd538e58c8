"""Mutated task files: each is refused in one line or read, never a traceback, and what was changed is never ignored.

UNLATCH_FUZZ=2000 makes so many; without it, a few.
"""

import copy
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from unlatch.configs.group_files import yaml_files
from unlatch.simcore.errors import UnlatchError
from unlatch.workflows.cli.run_report import load_configs
from unlatch.workflows.cli.terminal import CommandLine
from unlatch.workflows.runs.schema import CollectCfg

pytestmark = [pytest.mark.heavy, pytest.mark.slow]

COUNT = int(os.environ.get("UNLATCH_FUZZ", "20"))
SEED = 977
"""What `${seed}` becomes: no value that a task has, so that it changes what it replaces."""
HEADER = "# @package _global_\n"
VALUES = [None, True, -1, 0, 3, 1e9, -0.5, math.nan, math.inf, "", "nonsense", [], [1, 2], {}, {"a": 1}, "${seed}", "1"]
UNCHANGED: dict[str, str] = {}
"""Configurations of the files as they are, by task."""
Place = tuple[Any, Any]
"""A mapping or list, and a key or index of it."""


def places(node: Any) -> Iterator[Place]:
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        if key not in ("defaults", "where"):  # parameters of objects are checked with the objects
            yield node, key
            yield from places(value)


def mutated(content: dict[str, Any], rng: np.random.Generator) -> tuple[dict[str, Any], str, bool]:
    """A changed copy, what was changed, and whether it must be refused."""
    changed = copy.deepcopy(content)
    found = list(places(changed))
    node, key = found[int(rng.integers(len(found)))]
    kind = str(rng.choice(["value", "value", "value", "delete", "rename", "add"]))
    if kind == "delete":
        del node[key]
        return changed, f"without {key}", False
    if kind == "rename" and isinstance(node, dict):
        node[f"{key}x"] = node.pop(key)
        return changed, f"{key} renamed", True
    if kind == "add" and isinstance(node, dict):
        node["not_a_key"] = 1
        return changed, f"a key beside {key}", True
    value = VALUES[int(rng.integers(len(VALUES)))]
    node[key] = value
    return changed, f"{key}={value!r}", False


def read(folder: Path, content: dict[str, Any]) -> tuple[str, str | None]:
    """The configuration of a task file's content, and why it is refused, where it is."""
    (folder / "task").mkdir(exist_ok=True)
    (folder / "task" / "fuzzed.yaml").write_text(HEADER + yaml.safe_dump(content, sort_keys=False))
    line = CommandLine(["task=fuzzed", f"seed={SEED}"], [str(folder)], resolve=True)
    try:
        (loaded,) = load_configs("collect", CollectCfg, line)
    except UnlatchError as exc:
        return "", exc.message
    return repr(loaded.cfg), None


@pytest.mark.parametrize("number", range(COUNT))
def test_a_mutated_task_is_refused_in_one_line_or_read(number: int, tmp_path: Path):
    rng = np.random.default_rng([12, number])
    names = list(yaml_files("task"))
    name = names[int(rng.integers(len(names)))]
    content = yaml.safe_load(yaml_files("task")[name].read_text())
    changed, what, refused = mutated(content, rng)
    if name not in UNCHANGED:
        UNCHANGED[name], _ = read(tmp_path, content)
    before = UNCHANGED[name]
    after, message = read(tmp_path, changed)
    if message is not None:
        assert "\n" not in message, (what, message)
        assert len(message) > 20, (what, message)
        return
    assert not refused, f"{what} was read without a word"
    same = changed == content
    assert same or after != before or what.startswith("without"), f"{what} changes nothing"
