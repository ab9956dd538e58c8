"""The terminal: reads the words of a command, and prints results to stdout and notes to stderr."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from unlatch.command_table import read_help
from unlatch.configs.dataclass_reader import refuse_repeated_keys
from unlatch.simcore.errors import ConfigError, close_matches

OK = 0
FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130

_CONTINUATION_INDENT = 4
"""Spaces that the continuation of a wrapped line is indented by."""


def print_line(text: str = "") -> None:
    """Writes a line of the result to stdout."""
    sys.stdout.write(text + "\n")


def terminal_width() -> int:
    """Returns the columns of the terminal; 0 if stdout is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def print_wrapped(text: str) -> None:
    """Writes a line of the result; wraps it to the terminal and indents its continuation."""
    width = terminal_width()
    if len(text) <= width or not width:
        print_line(text)
        return
    indent = " " * (len(text) - len(text.lstrip()) + _CONTINUATION_INDENT)
    print_line(textwrap.fill(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False))


def print_row(name: str, text: str, *, width: int) -> None:
    """Writes a row of a table with two columns, of which the first has a width; on a terminal, wraps the second one.

    Where names are so long that they leave less than half of the terminal, such as paths, each has a line of its own.
    """
    room = terminal_width()
    line = f"{name:<{width}}  {text}".rstrip()
    if not room or len(line) <= room:
        print_line(line)
    elif width > room // 2:
        print_line(name)
        print_wrapped(f"{'':{_CONTINUATION_INDENT}}{text}")
    else:
        print_line(textwrap.fill(line, room, subsequent_indent=" " * (width + 2), break_on_hyphens=False))


def print_note(text: str) -> None:
    """Writes a line about the run to stderr."""
    sys.stderr.write(text + "\n")


def result_console() -> Console:
    """Returns a console for tables on stdout; 160 columns wide if stdout is not a terminal."""
    console = Console(highlight=False, markup=False, soft_wrap=False)
    return console if console.is_terminal else Console(highlight=False, markup=False, width=160)


