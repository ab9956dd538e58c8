"""Loads the configurations that a command line asks for, makes its run, shows it on a page if asked, and prints a
summary. Several jobs are those of `sweep_jobs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from rich.box import SIMPLE
from rich.table import Table

from unlatch.configs.overrides import expand_sweep, override_key
from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.files import path_word
from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.cli.terminal import (
    FAILED,
    INTERRUPTED,
    OK,
    CommandLine,
    print_line,
    print_note,
    relative_path,
    result_console,
)
from unlatch.workflows.runs.loading import LoadedConfig, load_config
from unlatch.workflows.runs.progress import Interruption, RunTime, is_telling, pace_of, read_run_times
from unlatch.workflows.runs.run import (
    PICTURE,
    RunDisplay,
    RunRequest,
    RunResult,
    has_picture,
    output_folder,
    run_episodes,
)
from unlatch.workflows.runs.schema import SERIAL, RunCfg
from unlatch.workflows.runs.statistics import CorruptEpisodes, RunStatistics

C = TypeVar("C", bound=EpisodeCfg)
R = TypeVar("R", bound=RunCfg)


def run_job(job: LoadedConfig[R], run: Callable[[R], int], *, place: str) -> int:
    """Runs one job after its notices; after Ctrl-C it says how to go on."""
    for notice in job.notices:
        print_note(notice)
    try:
        code = run(job.cfg)
    except KeyboardInterrupt:  # while no episode was made
        code = INTERRUPTED
    if code == INTERRUPTED:
        print_note(f"unlatch: interrupted{place}; the same command makes what is missing")
    return code


@contextmanager
def live_page(cfgs: Sequence[RunCfg], *, prefix: str, sweep: Path | None) -> Iterator[None]:
    """Serves one page for all jobs of a command if their configurations ask for it, until the block ends.

    A page that ends early is reported at the end; the block goes on.

    Args:
        cfgs: The configurations of the jobs.
        prefix: Beginning of the default folders' names.
        sweep: The folder of the sweep; None: each job has a folder of its own.

    Raises:
        PluginError: viser is not installed.
        ConfigError: The page cannot be served at the given address, or jobs name several addresses.
    """
    shown = [cfg for cfg in cfgs if cfg.live and cfg.live_port is not None]
    if not shown:
        yield
        return
    from unlatch.workflows.viewing.page_server import PageProcess

    host, port = shown[0].live_host, shown[0].live_port
    if any((cfg.live_host, cfg.live_port) != (host, port) for cfg in shown):
        raise ConfigError(
            "Jobs of one multirun have several live_hosts or live_ports. Expected one page for all. Name one.",
            key="live_port",
        )
    folders = [output_folder(cfg, prefix=prefix) for cfg in shown] if sweep is None else [sweep]
    page = PageProcess(
        folders,
        host=host,
        port=port or 0,
        title=", ".join(dict.fromkeys(cfg.task.name for cfg in shown)),
        host_key="live_host",
        port_key="live_port",
    )
    with page:
        taken = f" (port {port} is taken)" if port and page.port != port else ""
        print_note(f"live: {page.url}{taken}")
        try:
            yield
        finally:
            if (reason := page.death()) is not None:
                again = " ".join(path_word(relative_path(folder)) for folder in folders[:3])
                print_note(f"unlatch: the page ended before the run: {reason}; `unlatch watch {again}` shows it again")


ERROR = "error"
"""Failure code of an exception."""
_WITHOUT_PLAN = ("plan_infeasible", "path_infeasible", "motion_blocked")
"""Failure codes of planning."""


def run_and_report(request: RunRequest, *, debug: bool = False, pdb: bool = False) -> int:
    """Makes the missing episodes of a run with a live display and prints a summary.

    Args:
        request: The run.
        debug: Whether the whole traceback of an `error` is printed.
        pdb: Whether the debugger is opened where an episode raises an exception; the run must be serial.

    Returns:
        The exit code: 0; 1 if an attempt ended as `error`, or the run was given up; or 130 after Ctrl-C.
    """
    stopped_by = None if pdb else Interruption()
    on_bug: Callable[[Exception], None] | None = None
    if pdb:
        from unlatch.workflows.cli.debugger import open_debugger as on_bug
    result = run_episodes(request, RunDisplay(not pdb, stopped_by, print_note, on_bug))
    statistics = print_summary(result, debug=debug)
    stop, folder = result.stop, result.data_set.path
    if result.interrupted:
        return INTERRUPTED
    if stop.is_hopeless:
        print_note(f"unlatch: {stop.hopeless_text()}")
    elif stop.wanted is not None and not stop.has_enough:
        print_note(
            f"unlatch: {stop.successes} of successes={stop.wanted} after {stop.attempts} attempts; the key `attempts` "
            "allows no more"
        )
    if n_errors := statistics.codes.get(ERROR):
        print_note(
            f"unlatch: {n_errors} ended as `error`; the same command makes them again once the code has changed, and "
            "with retry=error at once; --debug prints whole tracebacks, --pdb opens a debugger"
        )
    if has_picture(request.cfg):
        print_line(f"picture: {relative_path(folder / PICTURE)}")
    print_line(f"data set: {relative_path(folder)}")
    return FAILED if stop.is_hopeless else exit_code(statistics)


def print_summary(result: RunResult, *, debug: bool = False) -> RunStatistics:
    """Prints the counts of the episodes asked for, and how fast this run made its share; returns the counts.

    `debug` prints the whole traceback of an `error` in place of its last frames.
    """
    corrupt = CorruptEpisodes()
    statistics = result.statistics(corrupt)
    for line in corrupt.lines():
        print_note(f"unlatch: {line}")
    pace = ""
    if result.times is not None:
        pace = f" ({result.times.startup_s:.1f} s start-up)"
        if is_telling(episodes=result.times.episodes, successes=statistics.successes):
            pace += _describe_pace(result.times, read_run_times(result.data_set.path))
    count = f"{statistics.n} of {len(set(result.numbers))} episodes done"
    print_line(f"{count}, {result.made} made in {result.seconds:.1f} s{pace}")
    result_console().print(summary_table(statistics))
    # the most frequent code, and `error`: it is a bug, however rare it is
    for code in [code for index, code in enumerate(statistics.codes) if index == 0 or code == ERROR]:
        for text in _describe_first(code, result.data_set, statistics, debug=debug):
            print_line(text)
    return statistics


def _describe_pace(run: RunTime, runs: Sequence[RunTime]) -> str:
    """Returns the pace of a run; where earlier runs made episodes too, also that of all, which the report has."""
    per_hour, over_all = pace_of([run]).per_hour, pace_of(runs).per_hour
    text = "" if per_hour is None else f", {per_hour:,.0f} an hour"
    count = sum(each.episodes > 0 for each in runs)
    return text if count < 2 or over_all is None else f"{text}; over all {count} runs {over_all:,.0f} an hour"


def _describe_first(code: str, data_set: DataSet, statistics: RunStatistics, *, debug: bool) -> Iterator[str]:
    """Yields why the first attempt with a failure code failed, and the command that shows it."""
    from unlatch.workflows.runs.earlier_code import frames_to_show
    from unlatch.workflows.viewing.episode_files import plan_command

    number = statistics.first[code]
    record = data_set.read(number, arrays=False)
    yield f"first {code}, episode {number}: {record.message}"
    if code == ERROR:
        yield from (str(record.evidence.get("traceback", "")).splitlines() if debug else frames_to_show(record))
    has_moved = any(skill["frame_end"] > skill["frame_start"] for skill in record.skills)
    planned = plan_command(data_set, number) if code in _WITHOUT_PLAN and not has_moved else None
    yield f"look: {planned or f'unlatch phases {path_word(relative_path(data_set.path))} episode={number}'}"


def exit_code(statistics: RunStatistics) -> int:
    """Returns the exit code of a finished run: 1 if an attempt ended as `error`, which shows a bug."""
    return FAILED if statistics.codes.get(ERROR) else OK


def _stages_text(counts: Mapping[str, int]) -> str:
    """Returns `never touched 2, moved 1`, or `none`."""
    return ", ".join(f"{stage.replace('_', ' ')} {count}" for stage, count in counts.items()) or "none"


def summary_table(statistics: RunStatistics) -> Table:
    """Returns the statistics of a run as a table."""
    table = Table(box=SIMPLE, show_header=False, pad_edge=False)
    if statistics.goal is None or statistics.clean is None:
        table.add_row("success", statistics.success_text())
    else:
        table.add_row("goal", f"{statistics.goal}\nThe part is where it should be, and stays.")
        table.add_row("clean", f"{statistics.clean}\nThe same, and no forbidden contact, overload or overspeed.")
        if statistics.share is not None:
            table.add_row("share", f"{statistics.share}\nHow far the part is at the end, as a share of what was asked.")
        table.add_row("came to", _stages_text(statistics.stages))
        table.add_row("violations", f"first one after: {_stages_text(statistics.violations)}")
    if statistics.replanned:
        table.add_row("without replans", statistics.first_attempt_text())
        table.add_row("replans", statistics.replans_text())
    table.add_row("failures", statistics.codes_text())
    table.add_row("median time", statistics.times_text())
    return table


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


def run_jobs(name: str, schema: type[R], line: CommandLine, run: Callable[[R], int], *, prefix: str = "") -> int:
    """Loads what the command line asks for and runs it: one run, or all jobs of a multirun.

    Returns:
        The worst exit code; after Ctrl-C 130, and the jobs that are left are not begun.

    Raises:
        ConfigError: A configuration is wrong, jobs write into one folder, or their launchers cannot be used.
    """
    jobs = load_configs(name, schema, line)
    if line.show:
        print_line("---\n".join(job.yaml for job in jobs).rstrip())
        return OK
    cfg, sweep = jobs[0].cfg, None
    is_sweep = len(jobs) > 1 or cfg.launcher.name != SERIAL or cfg.sweep_dir is not None
    if is_sweep:
        from unlatch.workflows.cli import sweep_jobs

        sweep_jobs.check_launcher([job.cfg for job in jobs], pdb=line.pdb)
    if line.pdb:
        from unlatch.workflows.cli.debugger import make_debuggable

        jobs = [replace(job, cfg=make_debuggable(job.cfg)) for job in jobs]
    if is_sweep:
        sweep = sweep_jobs.place_outputs(jobs, given=line.overrides)
        sweep_jobs.check_outputs_differ([job.cfg for job in jobs], prefix=prefix)
    with live_page([job.cfg for job in jobs], prefix=prefix, sweep=sweep):
        if not is_sweep:
            return run_job(jobs[0], run, place="")
        if sweep is not None and cfg.launcher.name != SERIAL:
            return sweep_jobs.launch_jobs(name, jobs, sweep, config_dirs=line.config_dirs)
        names = sweep_jobs.name_jobs(jobs, given=line.overrides)
        return sweep_jobs.run_one_by_one(jobs, partial(run_job, run=run), names=names, prefix=prefix)
