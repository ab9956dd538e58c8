"""Loads the configurations that a command line asks for, and makes its run; several jobs are those of `sweep_jobs`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import TypeVar

from unlatch.configs.overrides import expand_sweep, override_key
from unlatch.configs.schema import EpisodeCfg
from unlatch.workflows.cli.run_report import live_page, make_debuggable, run_job
from unlatch.workflows.cli.terminal import OK, CommandLine, print_line, print_note
from unlatch.workflows.runs.loading import LoadedConfig, load_config
from unlatch.workflows.runs.schema import SERIAL, RunCfg

C = TypeVar("C", bound=EpisodeCfg)


def load_configs(primary: str, schema: type[C], line: CommandLine) -> list[LoadedConfig[C]]:
    """Loads what the command line asks for: one configuration, or all of a multirun.

    Raises:
        ConfigError: A configuration is wrong; the message is one line.
    """
    makes_runs = any(item.name == "sweep" for item in fields(schema))
    swept = _sweep_of_experiment(line) if makes_runs else []
    jobs = expand_sweep([*line.overrides, *swept]) if line.multirun else [line.overrides]
    if makes_runs:
        jobs = [job for each in jobs for job in _each_part(primary, schema, each, line)]
    return [load_config(primary, schema, job, config_dirs=line.config_dirs, resolve=line.resolve) for job in jobs]


def _sweep_of_experiment(line: CommandLine) -> list[str]:
    """Returns the overrides of the experiment that is chosen, if it is a sweep, which needs `-m`."""
    if all(override_key(text) != "experiment" for text in line.overrides):
        return []
    from unlatch.workflows.runs.sweep import require_multirun, sweep_overrides

    swept = sweep_overrides(line.overrides, line.config_dirs)
    if not line.multirun:
        require_multirun(swept)
    return swept


def _each_part(primary: str, schema: type, job: list[str], line: CommandLine) -> list[list[str]]:
    """Returns a job for each part that `part=all` stands for, and says which parts it leaves out."""
    if all(override_key(text) != "part" for text in job):
        return [job]
    from unlatch.configs.derived_request import name_each_part

    jobs, left_out = name_each_part(primary, schema, job, line.config_dirs)
    for name, reason in left_out.items():
        print_note(f"part '{name}' is left out: {reason}")
    return jobs


def configs_to_run(primary: str, schema: type[C], line: CommandLine) -> Iterator[C]:
    """Yields the configurations to run after their notices; with `--cfg` prints them and yields none."""
    for job in load_configs(primary, schema, line):
        if line.show:
            print_line(job.yaml.rstrip())
            continue
        for notice in job.notices:
            print_note(notice)
        yield job.cfg


R = TypeVar("R", bound=RunCfg)


def run_jobs(name: str, schema: type[R], line: CommandLine, run: Callable[[R], int], *, prefix: str = "") -> int:
    """Loads what the command line asks for and runs it: one run, or all jobs of a multirun.

    Returns:
        The worst exit code; after Ctrl-C 130, and the jobs that are left are not begun.
    """
    jobs = load_configs(name, schema, line)
    if line.show:
        print_line("---\n".join(job.yaml for job in jobs).rstrip())
        return OK
    cfg = jobs[0].cfg
    if len(jobs) > 1 or cfg.launcher.name != SERIAL or cfg.sweep_dir is not None:
        from unlatch.workflows.cli.sweep_jobs import run_sweep

        return run_sweep(name, jobs, line, run, prefix=prefix)
    if line.pdb:
        jobs = [replace(jobs[0], cfg=make_debuggable(cfg))]
    with live_page([cfg], prefix=prefix, sweep=None):
        return run_job(jobs[0], run, place="")
