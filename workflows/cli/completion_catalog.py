"""Collects all words that shells complete: commands, keys, and names of tasks, robots, objects and so on."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_type_hints

from unlatch import command_table
from unlatch.configs.config_files import config_dir, group_names, option_names, plugin_folders
from unlatch.configs.dataclass_reader import split_optional
from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.procedural import catalog
from unlatch.simcore.recording.export.catalog import EXPORTERS
from unlatch.simcore.sim.renderers.catalog import AUTO, RENDERERS
from unlatch.skills.catalog import SKILLS
from unlatch.workflows.runs.schema import CollectCfg, EvaluateCfg, PlanCfg, PreviewCfg

_SCHEMAS: dict[str, type] = {
    "check": EpisodeCfg,
    "collect": CollectCfg,
    "config": EpisodeCfg,
    "evaluate": EvaluateCfg,
    "plan": PlanCfg,
    "preview": PreviewCfg,
}
"""The configuration that each composing command takes."""
_HELP_KEY = re.compile(r"(?<![\w.])([a-z_]+)=([\w|]*)")
_HELP_FLAG = re.compile(r"^ +(?:-\w, )?(--[\w-]+)", re.MULTILINE)
_HELP_WORDS = re.compile(r"usage:unlatch(?:list|completion)\[?([a-z|]+)")
"""The words that follow the two commands which take one of a few, in their help without blanks."""
_BOOLEANS = ["true", "false"]
_DEPTH = 4
"""Dots in the longest key that is completed, less one."""


def make_catalog() -> dict[str, Any]:
    """Returns the words of each command, the values of the groups, and the files that these come from."""
    values = {group: option_names(group) for group in group_names()}
    values |= {"skill": SKILLS.names(), "format": EXPORTERS.names(), "renderer": [AUTO, *RENDERERS.names()]}
    seen: set[type] = set()
    commands = {name: _command_words(name, seen) for name in command_table.COMMANDS}
    commands["config"]["words"] = values["task"]
    return {"commands": commands, "values": values, "sources": _source_paths(seen)}


def _source_paths(classes: set[type]) -> list[str]:
    """Returns files and folders whose change makes the words stale.

    A new file changes the time of its folder. An installed or removed plugin changes the folders of packages.
    """
    configs = config_dir()
    folders = [configs, *configs.glob("*/"), *(folder.path for folder in plugin_folders())]
    helps = Path(command_table.__file__).parent / "workflows" / "commands" / "help"
    code = [
        __file__,
        command_table.__file__,
        catalog.__file__,
        *(inspect.getfile(cls) for cls in classes),
        *map(str, helps.glob("*.txt")),
    ]
    return sorted({*code, *map(str, folders), *(path for path in sys.path if Path(path).is_dir())})


def _command_words(name: str, seen: set[type]) -> dict[str, Any]:
    """Returns the keys, their values and the flags of a command: those of its configuration, then those of its help."""
    text = command_table.read_help(name)
    values = dict(_keys_of(_SCHEMAS[name], seen)) if name in _SCHEMAS else {}
    keys = [*values, *(group for group in group_names() if name in _SCHEMAS)]
    # of a command with a configuration, the rest of the help also names keys inside of its parts
    usage = text.partition("\n\n")[0] if name in _SCHEMAS else text
    keys += [key for key, _ in _HELP_KEY.findall(usage)]
    for key, choice in _HELP_KEY.findall(text):
        if "|" in choice.strip("|"):
            values.setdefault(key, choice.strip("|").split("|"))
        elif choice in _BOOLEANS:
            values.setdefault(key, _BOOLEANS)
    flags = dict.fromkeys(_HELP_FLAG.findall(text))
    named = {key: found for key, found in values.items() if found and key not in group_names()}
    first = _HELP_WORDS.match("".join(text.split()))
    words = first[1].split("|") if first else []
    return {"words": words, "keys": sorted(set(keys)), "values": named, "flags": list(flags)}


def _keys_of(cls: type, seen: set[type], prefix: str = "", depth: int = _DEPTH) -> Iterator[tuple[str, list[str]]]:
    """Yields each key of a configuration, with its values where these are names or booleans."""
    seen.update(base for base in cls.__mro__ if dataclasses.is_dataclass(base))
    hints = get_type_hints(cls)
    for item in dataclasses.fields(cls):
        key = prefix + str(item.metadata.get("key", item.name))
        hint, _ = split_optional(hints[item.name])
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            if depth:
                yield from _keys_of(hint, seen, f"{key}.", depth - 1)
        elif isinstance(hint, type) and issubclass(hint, Enum):
            yield key, [str(member.value) for member in hint]
        else:
            yield key, _BOOLEANS if hint is bool else []
