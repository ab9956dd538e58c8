"""The command line of commands that look at recorded episodes with cameras: `render` and `label`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from unlatch.workflows.cli.console import OK, guarded
from unlatch.workflows.cli.help_text import say_help

if TYPE_CHECKING:
    from unlatch.configs.composition import Request
    from unlatch.simcore.recording.data_set.data_set import DataSet

T = TypeVar("T")


def camera_command(
    word: str, argv: Sequence[str], help_text: str, schema: type[T], act: Callable[[DataSet, T, Request], int]
) -> int:
    """Reads one data set, `key=value` pairs and overrides inside cameras, and acts; returns the exit code.

    Args:
        word: The command.
        argv: Its arguments.
        help_text: What `--help` says.
        schema: Dataclass of what it takes.
        act: What it does with the data set, its configuration, and overrides of cameras with folders of YAML files.
    """
    return guarded(lambda: _main(word, argv, help_text, schema, act))


def _main(
    word: str, argv: Sequence[str], help_text: str, schema: type[T], act: Callable[[DataSet, T, Request], int]
) -> int:
    from unlatch.configs.composition import Request
    from unlatch.simcore.recording.data_set.data_set import DataSet
    from unlatch.workflows.cli.arguments import parse_command_line, read_pairs, split_paths

    line = parse_command_line(argv)
    if line.help:
        say_help(help_text)
        return OK
    (path,), pairs = split_paths(word, line.overrides, count=1)
    inside = [pair for pair in pairs if pair.split("=")[0].startswith(("cameras.", "cameras["))]
    cfg = read_pairs(schema, [pair for pair in pairs if pair not in inside])
    return act(DataSet.open(path), cfg, Request(inside, line.config_dirs))
