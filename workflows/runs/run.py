"""One run: episodes of one configuration into one data set, with progress, resume, a summary and a picture."""

from __future__ import annotations

import platform
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from loky import cpu_count

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.library import object_set_of
from unlatch.simcore.recording.json_values import plain
from unlatch.workflows.cli.arguments import CommandLine, load_configs
from unlatch.workflows.cli.console import FAILED, INTERRUPTED, OK, banner_hidden, print_line, print_note, relative_path
from unlatch.workflows.runs.executors.executor import Job, Outcome
from unlatch.workflows.runs.launchers.catalog import SERIAL
from unlatch.workflows.runs.launchers.launching import launch_jobs, launcher_of, place_outputs
from unlatch.workflows.runs.stop_condition import Ending
from unlatch.workflows.runs.versions import IDENTITY, NOTED, versions_of

if TYPE_CHECKING:
    from unlatch.simcore.recording.data_set.data_set import DataSet
    from unlatch.workflows.runs.schema import RunCfg

R = TypeVar("R", bound="RunCfg")

PICTURE = "preview.png"
"""Name of the picture in a data set."""


def make_data_set(
    cfg: RunCfg, make_job: Callable[[DataSet], Job], *, prefix: str = "", of: dict[str, Any] | None = None
) -> int:
    """Makes the missing episodes of a run and says what came of it.

    Args:
        cfg: The run.
        make_job: Makes what is sent to the workers, from the data set.
        prefix: Beginning of the default folder's name.
        of: What makes the episodes, beside their configuration; must be equal on resume.

    Returns:
        The exit code: 0, 1 if every attempt ended as `error`, or 130 after Ctrl-C.

    Raises:
        SimCoreError: The input is at fault.
    """
    from unlatch.simcore.recording.data_set.data_set import DataSet
    from unlatch.workflows.cli.interruption import Interruption
    from unlatch.workflows.cli.progress import Progress
    from unlatch.workflows.episode.asset_checks import check_assets
    from unlatch.workflows.runs.corrupt_episodes import Damaged
    from unlatch.workflows.runs.executors.catalog import EXECUTORS
    from unlatch.workflows.runs.summary import exit_code, print_summary

    folder = output_folder(cfg, prefix=prefix)
    numbers = cfg.numbers()
    check_assets(cfg, number=numbers[0])
    executor_type = EXECUTORS.load(cfg.executor.name)
    workers = cfg.workers or (cpu_count() if executor_type.on_this_host else None)
    executor = executor_type(workers=workers, limits=cfg.executor.limits())
    ending = _ending_of(cfg)
    interruption, at_once = Interruption(), False
    header = {**header_of(cfg), **(of or {})}
    with DataSet.create_or_resume(folder, header=header, info=_info(cfg), worker=writer_name("main")) as data_set:
        for number, problem in data_set.damaged(numbers).items():
            kept = relative_path(data_set.set_aside(number))
            print_note(f"episode {number} is damaged and is made again; kept as {kept}: {problem}")
        missing = data_set.missing(numbers)
        there = len(numbers) - len(missing)
        asked = set(numbers)
        for summary in data_set.each_summary(Damaged().add) if there else ():
            if summary.number in asked:
                ending.count(summary)
        started = time.perf_counter()
        if missing and not (ending.has_enough or ending.is_hopeless):
            numbers_left = interruption.until(ending.until(missing))
            outcomes = executor.run(make_job(data_set), numbers_left, most=len(missing))
            few = ending.wanted is not None
            total, before = (ending.wanted or 0, ending.successes) if few else (len(numbers), there)
            with (
                interruption,
                Progress(total=total, done=before, successes_only=few, interruption=interruption) as progress,
            ):
                try:
                    for outcome in outcomes:
                        ending.count(outcome)
                        progress.update(outcome)
                except KeyboardInterrupt:
                    at_once = True
                    outcomes.close()
        made = len(missing) - len(data_set.missing(missing))
        if ending.wanted is not None:  # what was not begun was not asked for
            numbers = [number for number in numbers if number in data_set]
        statistics = print_summary(data_set, numbers, made=made, seconds=time.perf_counter() - started)
        if at_once or (interruption.asked and made < len(missing) and not ending.has_enough):
            print_note("unlatch: interrupted; the same command makes the missing episodes")
            return INTERRUPTED
        if ending.is_hopeless:
            print_note(f"unlatch: {ending.hopeless_text()}")
        elif ending.wanted is not None and not ending.has_enough:
            print_note(
                f"unlatch: {ending.successes} of successes={ending.wanted} after {ending.attempts} attempts, the most "
                "that attempts allows"
            )
        draws = cfg.pictures and cfg.shard is None  # one picture of the whole set, drawn by who makes the whole
        if draws and (made or not (folder / PICTURE).exists()):
            _draw(cfg, data_set, numbers)
        if draws:
            print_line(f"picture: {relative_path(folder / PICTURE)}")
        print_line(f"data set: {relative_path(folder)}")
    return FAILED if ending.is_hopeless else exit_code(statistics)


