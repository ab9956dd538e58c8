"""Generates the page of all configuration keys, the tables of keys of the skills, and the page of all commands."""

from __future__ import annotations

import dataclasses
import types
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

from unlatch import command_table
from unlatch.configs.json_schema import field_docs
from unlatch.importers import MeshConverterCfg, UrdfConverterCfg
from unlatch.sensors import SENSORS
from unlatch.skills import SKILLS, SkillCfg
from unlatch.workflows.cli.shell_text import fit_to_width
from unlatch.workflows.runs import schema

COLUMNS = 80
"""Width of a text block on the site."""
HEAD = """# Keys of the configuration

This page lists every key that you can set in a YAML file or on the command line. Each table belongs to one dataclass.
Its texts are the docstrings in the code. Join the keys of nested dataclasses with a dot: `world.solver_iterations`,
`skills.0.part`. `required` means that a key has no default. `unlatch config TASK` shows all values of a task and the
file of each value.
"""


def key_page() -> str:
    """Returns the page of all keys as Markdown, with a table for each dataclass."""
    seen: dict[type, None] = {}
    run = [item for item in vars(schema).values() if isinstance(item, type) and item.__name__.endswith("Cfg")]
    commands = [item for item in run if dataclasses.is_dataclass(item)]
    choices = [SKILLS.load(name).cfg_type for name in SKILLS.own_names()]
    choices += [SENSORS.load(name).cfg_type for name in SENSORS.own_names()]
    for root in (*commands, *choices, MeshConverterCfg, UrdfConverterCfg):
        _collect_dataclasses(root, seen)
    return "\n".join([HEAD, *(_dataclass_section(cls) for cls in sorted(seen, key=lambda cls: cls.__name__))])


def skill_tables() -> str:
    """Returns the keys of an entry of `skills` as Markdown, and a table for each skill that has keys of its own."""
    parts = [f"Keys of every entry:\n\n{_key_table(SkillCfg)}"]
    for name in SKILLS.own_names():
        cls = SKILLS.load(name).cfg_type
        if _own_fields(cls) and cls is not SkillCfg:
            parts.append(f"Further keys of `{name}`:\n\n{_key_table(cls)}")
    return "\n\n".join(parts).replace("](#", "](reference/keys.md#")


def command_page() -> str:
    """Returns the page with the `--help` text of every command as Markdown."""
    parts = ["# Commands\n\nThis page shows what `unlatch COMMAND --help` prints for each command.\n"]
    for name in command_table.COMMANDS:
        parts.append(f"## {name}\n\n```text\n{fit_to_width(command_table.read_help(name).strip(), COLUMNS)}\n```\n")
    return "\n".join(parts)


def _collect_dataclasses(cls: type, seen: dict[type, None]) -> None:
    """Adds a dataclass, its bases and the dataclasses of its fields to `seen`."""
    if cls in seen:
        return
    seen[cls] = None
    for base in cls.__mro__[1:]:
        if dataclasses.is_dataclass(base):
            _collect_dataclasses(base, seen)
    for hint in get_type_hints(cls).values():
        for inner in _dataclasses_in(hint):
            _collect_dataclasses(inner, seen)


def _dataclasses_in(hint: Any) -> list[type]:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return [hint]
    return [inner for argument in get_args(hint) for inner in _dataclasses_in(argument)]


def _dataclass_section(cls: type) -> str:
    bases = [base for base in cls.__mro__[1:] if dataclasses.is_dataclass(base)]
    lines = [f"## {cls.__name__}", "", " ".join((cls.__doc__ or "").split("\n\n")[0].split()), ""]
    if bases:
        lines += [f"Also all keys of {_link_to_section(bases[0])}.", ""]
    if _own_fields(cls):
        lines.append(_key_table(cls))
    return "\n".join(lines) + "\n"


def _own_fields(cls: type) -> list[dataclasses.Field[Any]]:
    """Returns the fields that a dataclass adds to those of its bases."""
    bases = [base for base in cls.__mro__[1:] if dataclasses.is_dataclass(base)]
    inherited = {item.name for base in bases for item in dataclasses.fields(base)}
    return [item for item in dataclasses.fields(cls) if item.init and item.name not in inherited]


def _key_table(cls: type) -> str:
    """Returns the table of the keys that a dataclass adds to those of its bases."""
    hints, words = get_type_hints(cls), field_docs(cls)
    lines = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for item in _own_fields(cls):
        key = item.metadata.get("key", item.name)
        cells = (f"`{key}`", _type_text(hints[item.name]), _default_text(item), words.get(item.name, ""))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def _link_to_section(cls: type) -> str:
    return f"[{cls.__name__}](#{cls.__name__.lower()})"


def _type_text(hint: Any) -> str:
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(_type_text(argument) for argument in get_args(hint))
    if hint is type(None):
        return "null"
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return _link_to_section(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return ", ".join(f"`{member.value}`" for member in hint)
    inner = [argument for argument in get_args(hint) if argument is not ...]
    if get_origin(hint) is dict:
        return f"map of {_type_text(inner[1])}"
    if inner:
        return f"list of {_type_text(inner[0])}"
    return getattr(hint, "__name__", str(hint)).removeprefix("typing.")


def _default_text(item: dataclasses.Field[Any]) -> str:
    if item.default_factory is not dataclasses.MISSING:
        value = item.default_factory()
    elif item.default is dataclasses.MISSING:
        return "required"
    else:
        value = item.default
    if value == "???":
        return "required"
    if dataclasses.is_dataclass(value):
        return ""
    return f"`{_yaml_text(value)}`"


def _yaml_text(value: Any) -> str:
    """Returns a value in the form of YAML."""
    value = value.value if isinstance(value, Enum) else value
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, list) and any(isinstance(item, Enum) for item in value):
        return f"[{', '.join(_yaml_text(item) for item in value)}]"
    return "''" if value == "" else str(value)
