"""A sweep: jobs that differ in a few keys, with one data set each in one folder, and the launchers that run them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from unlatch.configs.config_files import content_of
from unlatch.configs.dataclass_reader import wrong_type
from unlatch.configs.group_files import yaml_files
from unlatch.configs.overrides import override_key, unquote_text, write_value
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.files import read_text, write_whole_file
from unlatch.simcore.registry import Catalog, CatalogEntry

JOBS_FILES = "sweep-*.json"
"""Pattern of the files in a sweep's folder that list the jobs: one for each command, named after its content."""
LOGS = "logs"
"""Name of the folder with the output of the jobs."""
SWEEP_KEYS = ("launcher", "sweep_dir", "out", "live_host", "live_port")
"""Keys of the sweep rather than of a job."""
_UNSAFE = re.compile(r"[^A-Za-z0-9_.+-]+")


@dataclass(frozen=True)
class SweepJob:
    """One job."""

    name: str
    """Name of its data set in the folder of the sweep."""
    arguments: tuple[str, ...]
    """The `unlatch` command that makes it, without the program's name."""


def varied_indices(overrides: Sequence[Sequence[str]], *, given: Sequence[str] = ()) -> list[int]:
    """Returns the indices of the overrides in which jobs differ.

    `part=all`, if it is among the `given` overrides of the command line, counts as varied for a single part, too.
    """
    parts_vary = "part=all" in given
    return [
        place
        for place, values in enumerate(zip(*overrides, strict=True))
        if len(set(values)) > 1 or (parts_vary and values[0].startswith("part="))
    ]


def job_name(overrides: Sequence[str], varied: Sequence[int], *, default: str) -> str:
    """Returns a name made of the values that differ between jobs: `open_drawer-xarm6-seed1`."""
    words = []
    for place in varied:
        key, _, value = overrides[place].partition("=")
        value = unquote_text(value)
        explains_itself = value[:1].isalpha() and "." not in key
        words.append(value if explains_itself else f"{key.lstrip('+~').split('.')[-1]}{value}")
    return _UNSAFE.sub("_", "-".join(words)) or default


def default_folder(overrides: Sequence[str], varied: Sequence[int]) -> str:
    """Returns the default folder of a sweep: `data/sweep-task-robot`."""
    keys = [override_key(overrides[place]).split(".")[-1] for place in varied]
    return f"data/{'-'.join(['sweep', *keys])}"


def write_jobs(folder: Path, jobs: Sequence[SweepJob]) -> Path:
    """Writes the list of jobs, for the processes that run them, possibly on other hosts and much later.

    Every list has a file of its own, so jobs of an earlier command that still wait in a queue keep their list.

    Raises:
        ConfigError: The folder cannot be written.
    """
    entries: list[dict[str, Any]] = [{"name": job.name, "arguments": list(job.arguments)} for job in jobs]
    content = json.dumps(entries, indent=1).encode()
    path = folder / JOBS_FILES.replace("*", hashlib.sha256(content).hexdigest()[:12])
    try:
        (folder / LOGS).mkdir(parents=True, exist_ok=True)
        write_whole_file(path, content)
    except OSError as exc:
        raise ConfigError(
            f"sweep_dir={folder} cannot be written: {exc.strerror or exc}. Expected a folder that you can "
            "write to. Choose another one.",
            key="sweep_dir",
        ) from exc
    return path


def read_job(path: Path, number: int) -> SweepJob:
    """Reads one of the jobs that `write_jobs` wrote."""
    entry = json.loads(path.read_text(encoding="utf-8"))[number]
    return SweepJob(entry["name"], tuple(entry["arguments"]))


GROUP = "experiment"
KEY = "sweep"
_PACKAGE = "# @package _global_"
_CHOSEN = re.compile(rf"\+{{0,2}}{GROUP}=(?P<names>[^\s]+)\Z")


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
        f"{key}={','.join(map(write_value, values))}"
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
        for number, value in enumerate(values):
            if isinstance(value, Mapping):
                raise wrong_type(f"{KEY}.{key}[{number}]", value, "a plain value or a list of plain values")
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


_MODULE = "unlatch.workflows.runs.hydra_launcher"
LAUNCHERS = Catalog(
    "launcher",
    {
        "joblib": CatalogEntry(f"{_MODULE}:JOBLIB", "processes of this machine: extra 'joblib'"),
        "slurm": CatalogEntry(f"{_MODULE}:SLURM", "jobs of a cluster with Slurm: extra 'slurm'"),
        "slurm_local": CatalogEntry(f"{_MODULE}:SLURM_LOCAL", "jobs as for Slurm, on this machine: extra 'slurm'"),
    },
)
"""Hydra's launchers by the name that `launcher.name` uses."""
