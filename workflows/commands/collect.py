"""`unlatch collect`: collects episodes of one configuration in a data set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unlatch.simcore.errors import ConfigError
from unlatch.workflows.cli.arguments import FLAGS, CommandLine, parse_command_line
from unlatch.workflows.cli.command import run_command
from unlatch.workflows.cli.console import OK, banner_hidden, print_note
from unlatch.workflows.runs.executors.executor import EpisodeMaker, Outcome
from unlatch.workflows.runs.run import keep_lost, make_data_set, output_folder, run_jobs, writer_name

if TYPE_CHECKING:
    from unlatch.configs.schema import EpisodeCfg
    from unlatch.simcore.recording.data_set.data_set import DataSet
    from unlatch.workflows.runs.schema import CollectCfg

HELP = f"""usage: unlatch collect task=TASK [key=value ...]
       unlatch collect object=PATH skill=open|close|rotate [part=NAME] [key=value ...]

Collects verified demonstrations. Writes every attempt into a data set, with the reason for each failure. The same
command again makes the missing episodes. A folder takes only one configuration; others are refused.

  task=TASK          `unlatch list tasks` lists them
  object=PATH        a URDF, or the folder of one object; skill= derives the task from the kind of part
  robot=franka_panda object=microwave randomization=none|light|full
  episodes=20        episodes 0 to 19
  only=[3,17]        only these episodes
  successes=100      until this many have succeeded, with at most attempts=400 (default: four times as many)
  shard=3/16         every sixteenth episode from the third on; other shards, on any host, can use the same folder
  give_up_after=50   stop if the first 50 attempts all failed; null: never stop
  seed=0             seed of the run
  workers=2          processes; default: one per CPU core
  executor=process   or serial: in this process; executor.episode_timeout_s=600, worker_memory_mb=null,
                     max_retries=2 and recycle_after=null control when a worker is replaced
  out=DIR            default: data/<task>-<robot>-s<seed>
  pictures=4         number of episodes in the picture that is drawn at the end
  render=true        render the successes at the end, as `unlatch render` does: images.cameras=[front,wrist],
                     images.modalities=[rgb,depth], images.name=default

{FLAGS}"""


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return run_command(argv, HELP, lambda arguments: _main(parse_command_line(arguments)))


def _main(line: CommandLine) -> int:
    from unlatch.workflows.runs.schema import CollectCfg

    return run_jobs("collect", CollectCfg, line, lambda cfg: collect(cfg, config_dirs=line.config_dirs))


def collect(cfg: CollectCfg, *, config_dirs: Sequence[str] = ()) -> int:
    """Makes the missing episodes of a run and says what came of it.

    Args:
        cfg: The run.
        config_dirs: Folders of YAML files, for the names of cameras.

    Returns:
        The exit code: 0, 1 if every attempt ended as `error`, or 130 after Ctrl-C.

    Raises:
        SimCoreError: The input is at fault.
    """
    if cfg.render:
        check_images(cfg, config_dirs)
    code = make_data_set(cfg, lambda data_set: CollectJob(cfg, data_set))
    return render_run(cfg, config_dirs) if cfg.render and code == OK else code


def check_images(cfg: CollectCfg, config_dirs: Sequence[str]) -> None:
    """Raises unless the images of a run can be asked for, before it begins.

    Args:
        cfg: The run.
        config_dirs: Folders of YAML files, for the names of cameras.

    Raises:
        SimCoreError: The input is at fault.
    """
    from unlatch.configs.cameras import read_render_settings
    from unlatch.configs.composition import Request
    from unlatch.configs.reading import below
    from unlatch.simcore.sim.renderers.catalog import RENDERERS
    from unlatch.workflows.images.render_config import AUTO

    if cfg.images.renderer != AUTO:
        with banner_hidden():
            from unlatch.simcore.sim.world import World

            with World(cfg.world, visuals=True, renderer=RENDERERS.load(cfg.images.renderer)()):
                pass  # one that does not work here says so, before hours of episodes
    request = Request(config_dirs=list(config_dirs))
    with banner_hidden():
        try:
            read_render_settings(cfg, cfg.images.cameras, randomization=cfg.images.randomization, request=request)
        except ConfigError as exc:  # of `unlatch render`, which has these keys by themselves
            raise below("images", exc, keys=vars(cfg.images)) from exc


def render_run(cfg: CollectCfg, config_dirs: Sequence[str]) -> int:
    """Renders the successes of a run that is there; see `unlatch render`."""
    from unlatch.configs.composition import Request
    from unlatch.simcore.recording.data_set.data_set import DataSet
    from unlatch.workflows.commands.render import render_and_report
    from unlatch.workflows.images.render_config import RenderCfg

    data_set = DataSet.open(output_folder(cfg))
    if not any(item.success for item in data_set.each_summary()):
        print_note("unlatch: nothing is rendered, no episode succeeded")
        return OK
    asked = RenderCfg(**vars(cfg.images), workers=cfg.workers, executor=cfg.executor.name)
    return render_and_report(data_set, asked, Request(config_dirs=list(config_dirs)))


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
        from unlatch.simcore.recording.data_set.data_set import DataSet

        with banner_hidden():
            from unlatch.workflows.runs.runner import EpisodeRunner

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
