"""Experiments with sweeps: YAML files of the group `experiment` that state the values of a multirun."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from unlatch.configs.config_files import yaml_files
from unlatch.configs.dataclass_reader import wrong_type
from unlatch.configs.overrides import override_key, quote_text
from unlatch.configs.yaml_file import content_of
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.files import read_text

GROUP = "experiment"
KEY = "sweep"
_PACKAGE = "# @package _global_"
_CHOSEN = re.compile(rf"\+{{0,2}}{GROUP}=(?P<names>[^\s]+)\Z")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def sweep_overrides(overrides: Sequence[str], config_dirs: Sequence[str]) -> list[str]:
    """Returns the sweep of the chosen experiment as overrides with comma-separated values: `task=a,b`.

    Keys that the command line sets are left out.

    Raises:
        ConfigError: The `sweep` is not a mapping of lists, its file has no package line, or several experiments are
            chosen.
    """
    chosen = [match["names"] for match in map(_CHOSEN.match, overrides) if match]
    names = chosen[-1].split(",") if chosen else []
    files = yaml_files(GROUP, config_dirs) if names else {}
    given = {override_key(text) for text in overrides}
    axes = {name: _axes_of_file(files[name]) for name in names if name in files}  # composing reports others
    for name, own in axes.items():
        if own and len(names) > 1:
            raise ConfigError(
                f"{GROUP}={chosen[-1]} names several experiments, and {name} is a sweep. Expected it alone. "
                f"Run {GROUP}={name} by itself.",
                key=GROUP,
            )
    return [
        f"{key}=" + ",".join(_format_override(f"{KEY}.{key}[{i}]", value) for i, value in enumerate(values))
        for own in axes.values()
        for key, values in own.items()
        if key not in given
    ]


def _axes_of_file(path: Path) -> dict[str, list[Any]]:
    try:
        text = read_text(path)
        content = yaml.safe_load(text)
    except (OSError, ConfigError, RecursionError, yaml.YAMLError):
        return {}  # the composition reports what is wrong with the file
    if not content_of(text).startswith(_PACKAGE):
        raise ConfigError(f"Expected '{_PACKAGE}' as the very first line of {path}. Put it there.", key=GROUP)
    return read_sweep_axes(content.get(KEY) if isinstance(content, Mapping) else None)


def read_sweep_axes(axes: Any) -> dict[str, list[Any]]:
    """Checks a `sweep`; returns the values of each key.

    Raises:
        ConfigError: It is not a mapping of lists.
    """
    if axes is None:
        return {}
    if not isinstance(axes, Mapping):
        raise wrong_type(KEY, axes, "lists of values by key: {task: [open_drawer, close_drawer]}")
    for key, values in axes.items():
        if not isinstance(values, list) or not values:
            raise wrong_type(f"{KEY}.{key}", values, "a list of values with at least one")
    return {str(key): values for key, values in axes.items()}


def require_multirun(swept: Sequence[str]) -> None:
    """Refuses a single run if `sweep_overrides` of the chosen experiment has returned any.

    Raises:
        ConfigError: The experiment is a sweep.
    """
    if not swept:
        return
    keys = [override_key(text) for text in swept]
    first = swept[0].split(",")[0]
    raise ConfigError(
        f"The experiment sweeps over {' and '.join(keys)}, but this is a single run. Expected -m, which runs every "
        f"combination, or one value, such as {first}. Add one of them.",
        key=f"{KEY}.{keys[0]}",
    )


def check_sweep_values(axes: Mapping[str, Any], overrides: Sequence[str]) -> None:
    """Checks that the overrides of a run have a value for each key of the composed `sweep`.

    Raises:
        ConfigError: A key has no value, because the experiment's own file does not state it.
    """
    given = {override_key(text) for text in overrides}
    for key in read_sweep_axes(axes):
        if key not in given:
            raise ConfigError(
                f"{KEY}.{key} has no effect: the file of the chosen experiment does not state it itself. Expected it "
                "there. Put it there.",
                key=f"{KEY}.{key}",
            )


def _format_override(where: str, value: Any) -> str:
    """Returns a value in the syntax of Hydra's overrides."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list):
        return "[" + ",".join(_format_override(where, item) for item in value) + "]"
    if not isinstance(value, str):
        raise wrong_type(where, value, "a plain value or a list of plain values")
    return value if _PLAIN.match(value) else quote_text(value)
