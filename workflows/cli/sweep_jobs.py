"""Runs the jobs of a sweep: one after the other in this process, or with a launcher."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from unlatch.configs.overrides import override_key
from unlatch.simcore.errors import ConfigError, UnlatchError, count_noun, unknown_name
from unlatch.simcore.files import path_word, user_path
from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.cli.terminal import (
    FAILED,
    INTERRUPTED,
    OK,
    print_note,
    relative_path,
    result_console,
)
from unlatch.workflows.runs.data_sets import count_episodes
from unlatch.workflows.runs.loading import LoadedConfig
from unlatch.workflows.runs.run import output_folder
from unlatch.workflows.runs.schema import SERIAL, LauncherCfg, RunCfg
from unlatch.workflows.runs.sweep import (
    LAUNCHERS,
    LOGS,
    SWEEP_KEYS,
    SweepJob,
    default_folder,
    job_name,
    varied_indices,
    write_jobs,
)


def name_jobs(jobs: Sequence[LoadedConfig[Any]], *, given: Sequence[str]) -> list[str]:
    """Returns the overrides of each job that tell it from the others, such as `robot=ur5 seed=1`."""
    overrides = [job.overrides for job in jobs]
    varied = varied_indices(overrides, given=given)
    return [
        " ".join(words[place] for place in varied) or job.cfg.task.name
        for job, words in zip(jobs, overrides, strict=True)
    ]


def run_one_by_one(
    jobs: Sequence[LoadedConfig[Any]], run: Callable[..., int], *, names: Sequence[str], prefix: str
) -> int:
    """Runs jobs in this process, and prints a table of several; returns the worst exit code.

    `run` takes a job, and as `place` which of several it is.
    """
    if len(jobs) == 1:
        return run(jobs[0], place="")
    codes: list[int] = []
    try:
        for number, (job, name) in enumerate(zip(jobs, names, strict=True), 1):
            print_note(f"unlatch: job {number} of {len(jobs)}: {name}")
            codes.append(run(job, place=f" in job {number} of {len(jobs)}"))
            if codes[-1] == INTERRUPTED:
                break
    finally:  # also after an error, which is printed below
        _print_jobs(names, codes, [output_folder(job.cfg, prefix=prefix) for job in jobs])
    return max(codes)


def check_outputs_differ(cfgs: Iterable[RunCfg], *, prefix: str) -> None:
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


def check_launcher(cfgs: Sequence[RunCfg], *, pdb: bool) -> None:
    """Checks the launcher of a multirun; `pdb`: its jobs have a debugger.

    Raises:
        ConfigError: The jobs name several launchers, or an unknown one, or one whose jobs have no debugger.
    """
    first = cfgs[0]
    if any((cfg.launcher, cfg.sweep_dir) != (first.launcher, first.sweep_dir) for cfg in cfgs):
        raise ConfigError("Jobs of one multirun have several launchers or sweep_dirs. Expected one of each. Name one.")
    name = first.launcher.name
    known = [SERIAL, *LAUNCHERS.names()]
    if name not in known:
        raise unknown_name(name, "a launcher", where="launcher.name", known=known)
    if pdb and name != SERIAL:
        raise ConfigError(
            f"--pdb with launcher={name}: jobs in other processes have no debugger. Expected launcher={SERIAL}. Leave "
            "out one of both.",
            flag="--pdb",
        )


def place_outputs(jobs: Sequence[LoadedConfig[Any]], *, given: Sequence[str]) -> Path | None:
    """Sets `out` of every job of a sweep to a folder inside the folder of the sweep, if the sweep has one.

    `given` are the overrides of the command line.

    Returns:
        The folder of the sweep, absolute; None if each job has a default folder.

    Raises:
        ConfigError: `out` is given too.
    """
    cfg = jobs[0].cfg
    if cfg.sweep_dir is None and cfg.launcher.name == SERIAL:
        return None
    if any(job.cfg.out is not None for job in jobs):
        raise ConfigError(
            f"out={cfg.out} is given, but a sweep writes into sweep_dir. Expected one of both. Use sweep_dir.",
            key="out",
        )
    overrides = [job.overrides for job in jobs]
    varied = varied_indices(overrides, given=given)
    folder = user_path(cfg.sweep_dir or default_folder(overrides[0], varied)).absolute()
    for job in jobs:
        name = job_name(job.overrides, varied, default=job.cfg.task.name)
        job.cfg.out = str(folder / name)
    return folder


def launch_jobs(command: str, jobs: Sequence[LoadedConfig[Any]], folder: Path, *, config_dirs: Sequence[str]) -> int:
    """Runs jobs with the launcher that their configuration names.

    Returns:
        The exit code: 0, or 1 if a job failed.

    Raises:
        UnlatchError: The launcher is not installed, or one of its settings is wrong.
    """
    cfg: LauncherCfg = jobs[0].cfg.launcher
    launcher = LAUNCHERS.load(cfg.name)
    launcher.check()
    flags = [word for path in config_dirs for word in ("--config-dir", str(user_path(path).absolute()))]
    todo = [make_sweep_job(command, job, flags) for job in jobs]
    share = cfg.settings.get("n_jobs")
    if share is not None and (type(share) is not int or share == 0):
        raise ConfigError(
            f"launcher.settings.n_jobs={share!r} is not a number of jobs. Expected a whole number, or -1 for one job "
            "per core. Change it.",
            key="launcher.settings.n_jobs",
        )
    if share and all(job.cfg.workers is None for job in jobs):
        at_a_time = min(share, len(todo)) if share > 0 else len(todo)
        from loky import cpu_count

        each = max(1, cpu_count() // at_a_time)
        todo = [replace(job, arguments=(*job.arguments, f"workers={each}")) for job in todo]
    written = write_jobs(folder, todo)
    print_note(
        f"{count_noun(len(todo), 'job')} by {cfg.name}; `unlatch watch {path_word(folder)}` shows them, "
        f"{folder / LOGS} has their output"
    )
    codes = launcher.launch(written, len(todo), cfg.settings, at_once=cfg.jobs_at_once, notify=print_note)
    _print_jobs([job.name for job in todo], codes, [folder / job.name for job in todo], logs=folder / LOGS)
    if failed := sum(code != OK for code in codes):
        print_note(
            f"unlatch: {failed} of {len(codes)} jobs failed. Their finished episodes are kept; the same command makes "
            "the missing ones."
        )
    return OK if all(code == OK for code in codes) else FAILED


def make_sweep_job(command: str, job: LoadedConfig[Any], flags: Sequence[str]) -> SweepJob:
    """Returns a job of a sweep, as the command that makes only this job's data set."""
    own = [word for word in job.overrides if override_key(word).split(".")[0] not in SWEEP_KEYS]
    out = str(job.cfg.out)
    alone = [f"launcher={SERIAL}", "sweep_dir=null"]  # a job is not a sweep, even if its experiment is one
    if job.cfg.live:
        alone.append("live_port=null")  # the sweep has one page for all jobs
    return SweepJob(Path(out).name, (command, *flags, *own, *alone, f"out={out}"))


