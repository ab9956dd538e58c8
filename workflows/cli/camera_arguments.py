"""The command line of commands that look at recorded episodes with cameras: `render` and `label`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from unlatch.configs.composition import Request
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.cli.arguments import parse_command_line, read_pairs, split_paths
from unlatch.workflows.cli.command import command

T = TypeVar("T")


def camera_command(word: str, argv: Sequence[str], schema: type[T], act: Callable[[DataSet, T, Request], int]) -> int:
    """Reads one data set, `key=value` pairs and overrides inside cameras, and acts; returns the exit code.

    Args:
        word: The command.
        argv: Its arguments.
        schema: Dataclass of what it takes.
        act: Takes the data set, the configuration, and overrides of cameras with folders of YAML files.
    """

    @command
    def run(arguments: list[str]) -> int:
        line = parse_command_line(arguments)
        (path,), pairs = split_paths(word, line.overrides, count=1)
        inside = [pair for pair in pairs if pair.split("=")[0].startswith(("cameras.", "cameras["))]
        cfg = read_pairs(schema, [pair for pair in pairs if pair not in inside])
        return act(DataSet.open(path), cfg, Request(inside, line.config_dirs))

    return run(argv)
