"""`unlatch collect`: many episodes of one configuration into one data set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workflows.commandline import FLAGS, CommandLine, parse_command_line
from workflows.console import OK, banner_hidden, guarded, say
from workflows.executors.executor import EpisodeMaker, Outcome
from workflows.run import keep_lost, make_data_set, run_jobs, writer_name

if TYPE_CHECKING:
    from configs.schema import EpisodeCfg
    from simcore.recording.storage import DataSet
    from workflows.schema import CollectCfg

HELP = f"""usage: unlatch collect task=TASK [key=value ...]
       unlatch collect object=PATH skill=open|close|rotate [part=NAME] [key=value ...]

Makes verified demonstrations and writes every attempt, with the reason for each failure, into a data set. The same
command again makes what is missing; another configuration into the same folder is refused.

  task=TASK          `unlatch list tasks` tells which there are
  object=PATH        a URDF, or the folder of one object; skill= derives the task from the part's kind
  robot=franka_panda object=microwave randomization=none|light|full
  episodes=20        episodes 0 to 19
  only=[3,17]        just these
  successes=100      until so many have succeeded, attempts=400 at most (four times as many)
  shard=3/16         of these, every sixteenth from the third on: other shards, on any host, into the same folder
  give_up_after=50   stops where so many attempts all failed; null: goes on
  seed=0             seed of the run
  workers=2          processes; default: one a CPU core
  executor=process   or serial: in this process; executor.episode_timeout_s=600, worker_memory_mb=null,
                     max_retries=2 and recycle_after=null say when a worker is replaced
  out=DIR            default: data/<task>-<robot>-s<seed>
  pictures=4         episodes on the picture that is drawn at the end

{FLAGS}"""


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return guarded(lambda: _main(parse_command_line(argv)))


def _main(line: CommandLine) -> int:
    if line.help:
        say(HELP)
        return OK
    from workflows.schema import CollectCfg

    return run_jobs("collect", CollectCfg, line, collect)


def collect(cfg: CollectCfg) -> int:
    """Makes the missing episodes of a run and says what came of it.

    Args:
        cfg: The run.

    Returns:
        The exit code: 0, 1 if every attempt ended as `error`, or 130 after Ctrl-C.

    Raises:
        SimCoreError: The input is at fault.
    """
    return make_data_set(cfg, lambda data_set: CollectJob(cfg, data_set))


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

        with (
            EpisodeRunner(self.cfg) as runner,
            DataSet.open(self.data_set.path, worker=writer_name(worker)) as data_set,
        ):
            runner.warm_up()

            def make_episode(number: int) -> Outcome:
                record = runner.run(number)
                data_set.write(record)
                return Outcome(number, record.success, record.code, dict(record.timings_ms))

            yield make_episode

    def lost(self, number: int, reason: str, *, code: str = "error") -> Outcome:
        """See `Job`."""
        return keep_lost(self.data_set, self.cfg.seed, number, reason, code=code)
