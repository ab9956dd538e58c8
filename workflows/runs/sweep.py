"""A sweep: jobs that differ in a few keys, with one data set each in one folder, and the launchers that run them
by name.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unlatch.configs.overrides import override_key, unquote_text
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.files import write_whole_file
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


SERIAL = "serial"
"""Value of `launcher.name` without a launcher: this process runs the jobs."""
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
