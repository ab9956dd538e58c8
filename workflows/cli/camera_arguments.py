"""Reads the command line of `render` and `label`, which look at recorded episodes with cameras."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from unlatch.configs.composition import Request
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command_line import parse_command_line, split_paths

T = TypeVar("T")


def read_camera_arguments(command: str, arguments: Sequence[str], schema: type[T]) -> tuple[DataSet, T, Request]:
    """Reads the folder of a data set, `key=value` pairs, and overrides inside cameras.

    Returns:
        The data set, the options as a `schema`, and the overrides of cameras with folders of YAML files.

    Raises:
        UnlatchError: The arguments are wrong, or the folder is not a data set.
    """
    line = parse_command_line(arguments, command=command)
    (path,), pairs = split_paths(command, line.overrides, count=1)
    inside = [pair for pair in pairs if pair.split("=")[0].startswith(("cameras.", "cameras["))]
    cfg = read_pairs(schema, [pair for pair in pairs if pair not in inside])
    return DataSet.open(path), cfg, Request(inside, line.config_dirs)
