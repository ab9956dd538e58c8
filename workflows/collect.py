"""`unlatch collect`: many episodes of one configuration into one data set."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workflows.commandline import FLAGS, CommandLine, load_configs, parse_command_line
from workflows.console import INTERRUPTED, OK, banner_hidden, cores, guarded, note, say
from workflows.executors.executor import EpisodeMaker, Outcome
from workflows.versions import IDENTITY, NOTED, versions_of

if TYPE_CHECKING:
    from configs.schema import EpisodeCfg
    from simcore.recording.storage import DataSet
    from workflows.schema import CollectCfg

HELP = f"""usage: unlatch collect task=TASK [key=value ...]

Makes verified demonstrations and writes every attempt, with the reason for each failure, into a data set. The same
command again makes what is missing; another configuration into the same folder is refused.

  task=TASK          `unlatch list tasks` tells which there are
  robot=franka_panda object=microwave randomization=none
  episodes=20        episodes 0 to 19
  only=[3,17]        just these
  seed=0             seed of the run
  workers=2          processes; default: one a CPU core
  executor=process   or serial: in this process
  out=DIR            default: data/<task>-<robot>-s<seed>
  pictures=4         episodes on the picture that is drawn at the end

{FLAGS}"""

PICTURE = "preview.png"
"""Name of the picture in a data set."""


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return guarded(lambda: _main(parse_command_line(argv)))


def _main(line: CommandLine) -> int:
    if line.help:
        say(HELP)
        return OK
    from workflows.schema import CollectCfg

    jobs = load_configs("collect", CollectCfg, line)
    if line.show:
        say("---\n".join(job.yaml for job in jobs).rstrip())
        return OK
    _check_outputs_differ([job.cfg for job in jobs])
    for job in jobs:
        for notice in job.notices:
            note(notice)
        code = collect(job.cfg)
        if code != OK:
            return code
    return OK


def collect(cfg: CollectCfg) -> int:
    """Makes the missing episodes of a run and says what came of it.

    Args:
        cfg: The run.

    Returns:
        The exit code: 0, or 130 after Ctrl-C.

    Raises:
        SimCoreError: The input is at fault.
    """
    from simcore.recording.storage import DataSet
    from workflows.asset_checks import check_assets
    from workflows.executors import EXECUTORS
    from workflows.progress import Progress
    from workflows.summary import print_summary

    folder = output_folder(cfg)
    numbers = cfg.numbers()
    check_assets(cfg, number=numbers[0])
    EXECUTORS.entry(cfg.executor.name)
    workers = min(cfg.workers or cores(), len(numbers))
    interrupted = False
    with DataSet.create_or_resume(folder, header=header_of(cfg), info=_info()) as data_set:
        missing = data_set.missing(numbers)
        started = time.perf_counter()
        if missing:
            executor = EXECUTORS.load(cfg.executor.name)(workers=workers)
            outcomes = executor.run(CollectJob(cfg, data_set), missing)
            with Progress(total=len(numbers), done=len(numbers) - len(missing)) as progress:
                try:
                    for outcome in outcomes:
                        progress.update(outcome)
                except KeyboardInterrupt:
                    interrupted = True
                    outcomes.close()
        made = len(missing) - len(data_set.missing(missing))
        print_summary(data_set, numbers, made=made, seconds=time.perf_counter() - started)
        if interrupted:
            note("unlatch: interrupted; the same command makes the missing episodes")
            return INTERRUPTED
        if cfg.pictures and (made or not (folder / PICTURE).exists()):
            _draw(cfg, data_set, numbers)
        if cfg.pictures:
            say(f"picture: {_shown(folder / PICTURE)}")
        say(f"data set: {_shown(folder)}")
    return OK


def output_folder(cfg: CollectCfg) -> Path:
    """The folder of a run's data set, absolute."""
    name = cfg.out if cfg.out is not None else f"data/{cfg.task.name}-{cfg.robot.name}-s{cfg.seed}"
    return Path(name).expanduser().absolute()


def header_of(cfg: CollectCfg) -> dict[str, Any]:
    """What must be equal for two runs to write into one data set: the episode's configuration and who simulates it."""
    from simcore.recording.json_values import plain
    from workflows.schema import RUN_KEYS

    config = plain(cfg)
    for key in RUN_KEYS:
        del config[key]
    for item in (config["object"], *config["objects"]):
        del item["cache_dir"]  # where copies are kept says nothing about an episode
    return {"config": config, "versions": versions_of(IDENTITY)}


@dataclass(frozen=True)
class CollectJob:
    """Episodes of one configuration, written into one data set; see `Job`."""

    cfg: EpisodeCfg
    """What an episode is made of."""
    data_set: DataSet
    """Where they go."""

    @contextmanager
    def open(self, worker: str) -> Iterator[EpisodeMaker]:
        """See `Job`."""
        from simcore.recording.storage import DataSet

        with banner_hidden():
            from workflows.runner import EpisodeRunner

        with EpisodeRunner(self.cfg) as runner, DataSet.open(self.data_set.path, worker=worker) as data_set:
            runner.warm_up()

            def make_episode(number: int) -> Outcome:
                record = runner.run(number)
                data_set.write(record)
                return Outcome(number, record.success, record.code, dict(record.timings_ms))

            yield make_episode

    def lost(self, number: int, reason: str) -> Outcome:
        """See `Job`."""
        from simcore.recording.episode import EpisodeRecord
        from simcore.rng import episode_seed

        record = EpisodeRecord(
            number=number,
            seed=episode_seed(self.cfg.seed, number),
            success=False,
            code="error",
            evidence={"message": f"Episode {number} was lost: {reason}.", "reason": reason},
        )
        self.data_set.write(record)
        return Outcome(number, False, "error")


def _draw(cfg: CollectCfg, data_set: DataSet, numbers: Sequence[int]) -> None:
    with banner_hidden():
        from workflows.picture import contact_sheet

    contact_sheet(cfg, data_set, numbers, path=data_set.path / PICTURE, rows=cfg.pictures)


def _check_outputs_differ(cfgs: Sequence[CollectCfg]) -> None:
    from simcore.errors import ConfigError

    folders: set[Path] = set()
    for cfg in cfgs:
        folder = output_folder(cfg)
        if folder in folders:
            raise ConfigError(
                f"Two jobs of this multirun write to out={folder}. Expected a folder each. Leave `out` out where task, "
                "robot and seed tell them apart, or use references such as 'out=data/${task.name}-s${seed}'.",
                key="out",
            )
        folders.add(folder)


def _info() -> dict[str, Any]:
    return {
        "command": ["unlatch", *sys.argv[1:]],
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "host": platform.node(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "versions": versions_of(NOTED),
    }


def _shown(path: Path) -> str:
    """A path as short as it can be said from here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
