"""`unlatch config`: prints a composed configuration with the origin of each value, or compares two."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from unlatch.configs.composition import Request
from unlatch.configs.derivation.derived_request import derive_request
from unlatch.configs.origins import find_origins, iterate_leaves, origin_of
from unlatch.configs.reading import read_config
from unlatch.simcore.errors import ConfigError
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.command_line import parse_command_line
from unlatch.workflows.cli.console import OK, print_line
from unlatch.workflows.runs.schema import CollectCfg

_MAX_LINE_LENGTH = 70
"""Longer differences are printed on three lines."""


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    line = parse_command_line(arguments, command="config")
    names = [text for text in line.overrides if "=" not in text]
    other = [text.removeprefix("diff=") for text in line.overrides if text.startswith("diff=")]
    rest = [text for text in line.overrides if text not in names and not text.startswith("diff=")]
    own = any(text.startswith(("task=", "skill=")) for text in rest)
    by_experiment = not names and any(text.startswith("experiment=") for text in rest)
    if (len(names) + own != 1 and not by_experiment) or len(other) > 1:
        raise ConfigError(
            f"config got '{' '.join(line.overrides)}', expected one task, then key=value. "
            "`unlatch config --help` shows it."
        )
    chosen = [f"task={name}" for name in names]
    values, request = _compose([*chosen, *rest], line.config_dirs)
    if other:
        common = [text for text in rest if not text.startswith(("task=", "skill=", "part=", "openness="))]
        others, _ = _compose([f"task={other[0]}", *common], line.config_dirs)
        for text in _list_differences(values, others):
            print_line(text)
        return OK
    for text in _list_values(values, find_origins("collect", request)):
        print_line(text)
    return OK


def _compose(overrides: list[str], config_dirs: list[str]) -> tuple[dict[str, Any], Request]:
    """Returns the values by full key in their order, and the request they were composed from.

    Raises:
        ConfigError: A key or a value is wrong, as for `collect`.
    """
    request = derive_request("collect", CollectCfg, Request(overrides, config_dirs))
    _, _, values = read_config("collect", CollectCfg, request)
    return dict(iterate_leaves(values, "", into_lists=True)), request


def _list_values(values: Mapping[str, Any], origins: Mapping[str, str]) -> Iterator[str]:
    """Yields a line for each value, in blocks of one origin."""
    last = ""
    for key, value in values.items():
        origin = origin_of(key, origins)
        if origin != last:
            yield f"# {origin}"
            last = origin
        yield f"{key}: {_format_value(value)}"


def _list_differences(values: Mapping[str, Any], others: Mapping[str, Any]) -> Iterator[str]:
    for key in [*values, *(key for key in others if key not in values)]:
        first, second = (_format_value(found[key]) if key in found else "-" for found in (values, others))
        if first == second:
            continue
        if len(key) + len(first) + len(second) > _MAX_LINE_LENGTH:
            yield f"{key}:\n  {first}\n  {second}"
        else:
            yield f"{key}: {first} | {second}"


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value)
