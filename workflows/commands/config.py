"""`unlatch config`: prints a composed configuration with the origin of each value, or compares two."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unlatch.simcore.errors import ConfigError
from unlatch.workflows.cli.arguments import parse_command_line
from unlatch.workflows.cli.command import run_command
from unlatch.workflows.cli.console import OK, print_line

if TYPE_CHECKING:
    from unlatch.configs.composition import Request

HELP = """usage: unlatch config TASK [diff=TASK] [key=value ...] [--config-dir DIR]

Prints the complete configuration of a task as `collect` reads it. Names the origin of each value: a file, the command
line, or `default`.

  diff=TASK      print only the keys in which the other task differs, with both values
  key=value      overrides, as for collect: robot=xarm6 object=oven skill=open

  unlatch config open_drawer robot=xarm6
  unlatch config open_drawer diff=close_drawer
"""
_MOST = 70
"""Longer values begin on a line of their own."""


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return run_command(argv, HELP, _main)


def _main(arguments: list[str]) -> int:
    line = parse_command_line(arguments)
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
    values, request = _composed([*chosen, *rest], line.config_dirs)
    if other:
        common = [text for text in rest if not text.startswith(("task=", "skill=", "part="))]
        others, _ = _composed([f"task={other[0]}", *common], line.config_dirs)
        for text in _difference(values, others):
            print_line(text)
        return OK
    from unlatch.configs.origins import origins_of

    for text in _listed(values, origins_of("collect", request)):
        print_line(text)
    return OK


def _composed(overrides: list[str], config_dirs: list[str]) -> tuple[dict[str, Any], Request]:
    """Values by full key in their order, and what they were composed from."""
    from unlatch.configs.composition import Request, compose_config, to_plain
    from unlatch.configs.derivation.command_line import with_derived
    from unlatch.configs.origins import leaves
    from unlatch.workflows.cli.console import banner_hidden
    from unlatch.workflows.runs.schema import CollectCfg

    with banner_hidden():
        request = with_derived("collect", CollectCfg, Request(overrides, config_dirs))
    plain = to_plain(compose_config("collect", CollectCfg, request))
    return dict(leaves(plain, "", into_lists=True)), request


def _listed(values: Mapping[str, Any], origins: Mapping[str, str]) -> Iterator[str]:
    """A line a value, in blocks of one origin."""
    from unlatch.configs.origins import origin_of

    last = ""
    for key, value in values.items():
        origin = origin_of(key, origins)
        if origin != last:
            yield f"# {origin}"
            last = origin
        yield f"{key}: {_said(value)}"


def _difference(values: Mapping[str, Any], others: Mapping[str, Any]) -> Iterator[str]:
    for key in [*values, *(key for key in others if key not in values)]:
        first, second = (_said(found[key]) if key in found else "-" for found in (values, others))
        if first == second:
            continue
        if len(key) + len(first) + len(second) > _MOST:
            yield f"{key}:\n  {first}\n  {second}"
        else:
            yield f"{key}: {first} | {second}"


def _said(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value)
