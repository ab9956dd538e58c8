"""Makes configurations of the arguments of commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import yaml

from unlatch.configs.dataclass_reader import read_dataclass, refuse_repeated_keys, split_optional
from unlatch.simcore.errors import ConfigError, close_matches, unknown_key
from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.cli.terminal import describe_flag, is_pair, parse_command_line

if TYPE_CHECKING:
    from unlatch.configs.composition import Request

T = TypeVar("T")


def read_pairs(schema: type[T], arguments: Sequence[str], *, others: Sequence[str] = ()) -> T:
    """Reads `key=value` arguments of a command that composes no configuration; skips the keys in `others`.

    Raises:
        ConfigError: One cannot be read, is not in the schema, or is given twice.
    """
    refuse_repeated_keys(arguments)
    values: dict[str, Any] = {}
    hints = get_type_hints(schema)
    for argument in arguments:
        key, equals, text = argument.partition("=")
        if not equals or key.startswith("-"):
            raise ConfigError(f"'{argument}' cannot be read. Expected key=value.", argument=argument)
        if key in others:
            continue
        values[key] = text if _is_plain_text(hints.get(key), text) else _read_yaml(argument, text)
    if others:
        _check_keys(schema, list(values), others)
    return read_dataclass(schema, values, where="")


def _is_plain_text(hint: Any, text: str) -> bool:
    """Returns whether the value of a key is the text itself: a folder may be called `1e5`, `a #b` or `[x]`."""
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return split_optional(hint)[0] is str and not is_quoted and text not in ("", "~", "null")


def _read_yaml(argument: str, text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as exc:  # ValueError: a date that does not exist
        problem = " ".join(str(getattr(exc, "problem", None) or exc).split())
        raise ConfigError(
            f"'{argument}' cannot be read: {problem}. Expected a value as in YAML. Put a text with special characters "
            "into quotes, or correct it.",
            argument=argument,
        ) from exc


def _check_keys(schema: type, keys: Sequence[str], others: Sequence[str]) -> None:
    """Raises an error for an unknown key; a key that resembles one of `others` is named first."""
    known = [item.name for item in fields(schema)]
    unknown = [key for key in keys if key not in known]
    for key in sorted(unknown, key=lambda key: not close_matches(key, others)):
        raise unknown_key(key, key, [*others, *known])


def read_camera_arguments(command: str, arguments: Sequence[str], schema: type[T]) -> tuple[DataSet, T, Request]:
    """Reads the folder of a data set, `key=value` pairs, and overrides inside cameras.

    Returns:
        The data set, the options as a `schema`, and the overrides of cameras with folders of YAML files.

    Raises:
        UnlatchError: The arguments are wrong, or the folder is not a data set.
    """
    line = parse_command_line(arguments, command=command)
    (path,), pairs = split_paths(command, line.overrides, exactly=1)
    inside = [pair for pair in pairs if pair.split("=")[0].startswith(("cameras.", "cameras["))]
    cfg = read_pairs(schema, [pair for pair in pairs if pair not in inside])
    from unlatch.configs.composition import Request  # it imports Hydra

    return DataSet.open(path), cfg, Request(inside, line.config_dirs)


def split_own(schema: type, arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Splits arguments into those that set a field of a schema, for `read_pairs`, and the rest."""
    names = [item.name for item in fields(schema)]
    own = [word for word in arguments if word.partition("=")[0] in names]
    return own, [word for word in arguments if word not in own]


def split_words(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Splits arguments into words, such as a name or a path, and the rest: pairs and flags."""
    words = [word for word in arguments if not is_pair(word) and not word.startswith("-")]
    return words, [word for word in arguments if word not in words]


def split_paths(
    command: str, arguments: Sequence[str], *, exactly: int | None = None, least: int = 1
) -> tuple[list[str], list[str]]:
    """Splits the arguments of a data command into `exactly` so many paths, or `least` ones, and `key=value` pairs.

    Raises:
        ConfigError: There are more or fewer paths, or a flag.
    """
    flags = [argument for argument in arguments if argument.startswith("-")]
    if flags:
        words = arguments[list(arguments).index(flags[0]) :]
        text = f"Unknown flag '{flags[0]}'. Expected key=value or --help.{describe_flag(words, command)}"
        raise ConfigError(text, flag=flags[0])
    paths, pairs = split_words(arguments)
    if len(paths) < least if exactly is None else len(paths) != exactly:
        expected = f"at least {least}" if exactly is None else exactly
        path = next((f" Write ./{pair} for the path." for pair in pairs if Path(pair).exists()), "")
        raise ConfigError(
            f"{command} got {len(paths)} folders ({' '.join(paths) or 'none'}), expected {expected}, then key=value."
            f"{path} `unlatch {command} --help` shows it."
        )
    return paths, pairs
