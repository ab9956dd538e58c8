"""Every block of code on a page is fenced and says what it is, so that none is passed over where blocks are run."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from unlatch.configs.json_schema import task_schema

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = (
    "README.md",
    "CONTRIBUTING.md",
    "THIRD_PARTY.md",
    "examples/README.md",
    "examples/notebooks/README.md",
    "examples/unlatch_plugin/README.md",
)
PAGES = sorted([*(ROOT / name for name in OUTSIDE), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^ *```(\w*)$\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# [\w./-]+\.yaml\n")
"""The line that names a block's file, as in `tests/e2e/test_readme.py`."""
RUN = {"bash", "python", "toml", "yaml"}
NOT_RUN = {"sh", "text"}
"""What needs a cluster, an installation or a file of the reader's; and what is printed."""


def indented(text: str) -> list[str]:
    """First lines of blocks that are code by their indent alone, outside of lists."""
    text = FENCE.sub("", text)
    return re.findall(r"(?:^|\n)(?![ ]*(?:[-*]|\d+\.) )[^\n ][^\n]*\n\n(    \S[^\n]*)", text)


def parts_of_tasks(text: str) -> list[Any]:
    """YAML that is part of a task: of blocks that name no file of their own."""
    found = [body for language, body in FENCE.findall(text) if language == "yaml"]
    return [yaml.safe_load(body) for body in found if not FILE.match(body.split("\n", 1)[1])]


@cache
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(task_schema())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_are_fenced_and_say_what_they_are(page: Path):
    text = page.read_text(encoding="utf-8")
    assert indented(text) == []
    assert {language for language, _ in FENCE.findall(text)} <= RUN | NOT_RUN


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_parts_of_tasks_have_keys_that_exist(page: Path):
    for part in parts_of_tasks(page.read_text(encoding="utf-8")):
        assert [error.message for error in validator().iter_errors(part)] == []


def test_what_is_wrong_is_found():
    assert indented("Like this:\n\n    unlatch collect\n\nand so on.") == ["    unlatch collect"]
    assert indented("1. Like this:\n\n    more of the item") == []
    (part,) = parts_of_tasks("```yaml\nskills:\n  - {name: open, objets: [drawer]}\n```\n")
    assert any("objets" in error.message for error in validator().iter_errors(part))