def relative_path(path: Path) -> str:
    """Returns a path relative to the current directory if it lies below it, else the path itself."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


_LONG = {"-c": "--cfg", "-cd": "--config-dir", "-r": "--resolve", "-m": "--multirun"}
"""Long forms of short flags."""
_FLAGS = {
    "--cfg": "--cfg job",
    "--resolve": "--resolve",
    "--multirun": "-m",
    "--config-dir": "--config-dir DIR",
    "--debug": "--debug",
    "--pdb": "--pdb",
}
"""How messages name each flag; a command has those that its help text names, and `--debug`."""
_SWITCHES = ("--resolve", "--multirun", "--pdb")
_FLAGS_OF_HYDRA = {
    ("--config-name", "-cn"): ("task=", "A task is chosen with task=NAME."),
    ("--config-path", "-cp"): ("--config-dir", "A folder of your own YAML files is given with --config-dir DIR."),
    ("--info", "-i"): ("--cfg", "The configuration is printed with --cfg job."),
    ("--package", "-p"): ("", "A part of the configuration is printed by `unlatch config TASK`."),
    ("--run",): ("-m", "Without -m, a command does a single run."),
    ("--experimental-rerun",): ("", "`unlatch replay DATA` repeats recorded episodes."),
    ("--shell-completion", "-sc"): ("", "`unlatch completion bash` prints the script that completes words."),
}
"""Flags of programs made with Hydra that Unlatch does not have: a word that must be in the help of the command for the
advice to hold, and the advice."""
_TABLE_KEY = re.compile(r"(?:^ {2,}|; )([a-z][a-z_]*)=", re.MULTILINE)
"""A key in the table of a help text."""
_FLAG_IN_HELP = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
_PAIR = re.compile(r"[+~]{0,2}[A-Za-z_][\w.@\[\]-]*=")
"""The beginning of `key=value`; `./lr=0.1` and `data/lr=0.1` are paths."""


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


def parse_command_line(arguments: Sequence[str], *, command: str = "collect") -> CommandLine:
    """Parses the arguments of a command that composes a configuration.

    Args:
        arguments: The words after the name of the command.
        command: The name of the command; it has the flags that its help text names.

    Raises:
        ConfigError: A flag is unknown or lacks its value, or a key is given twice.
    """
    found = CommandLine()
    rest = list(arguments)
    named = read_help(command) if any(argument.startswith("-") for argument in arguments) else ""
    there = {*_FLAG_IN_HELP.findall(named), "--debug"}
    while rest:
        argument = rest.pop(0)
        if not argument.startswith("-"):
            found.overrides.append(argument)
            continue
        name, equals, value = argument.partition("=")
        flag = _LONG.get(name, name)
        if flag not in _FLAGS or flag not in there or (equals and flag in _SWITCHES):
            own = [text for known, text in _FLAGS.items() if known in there]
            raise ConfigError(
                f"Unknown flag '{argument}'. Expected {', '.join(['key=value', *own])} or --help."
                f"{_describe_flag([argument, *rest], command)}",
                flag=argument,
            )
        if flag in _SWITCHES:
            setattr(found, flag.lstrip("-"), True)
            continue
        if not equals:
            if not rest:
                raise ConfigError(f"Flag {name} lacks its value. Expected {_FLAGS[flag]}. Add it.", flag=name)
            value = rest.pop(0)
        if flag == "--config-dir":
            found.config_dirs.append(value)
        elif value in ("job", "all"):
            found.show = True
        else:
            raise ConfigError(f"Flag {name} is given '{value}'. Expected job. Write --cfg job.", flag=name)
    refuse_repeated_keys(
        found.overrides, advice="Remove one; `unlatch collect -m` and `evaluate -m` take several, as in task=a,b."
    )
    return found


def _describe_flag(words: Sequence[str], command: str) -> str:
    """Returns what to write in place of an unknown flag: `episodes=4` for `--episodes 4`. Empty if nothing is like it.

    Args:
        words: The flag, and the arguments that follow it.
        command: The name of the command.
    """
    name, equals, value = words[0].partition("=")
    for flags, (needed, advice) in _FLAGS_OF_HYDRA.items():
        if name in flags:
            return f" {advice}" if needed in read_help(command) else ""
    if not equals and len(words) > 1 and not is_pair(words[1]) and not words[1].startswith("-"):
        value = words[1]
    key, known = name.lstrip("-").replace("-", "_"), _TABLE_KEY.findall(read_help(command))
    if value and key in known:
        return f" Write {key}={value}, without dashes."
    return close_matches(key, known) if value and name not in _FLAGS else ""


def is_pair(word: str) -> bool:
    """Returns whether an argument is `key=value`, and not a path that has `=` in a name."""
    return _PAIR.match(word) is not None


def split_paths(command: str, arguments: Sequence[str], *, count: int) -> tuple[list[str], list[str]]:
    """Splits the arguments of a data command into paths and `key=value` pairs.

    Raises:
        ConfigError: There are more or fewer paths, or a flag.
    """
    paths, pairs = split_some_paths(command, arguments, least=0)
    if len(paths) != count:
        raise ConfigError(
            f"{command} got {len(paths)} folders ({' '.join(paths) or 'none'}), expected {count}, then key=value."
            f"{_path_among(pairs)} `unlatch {command} --help` shows it."
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
        text = f"Unknown flag '{flags[0]}'. Expected key=value or --help.{_describe_flag(words, command)}"
        raise ConfigError(text, flag=flags[0])
    paths = [argument for argument in arguments if not is_pair(argument)]
    pairs = [argument for argument in arguments if is_pair(argument)]
    if len(paths) < least:
        raise ConfigError(
            f"{command} got {len(paths)} folders ({' '.join(paths) or 'none'}), expected at least {least}, then "
            f"key=value.{_path_among(pairs)} `unlatch {command} --help` shows it."
        )
    return paths, pairs


def _path_among(pairs: Sequence[str]) -> str:
    """Returns how to write a path that was read as `key=value`; empty if there is none."""
    found = next((pair for pair in pairs if Path(pair).exists()), None)
    return f" Write ./{found} for the path." if found else ""
