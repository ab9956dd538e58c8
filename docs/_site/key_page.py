"""Pages of every key of the configuration and of every command, from the dataclasses and the help texts."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import types
from enum import Enum
from importlib import import_module
from typing import Any, Union, get_args, get_origin, get_type_hints

from unlatch import command_table
from unlatch.configs.json_schema import field_docs
from unlatch.objects.importers.mesh_converter import MeshConverterCfg
from unlatch.objects.importers.urdf_converter import UrdfConverterCfg
from unlatch.simcore.sim.sensors.catalog import SENSORS
from unlatch.skills.catalog import SKILLS
from unlatch.workflows.cli.help_text import fitted
from unlatch.workflows.runs import schema

COLUMNS = 80
"""Of a block on the site that is as wide as a page."""
HEAD = """# Keys of the configuration

Every key that a YAML file or the command line can set, by the dataclass that reads it; made from the docstrings in the
code. A key of a dataclass inside another one is joined with a point: `world.solver_iterations`, `skills.0.part`. Keys
whose default is `required` have no default. `unlatch config TASK` shows all values of one task and the file that each
is from.
"""


def key_page() -> str:
    """Markdown of all keys, a table for each dataclass."""
    seen: dict[type, None] = {}
    run = [item for item in vars(schema).values() if isinstance(item, type) and item.__name__.endswith("Cfg")]
    commands = [item for item in run if dataclasses.is_dataclass(item)]
    choices = [SKILLS.load(name).cfg_type for name in SKILLS.names()]
    choices += [SENSORS.load(name).cfg_type for name in SENSORS.names()]
    for root in (*commands, *choices, MeshConverterCfg, UrdfConverterCfg):
        _collect(root, seen)
    return "\n".join([HEAD, *(_section(cls) for cls in sorted(seen, key=lambda cls: cls.__name__))])


def command_page() -> str:
    """Markdown of what every command's `--help` prints."""
    parts = ["# Commands\n\nWhat `unlatch COMMAND --help` prints.\n"]
    for name, command in command_table.COMMANDS.items():
        module, _, function = command.target.partition(":")
        with contextlib.redirect_stdout(io.StringIO()) as text:
            getattr(import_module(module), function)(["--help"])
        parts.append(f"## {name}\n\n```text\n{fitted(text.getvalue().strip(), COLUMNS)}\n```\n")
    return "\n".join(parts)


def _collect(cls: type, seen: dict[type, None]) -> None:
    """Adds a dataclass, and those of its fields, to those that were seen."""
    if cls in seen:
        return
    seen[cls] = None
    for base in cls.__mro__[1:]:
        if dataclasses.is_dataclass(base):
            _collect(base, seen)
    for hint in get_type_hints(cls).values():
        for inner in _dataclasses_in(hint):
            _collect(inner, seen)


def _dataclasses_in(hint: Any) -> list[type]:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return [hint]
    return [inner for argument in get_args(hint) for inner in _dataclasses_in(argument)]


def _section(cls: type) -> str:
    hints, words = get_type_hints(cls), field_docs(cls)
    bases = [base for base in cls.__mro__[1:] if dataclasses.is_dataclass(base)]
    inherited = {item.name for base in bases for item in dataclasses.fields(base)}
    lines = [f"## {cls.__name__}", "", " ".join((cls.__doc__ or "").split("\n\n")[0].split()), ""]
    if bases:
        lines += [f"Also all keys of {_link(bases[0])}.", ""]
    rows = [item for item in dataclasses.fields(cls) if item.init and item.name not in inherited]
    if rows:
        lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
    for item in rows:
        key = item.metadata.get("key", item.name)
        cells = (f"`{key}`", _type(hints[item.name]), _default(item), words.get(item.name, ""))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _link(cls: type) -> str:
    return f"[{cls.__name__}](#{cls.__name__.lower()})"


def _type(hint: Any) -> str:
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(_type(argument) for argument in get_args(hint))
    if hint is type(None):
        return "null"
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return _link(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return ", ".join(f"`{member.value}`" for member in hint)
    inner = [argument for argument in get_args(hint) if argument is not ...]
    if get_origin(hint) is dict:
        return f"map of {_type(inner[1])}"
    if inner:
        return f"list of {_type(inner[0])}"
    return getattr(hint, "__name__", str(hint)).removeprefix("typing.")


def _default(item: dataclasses.Field[Any]) -> str:
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
    return f"`{_plain(value)}`"


def _plain(value: Any) -> str:
    """A value as YAML has it."""
    value = value.value if isinstance(value, Enum) else value
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return "''" if value == "" else str(value)
