"""Runs a command that fills data sets: one run, or all jobs of a multirun."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from unlatch.simcore.errors import ConfigError
from unlatch.workflows.cli.arguments import CommandLine, load_configs
from unlatch.workflows.cli.console import INTERRUPTED, OK, print_line, print_note
from unlatch.workflows.cli.launching import launch_jobs, launcher_of, place_outputs
from unlatch.workflows.runs.launchers.catalog import SERIAL
from unlatch.workflows.runs.run import output_folder
from unlatch.workflows.runs.schema import RunCfg

R = TypeVar("R", bound=RunCfg)


def run_jobs(name: str, schema: type[R], line: CommandLine, run: Callable[[R], int], *, prefix: str = "") -> int:
    """Loads what the command line asks for and runs it: one run, or all jobs of a multirun.

    Returns:
        The worst exit code; after Ctrl-C the jobs that are left are not begun.

    Raises:
        SimCoreError: The input is wrong.
    """
    jobs = load_configs(name, schema, line)
    if line.show:
        print_line("---\n".join(job.yaml for job in jobs).rstrip())
        return OK
    launcher = launcher_of([job.cfg for job in jobs])
    sweep = place_outputs(jobs)
    _check_outputs_differ([job.cfg for job in jobs], prefix=prefix)
    if sweep is not None and launcher.name != SERIAL:
        return launch_jobs(name, jobs, sweep, config_dirs=line.config_dirs)
    worst = OK
    for job in jobs:
        for notice in job.notices:
            print_note(notice)
        worst = max(worst, run(job.cfg))
        if worst == INTERRUPTED:
            break
    return worst


def _check_outputs_differ(cfgs: Iterable[RunCfg], *, prefix: str) -> None:
    """Raises an error if two jobs of a multirun write into one folder."""
    folders: set[Path] = set()
    for cfg in cfgs:
        folder = output_folder(cfg, prefix=prefix)
        if folder in folders:
            raise ConfigError(
                f"Two jobs of this multirun write to out={folder}. Expected a folder each. Leave `out` out where task, "
                "robot and seed tell them apart, or use references such as 'out=data/${task.name}-s${seed}'.",
                key="out",
            )
        folders.add(folder)
