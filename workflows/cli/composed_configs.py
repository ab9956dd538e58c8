"""Composes the configurations that a command line asks for. It imports Hydra, which `arguments` does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import TypeVar

from unlatch.configs.derivation.all_parts import name_each_part
from unlatch.configs.experiment import require_multirun, sweep_overrides
from unlatch.configs.overrides import expand_sweep
from unlatch.configs.schema import EpisodeCfg
from unlatch.workflows.cli.command_line import CommandLine
from unlatch.workflows.cli.console import print_line, print_note
from unlatch.workflows.runs.loading import LoadedConfig, load_config

C = TypeVar("C", bound=EpisodeCfg)


def load_configs(primary: str, schema: type[C], line: CommandLine) -> list[LoadedConfig[C]]:
    """Loads what the command line asks for: one configuration, or all of a multirun.

    Raises:
        ConfigError: A configuration is wrong; the message is one line.
    """
    makes_runs = any(item.name == "sweep" for item in fields(schema))
    swept = sweep_overrides(line.overrides, line.config_dirs) if makes_runs else []
    if not line.multirun:
        require_multirun(swept)
    jobs = expand_sweep([*line.overrides, *swept]) if line.multirun else [line.overrides]
    if makes_runs:
        jobs = [job for each in jobs for job in _each_part(primary, schema, each, line)]
    return [load_config(primary, schema, job, config_dirs=line.config_dirs, resolve=line.resolve) for job in jobs]


def _each_part(primary: str, schema: type, job: list[str], line: CommandLine) -> list[list[str]]:
    """Returns a job for each part that `part=all` stands for, and says which parts it leaves out."""
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
