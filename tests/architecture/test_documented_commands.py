"""Commands that pages name, run or not, are there, and take the keys that stand behind them."""

import dataclasses
import re
from functools import cache
from pathlib import Path

import pytest

from unlatch import command_table
from unlatch.workflows.runs import schema

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
LINE = re.compile(r"(?:^ *|`|&& |')unlatch ([a-z][\w-]*)((?: +(?:\\\n *)?[^`\n#]*)*)", re.MULTILINE)
KEY = re.compile(r"(?<![\w{,'\[.=])([a-z_]+)(?:\.[\w.]+)?=")
GROUPS = {"skill", "part", "openness", "launcher", "executor", "experiment"}
"""Words of the command line that are no keys of a dataclass."""


@cache
def known_keys(command: str) -> set[str]:
    """First words of the keys that a command takes: those of its help, and of configurations."""
    classes = [item for item in vars(schema).values() if dataclasses.is_dataclass(item)]
    fields = {field.name for item in classes for field in dataclasses.fields(item)}
    return {*re.findall(r"\b([a-z_]+)=", command_table.read_help(command)), *fields, *GROUPS}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_and_their_keys_exist(page: Path):
    for command, rest in LINE.findall(page.read_text(encoding="utf-8")):
        assert command in command_table.COMMANDS, command
        assert [key for key in KEY.findall(rest) if key not in known_keys(command)] == [], (command, rest)


def test_a_command_that_does_not_exist_is_found():
    assert LINE.findall("    unlatch colect task=x\n")[0][0] not in command_table.COMMANDS
    assert "taks" not in known_keys("collect")


def test_the_page_of_commands_has_every_command():
    listed = re.findall(
        r"^\| `unlatch ([\w-]+)", (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(listed) == sorted(command_table.COMMANDS)