def _print_jobs(
    names: Sequence[str], codes: Sequence[int], folders: Sequence[Path], *, logs: Path | None = None
) -> None:
    """Prints a table of jobs: what each is, how it ended, its success rate and its data set.

    Args:
        names: The names of the jobs.
        codes: Exit codes of those that have ended, in their order.
        folders: Their data sets; one that does not exist was not begun.
        logs: Folder of the files `<name>.log` with the output of the jobs; None: they have no such files.
    """
    table = Table("job", "exit", "success", "95 % interval", box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("data set", overflow="fold")
    for name, code, folder in zip_longest(names, codes, folders):
        if code is None:
            table.add_row(name, "-", "not run", "", "")
            continue
        log = None if logs is None else logs / f"{name}.log"
        place = relative_path(folder if folder.is_dir() or log is None or not log.exists() else log)
        table.add_row(name, str(code), *_describe_success(folder), place)
    result_console().print(table)


def _describe_success(folder: Path) -> tuple[str, str]:
    """Returns the success rate of a data set, and its interval, as they stand in a table."""
    if not folder.is_dir():
        return "no data set", ""
    try:
        counts = count_episodes(DataSet.open(folder))
    except UnlatchError:
        return "damaged", ""
    low, high = counts.interval
    rate = f"{100.0 * counts.successes / max(counts.n, 1):.1f} %"
    return f"{counts.successes}/{counts.n} = {rate}", f"{100 * low:.1f} to {100 * high:.1f} %"