def _ending_of(cfg: RunCfg) -> Ending:
    from unlatch.workflows.runs.schema import CollectCfg

    if isinstance(cfg, CollectCfg):
        return Ending(successes=cfg.successes, give_up_after=cfg.give_up_after)
    return Ending()


def output_folder(cfg: RunCfg, *, prefix: str = "") -> Path:
    """The folder of a run's data set, absolute.

    Args:
        cfg: The run.
        prefix: Beginning of the default folder's name.
    """
    name = cfg.out if cfg.out is not None else f"data/{prefix}{cfg.task.name}-{cfg.robot.name}-s{cfg.seed}"
    return Path(name).expanduser().absolute()


def header_of(cfg: EpisodeCfg) -> dict[str, Any]:
    """Returns what must be equal for two runs to write into one data set.

    That is the episode's configuration, the objects that it may draw, and the versions of what simulates it.

    Args:
        cfg: The episode, or a run of such episodes.

    Raises:
        ConfigError, AssetError: There are no objects to draw from.
    """
    config = plain({item.name: getattr(cfg, item.name) for item in fields(EpisodeCfg)})
    for item in (config["object"], *config["objects"]):
        # folders of files may differ: the content of the objects is compared
        del item["cache_dir"]
        item["root"] = None
    config["randomization"] = plain(cfg.randomization.to_dict())
    header = {"config": config, "versions": versions_of(IDENTITY)}
    sets = {name: found for name, item in cfg.all_objects().items() if (found := object_set_of(item))}
    return {**header, "objects": sets} if sets else header


def writer_name(worker: str) -> str:
    """Name of a worker's index, other than that of any on another host: appending is whole within one host only.

    Args:
        worker: Name of the worker, unique in its run.
    """
    host = re.sub(r"[^A-Za-z0-9]+", "-", platform.node().partition(".")[0]).strip("-")[:40] or "host"
    return f"{host}-{worker}"


def keep_lost(data_set: DataSet, run_seed: int, number: int, reason: str, *, code: str = "error") -> Outcome:
    """Keeps a record of an episode whose worker died or was replaced.

    Args:
        data_set: Where it belongs.
        run_seed: Seed of the run.
        number: Episode number.
        reason: How it died, or why it was replaced.
        code: `error`, or `timeout` of an episode that hung.
    """
    from unlatch.simcore.recording.episode import EpisodeRecord
    from unlatch.simcore.rng import episode_seed

    record = EpisodeRecord(
        number=number,
        seed=episode_seed(run_seed, number),
        success=False,
        code=code,
        evidence={"message": f"Episode {number} was lost: {reason}.", "reason": reason},
    )
    data_set.write(record)
    return Outcome(number, False, code)


def _draw(cfg: RunCfg, data_set: DataSet, numbers: Sequence[int]) -> None:
    with banner_hidden():
        from unlatch.workflows.viewing.contact_sheet import contact_sheet

    contact_sheet(cfg, data_set, numbers, path=data_set.path / PICTURE, rows=cfg.pictures)


def run_jobs(name: str, schema: type[R], line: CommandLine, make: Callable[[R], int], *, prefix: str = "") -> int:
    """Composes what the command line asks for and makes it: one run, or all of a multirun.

    Args:
        name: Name of the command's YAML file.
        schema: Dataclass of its configuration.
        line: The arguments.
        make: Makes one run and returns its exit code.
        prefix: Beginning of the default folder's name.

    Returns:
        The worst exit code; after Ctrl-C the runs that are left are not begun.

    Raises:
        SimCoreError: The input is at fault.
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
        worst = max(worst, make(job.cfg))
        if worst == INTERRUPTED:
            break
    return worst


def _check_outputs_differ(cfgs: Iterable[RunCfg], *, prefix: str) -> None:
    """Raises if two runs of a multirun write into one folder.

    Args:
        cfgs: The runs.
        prefix: Beginning of the default folder's name.

    Raises:
        ConfigError: Two of them do.
    """
    from unlatch.simcore.errors import ConfigError

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


def _info(cfg: RunCfg) -> dict[str, Any]:
    roots = {
        name: str(Path(item.root).expanduser().absolute()) for name, item in cfg.all_objects().items() if item.root
    }
    return {
        "command": ["unlatch", *sys.argv[1:]],
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "host": platform.node(),
        "object_roots": roots,
        "platform": platform.platform(),
        "python": platform.python_version(),
        "versions": versions_of(NOTED),
    }
