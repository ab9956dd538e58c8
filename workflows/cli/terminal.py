"""The terminal: reads the words of a command, and prints results to stdout and notes to stderr."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from rich.console import Console

from unlatch.command_table import read_help
from unlatch.configs.dataclass_reader import refuse_repeated_keys
from unlatch.simcore import process as interrupts
from unlatch.simcore.errors import ConfigError, UnlatchError, close_matches

OK = 0
FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130

MAX_SHOWN = 20
"""Most episodes with a problem that are named one by one."""
_CONTINUATION_INDENT = 4
"""Spaces that the continuation of a wrapped line is indented by."""


def print_line(text: str = "") -> None:
    """Writes a line of the result to stdout."""
    sys.stdout.write(text + "\n")


def print_first(texts: Sequence[str]) -> None:
    """Writes the first texts of a list, one an episode, and how many more there are."""
    for text in texts[:MAX_SHOWN]:
        print_line(text)
    if len(texts) > MAX_SHOWN:
        print_line(f"... and {len(texts) - MAX_SHOWN} more")


def terminal_width(stream: TextIO | None = None) -> int:
    """Returns the columns of the terminal; 0 if the stream, stdout by default, is not a terminal."""
    stream = stream or sys.stdout
    if not stream.isatty():
        return 0
    columns = shutil.get_terminal_size().columns  # of stdout, or as COLUMNS says
    with suppress(OSError, ValueError):
        columns = columns if "COLUMNS" in os.environ else os.get_terminal_size(stream.fileno()).columns
    return columns


def print_wrapped(text: str, stream: TextIO | None = None) -> None:
    """Writes lines of the result, or of another stream; wraps them to the terminal and indents their continuation."""
    stream = stream or sys.stdout
    width = terminal_width(stream)
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()) + _CONTINUATION_INDENT)
        wrapped = textwrap.wrap(
            line, width or sys.maxsize, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        stream.write("\n".join(wrapped if len(line) > width > 0 else [line]) + "\n")


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
    """Writes a line about the run to stderr, wrapped to the terminal."""
    print_wrapped(text, sys.stderr)


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
                f"{describe_flag([argument, *rest], command)}",
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


def describe_flag(words: Sequence[str], command: str) -> str:
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


_FOREIGN_BYTE = re.compile("[\udc80-\udcff]")
DEBUG = "--debug"
"""Flag of every command: whole tracebacks are printed."""


def run_guarded(function: Callable[[], int | None], *, debug: bool = False, usage: str | None = None) -> int:
    """Runs a command; an error of ours becomes one line on stderr.

    If an exception in the code of a user caused it, such as in a plugin that cannot be loaded, its frames there follow.
    Of another exception, the frames in the code of a user are printed: a plugin, such as an exporter or a generator of
    objects, has a bug. If there are none, it is a bug of Unlatch, and the exception is raised.

    Args:
        function: The command; None as its exit code is 0.
        debug: Whether the whole traceback of every exception is printed.
        usage: What `--help` prints in place of a run, of a program that reads its own arguments.

    Returns:
        The exit code: that of the command; after an error of ours the `exit_code` of the error, `BAD_INPUT` if it has
        none; `FAILED` after a bug in the code of a user; `INTERRUPTED` after Ctrl-C.
    """
    if usage is not None and {"-h", "--help"} & set(sys.argv[1:]):
        print_line(usage.strip())
        return OK
    try:
        return function() or OK
    except KeyboardInterrupt:
        return _end_interrupted()
    except BrokenPipeError:
        sys.stderr.close()  # the reader of a pipe is gone; Python would complain about it at exit
        return OK
    except Exception as exc:
        if interrupts.was_pressed() and not debug:  # a library made it of the KeyboardInterrupt
            return _end_interrupted()
        if isinstance(exc, UnicodeEncodeError) and (name := _unreadable_name(exc)):
            exc = ConfigError(
                f"'{name}' has bytes that are no UTF-8, as file names of other systems have. Expected a name in UTF-8. "
                "Rename the file or folder."
            ).with_traceback(exc.__traceback__)
        if isinstance(exc, UnlatchError):
            return _print_error(exc, debug=debug)
        frames = [] if debug else _user_frames(exc)
        if not frames:
            raise
        print_note(f"unlatch: {type(exc).__name__}: {exc}")
        sys.stderr.write("\n".join([*frames, f"{DEBUG} prints the whole traceback\n"]))
        return FAILED


def _unreadable_name(exc: UnicodeEncodeError) -> str:
    """Returns the name of a file that could not be written into a text; empty if the error is about another text.

    Python reads bytes of names that are no UTF-8 as the characters U+DC80 to U+DCFF.
    """
    found = [*(word.partition("=")[2] or word for word in sys.argv), *re.split(r"[\s\"'<>|,&;\0]+", exc.object)]
    words = [word for word in found if _FOREIGN_BYTE.search(word)] if _FOREIGN_BYTE.search(exc.object) else []
    return words[0].encode(errors="surrogateescape").decode(errors="backslashreplace") if words else ""


def _end_interrupted() -> int:
    """Says that Ctrl-C ended the command; returns the exit code."""
    print_note(interrupts.MESSAGE.rstrip())
    return INTERRUPTED


def _print_error(exc: UnlatchError, *, debug: bool) -> int:
    """Prints an error of ours; returns its exit code."""
    cause = exc.__cause__
    is_checked = isinstance(cause, UnlatchError) and cause.__cause__ is None  # a plugin refuses a value: no bug
    frames = [] if cause is None or is_checked or debug else _user_frames(cause)
    if debug:
        sys.stderr.write("".join(traceback.format_exception(exc)).rstrip("\n") + "\n\n")
    code: int = getattr(exc, "exit_code", BAD_INPUT)
    print_note("unlatch: " + (" ".join(exc.message.split()) if code == BAD_INPUT else exc.message))
    sys.stderr.writelines(line + "\n" for line in frames)
    return code


def _user_frames(exc: BaseException) -> list[str]:
    """Returns lines with the last frames of an exception in the code of a user."""
    # imported here: commands that need no run start quickly
    from unlatch.workflows.runs.earlier_code import user_frames_of_plugins

    return user_frames_of_plugins("".join(traceback.format_exception(exc)))


def command(run: Callable[[list[str]], int]) -> Callable[[Sequence[str]], int]:
    """Makes a command of a function of its arguments: the command handles errors, see `run_guarded`, and `--debug`."""
    return run_command(lambda arguments, _debug: run(arguments))


def run_command(run: Callable[[list[str], bool], int]) -> Callable[[Sequence[str]], int]:
    """Makes a command of a function of its arguments without `--debug`, and of whether this flag is given."""

    def main(argv: Sequence[str]) -> int:
        debug = DEBUG in argv
        return run_guarded(lambda: run([word for word in argv if word != DEBUG], debug), debug=debug)

    return main
