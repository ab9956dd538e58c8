"""Experiments that are sweeps: YAML files of the group `experiment` that state the values of a multirun."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from unlatch.configs.config_files import yaml_files
from unlatch.configs.dataclass_reader import wrong_type
from unlatch.simcore.errors import ConfigError

GROUP = "experiment"
KEY = "sweep"
_PACKAGE = "# @package _global_"
_CHOSEN = re.compile(rf"\+{{0,2}}{GROUP}=(?P<names>[^\s]+)\Z")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def sweep_overrides(overrides: Sequence[str], config_dirs: Sequence[str]) -> list[str]:
    """What the chosen experiment sweeps over, as overrides with comma-separated values: `task=a,b`.

    What the command line sets, the experiment no longer does.

    Args:
        overrides: Those of the command line.
        config_dirs: Folders of YAML files of the user's own.

    Raises:
        ConfigError: The experiment's `sweep` is not lists of values by key, its file lacks its package, or it is chosen
            beside others.
    """
    chosen = [match["names"] for match in map(_CHOSEN.match, overrides) if match]
    names = chosen[-1].split(",") if chosen else []
    files = yaml_files(GROUP, config_dirs) if names else {}
    given = {_key(text) for text in overrides}
    axes = {name: _axes_of_file(files[name]) for name in names if name in files}  # composing says what is unknown
    for name, own in axes.items():
        if own and len(names) > 1:
            raise ConfigError(
                f"{GROUP}={chosen[-1]} names several experiments, and {name} is a sweep itself. Expected it alone. "
                f"Run {GROUP}={name} by itself.",
                key=GROUP,
            )
    return [
        f"{key}={_values(str(key), values)}" for own in axes.values() for key, values in own.items() if key not in given
    ]


def _axes_of_file(path: Path) -> dict[str, list[Any]]:
    """The `sweep` that the file of an experiment states."""
    try:
        text = path.read_text(encoding="utf-8")
        content = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return {}  # composing says what is wrong with the file
    if not text.startswith(_PACKAGE):
        raise ConfigError(f"Expected '{_PACKAGE}' as the very first line of {path}. Put it there.", key=GROUP)
    return read_sweep_axes(content.get(KEY) if isinstance(content, Mapping) else None)


def read_sweep_axes(axes: Any) -> dict[str, list[Any]]:
    """The values of each key of a `sweep`, checked.

    Raises:
        ConfigError: It is not lists of values by key.
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
    """Refuses one run where the chosen experiment is a sweep.

    Args:
        swept: From `sweep_overrides`.

    Raises:
        ConfigError: There is something to sweep over.
    """
    if not swept:
        return
    keys = [_key(text) for text in swept]
    first = swept[0].split(",")[0]
    raise ConfigError(
        f"The experiment sweeps over {' and '.join(keys)}, and this is one run. Expected -m, which makes every "
        f"combination, or one value, such as {first}. Add one of them.",
        key=f"{KEY}.{keys[0]}",
    )


def check_sweep_values(axes: Mapping[str, Any], overrides: Sequence[str]) -> None:
    """Refuses a run that would take no value of what its experiment sweeps over.

    Args:
        axes: The `sweep` of the composed configuration.
        overrides: Those of this run: of a job of the sweep, with its values.

    Raises:
        ConfigError: A key of the sweep has no value: not the experiment's own file states it.
    """
    given = {_key(text) for text in overrides}
    for key in read_sweep_axes(axes):
        if key not in given:
            raise ConfigError(
                f"{KEY}.{key} has no effect: the file of the chosen experiment does not state it itself. Expected it "
                "there. Put it there.",
                key=f"{KEY}.{key}",
            )


def _key(text: str) -> str:
    return text.partition("=")[0].lstrip("+~")


def _values(key: str, values: Sequence[Any]) -> str:
    return ",".join(_written(f"{KEY}.{key}[{index}]", value) for index, value in enumerate(values))


def _written(where: str, value: Any) -> str:
    """A value as Hydra's overrides have it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list):
        return "[" + ",".join(_written(where, item) for item in value) + "]"
    if not isinstance(value, str):
        raise wrong_type(where, value, "a plain value or a list of such")
    return value if _PLAIN.match(value) else "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
