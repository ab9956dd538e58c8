"""Reads the arguments of commands: `key=value`, paths, and the flags of commands that compose a configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

import yaml

from unlatch.configs.dataclass_reader import read_dataclass, unknown_key
from unlatch.configs.experiment import require_multirun, sweep_overrides
from unlatch.configs.overrides import expand_sweep
from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.errors import ConfigError, close_matches
from unlatch.workflows.cli.console import print_line, print_note
from unlatch.workflows.runs.loading import LoadedConfig, load_config

T = TypeVar("T")
C = TypeVar("C", bound=EpisodeCfg)

_WITH_VALUE = {"--cfg": "cfg", "-c": "cfg", "--config-dir": "config_dir", "-cd": "config_dir"}
_SWITCHES = {
    "--resolve": "resolve",
    "-r": "resolve",
    "-m": "multirun",
    "--multirun": "multirun",
}


@dataclass
class CommandLine:
    """The parsed arguments of one command."""

    overrides: list[str] = field(default_factory=list)
    """`key=value` and its siblings."""
    config_dirs: list[str] = field(default_factory=list)
    """Folders of YAML files of the user's own."""
    show: bool = False
    """Whether to print the configuration only."""
    resolve: bool = False
    """Whether to print it with references resolved."""
    multirun: bool = False
    """Whether comma-separated values are swept over."""


def parse_command_line(arguments: Sequence[str]) -> CommandLine:
    """Parses the arguments of a command that composes a configuration.

    Raises:
        ConfigError: A flag is unknown or lacks its value.
    """
    found = CommandLine()
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if not argument.startswith("-"):
            found.overrides.append(argument)
            continue
        name, equals, value = argument.partition("=")
        if name in _SWITCHES and not equals:
            setattr(found, _SWITCHES[name], True)
        elif name in _WITH_VALUE:
            if not equals:
                if not rest:
                    raise ConfigError(f"Flag {name} lacks its value. Give it after a space.", flag=name)
                value = rest.pop(0)
            if _WITH_VALUE[name] == "config_dir":
                found.config_dirs.append(value)
            elif value in ("job", "all"):
                found.show = True
            else:
                raise ConfigError(f"Flag {name} is given '{value}'. Expected job. Write --cfg job.", flag=name)
        else:
            raise ConfigError(
                f"Unknown flag '{argument}'. Expected key=value, --cfg job, --resolve, -m, --config-dir DIR or --help.",
                flag=argument,
            )
    return found


def load_configs(primary: str, schema: type[C], line: CommandLine) -> list[LoadedConfig[C]]:
    """Loads what the command line asks for: one configuration, or all of a multirun.

    Raises:
        ConfigError: A configuration is wrong; the message is one line.
    """
    makes_runs = any(item.name == "sweep" for item in fields(schema))
    swept = sweep_overrides(line.overrides, line.config_dirs) if makes_runs else []
    if not line.multirun:
        require_multirun(swept)
    jobs = expand_sweep([*line.overrides, *swept]) if line.multirun else [line.overrides]
    return [load_config(primary, schema, job, config_dirs=line.config_dirs, resolve=line.resolve) for job in jobs]


def configs_to_run(primary: str, schema: type[C], line: CommandLine) -> Iterator[C]:
    """Yields the configurations to run after their notices; with `--cfg` prints them and yields none."""
    for job in load_configs(primary, schema, line):
        if line.show:
            print_line(job.yaml.rstrip())
            continue
        for notice in job.notices:
            print_note(notice)
        yield job.cfg


def split_paths(command: str, arguments: Sequence[str], *, count: int) -> tuple[list[str], list[str]]:
    """Splits the arguments of a data command into paths and `key=value` pairs.

    Raises:
        ConfigError: There are more or fewer paths, or a flag.
    """
    paths, pairs = split_some_paths(command, arguments, least=0)
    if len(paths) != count:
        raise ConfigError(
            f"{command} got {len(paths)} folders ({' '.join(paths) or 'none'}), expected {count}, then key=value. "
            f"`unlatch {command} --help` shows it."
        )
    return paths, pairs


def split_some_paths(command: str, arguments: Sequence[str], *, least: int = 1) -> tuple[list[str], list[str]]:
    """Splits the arguments of a data command that takes any number of paths into paths and `key=value` pairs.

    Raises:
        ConfigError: There are fewer paths, or a flag.
    """
    flags = [argument for argument in arguments if argument.startswith("-")]
    if flags:
        raise ConfigError(f"Unknown flag '{flags[0]}'. Expected key=value or --help.", flag=flags[0])
    paths = [argument for argument in arguments if "=" not in argument]
    pairs = [argument for argument in arguments if "=" in argument]
    if len(paths) < least:
        raise ConfigError(
            f"{command} got {len(paths)} folders ({' '.join(paths) or 'none'}), expected at least {least}, then "
            f"key=value. `unlatch {command} --help` shows it."
        )
    return paths, pairs


def read_pairs(schema: type[T], arguments: Sequence[str], *, others: Sequence[str] = ()) -> T:
    """Reads `key=value` arguments of a command that composes no configuration; skips the keys in `others`.

    Raises:
        ConfigError: One cannot be read, or is not in the schema.
    """
    values: dict[str, Any] = {}
    for argument in arguments:
        key, equals, text = argument.partition("=")
        if not equals or key.startswith("-"):
            raise ConfigError(f"'{argument}' cannot be read. Expected key=value.", argument=argument)
        if key in others:
            continue
        try:
            values[key] = yaml.safe_load(text)
        except yaml.YAMLError as exc:
            raise ConfigError(f"'{argument}' cannot be read: {' '.join(str(exc).split())}.", argument=argument) from exc
    if others:
        _check_keys(schema, list(values), others)
    return read_dataclass(schema, values, where="")


def _check_keys(schema: type, keys: Sequence[str], others: Sequence[str]) -> None:
    """Raises an error for an unknown key; a key that resembles one of `others` is named first."""
    known = [item.name for item in fields(schema)]
    unknown = [key for key in keys if key not in known]
    for key in sorted(unknown, key=lambda key: not close_matches(key, others)):
        raise unknown_key(key, key, [*others, *known])
