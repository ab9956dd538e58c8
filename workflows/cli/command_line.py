"""Parses the arguments of commands: overrides, flags and paths.

It imports no module of the configuration, so that commands that need none start quickly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from unlatch.configs.repeated_keys import refuse_repeated_keys
from unlatch.simcore.errors import ConfigError

_WITH_VALUE = {"--cfg": "cfg", "-c": "cfg", "--config-dir": "config_dir", "-cd": "config_dir"}
_PDB = "--pdb"
_SWITCHES = {
    "--resolve": "resolve",
    "-r": "resolve",
    "-m": "multirun",
    "--multirun": "multirun",
    _PDB: "pdb",
}

_ONE_VALUE = "Remove one; `unlatch collect -m` and `evaluate -m` take several, as in task=a,b."


@dataclass
class CommandLine:
    """The parsed arguments of one command."""

    overrides: list[str] = field(default_factory=list)
    """Overrides in Hydra's syntax: `key=value`, `+key=value`, `~key`."""
    config_dirs: list[str] = field(default_factory=list)
    """Folders of YAML files of the user's own."""
    show: bool = False
    """Whether to print the configuration only."""
    resolve: bool = False
    """Whether to print it with references resolved."""
    multirun: bool = False
    """Whether comma-separated values are swept over."""
    pdb: bool = False
    """Whether the debugger is opened where an episode, or its planning, raises an exception."""


def parse_command_line(arguments: Sequence[str], *, has_debugger: bool = False) -> CommandLine:
    """Parses the arguments of a command that composes a configuration.

    Args:
        arguments: The words after the name of the command.
        has_debugger: Whether the command knows the flag `--pdb`.

    Raises:
        ConfigError: A flag is unknown or lacks its value, or a key is given twice.
    """
    found = CommandLine()
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if not argument.startswith("-"):
            found.overrides.append(argument)
            continue
        name, equals, value = argument.partition("=")
        if name in _SWITCHES and not equals and (has_debugger or name != _PDB):
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
            known = "--cfg job, --resolve, -m, --config-dir DIR, --debug" + (f", {_PDB}" if has_debugger else "")
            raise ConfigError(
                f"Unknown flag '{argument}'. Expected key=value, {known} or --help.{_describe_key([argument, *rest])}",
                flag=argument,
            )
    refuse_repeated_keys(found.overrides, advice=_ONE_VALUE)
    return found


def _describe_key(words: Sequence[str]) -> str:
    """Returns how a flag with a value is written as a key: `--episodes 4` as `episodes=4`. Empty for a flag alone.

    Args:
        words: The flag, and the arguments that follow it.
    """
    name, equals, value = words[0].partition("=")
    if not equals and len(words) > 1 and "=" not in words[1] and not words[1].startswith("-"):
        value = words[1]
    key = name.lstrip("-").replace("-", "_")
    return f" Write {key}={value}, without dashes." if value and key.isidentifier() else ""


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
        words = arguments[list(arguments).index(flags[0]) :]
        text = f"Unknown flag '{flags[0]}'. Expected key=value or --help.{_describe_key(words)}"
        raise ConfigError(text, flag=flags[0])
    paths = [argument for argument in arguments if "=" not in argument]
    pairs = [argument for argument in arguments if "=" in argument]
    if len(paths) < least:
        raise ConfigError(
            f"{command} got {len(paths)} folders ({' '.join(paths) or 'none'}), expected at least {least}, then "
            f"key=value. `unlatch {command} --help` shows it."
        )
    return paths, pairs
