"""`unlatch collect`: collects episodes of one configuration in a data set."""

from __future__ import annotations

from collections.abc import Sequence

from unlatch.configs.cameras import read_render_settings
from unlatch.configs.composition import Request
from unlatch.configs.dataclass_reader import prefix_error_keys
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.sim.renderers.catalog import RENDERERS
from unlatch.simcore.sim.world import World
from unlatch.workflows.cli.arguments import FLAGS, CommandLine, parse_command_line
from unlatch.workflows.cli.command import run_command
from unlatch.workflows.cli.console import OK, print_note
from unlatch.workflows.cli.multirun import run_jobs
from unlatch.workflows.cli.run_report import run_and_report
from unlatch.workflows.commands.render import render_and_report
from unlatch.workflows.images.render_config import AUTO, RenderCfg
from unlatch.workflows.runs.collect import CollectJob
from unlatch.workflows.runs.run import output_folder
from unlatch.workflows.runs.schema import CollectCfg

HELP = f"""usage: unlatch collect task=TASK [key=value ...]
       unlatch collect object=PATH skill=open|close|rotate [part=NAME] [key=value ...]

Collects verified demonstrations. Writes every attempt into a data set, with the reason for each failure. The same
command again makes the missing episodes. A data set has one configuration; another one is refused.

  task=TASK          `unlatch list tasks` lists them
  object=PATH        a URDF, or the folder of one object; skill= derives the task from the kind of part
  robot=franka_panda object=microwave randomization=none|light|full
  episodes=20        episodes 0 to 19
  only=[3,17]        only these episodes
  successes=100      stop after 100 successes, with at most attempts=400 (default: four times as many)
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
    return run_jobs("collect", CollectCfg, line, lambda cfg: collect_and_report(cfg, config_dirs=line.config_dirs))


def collect_and_report(cfg: CollectCfg, *, config_dirs: Sequence[str] = ()) -> int:
    """Makes the missing episodes of a run, prints a summary, and renders the successes if asked for.

    Args:
        cfg: The run.
        config_dirs: Folders of YAML files, for the names of cameras.

    Returns:
        The exit code: 0, 1 if every attempt ended as `error`, or 130 after Ctrl-C.

    Raises:
        SimCoreError: The input is wrong.
    """
    if cfg.render:
        _check_images(cfg, config_dirs)
    code = run_and_report(cfg, lambda data_set: CollectJob(cfg, data_set))
    return _render_successes(cfg, config_dirs) if cfg.render and code == OK else code


def _check_images(cfg: CollectCfg, config_dirs: Sequence[str]) -> None:
    """Raises an error unless the images of a run can be rendered, before hours of episodes."""
    if cfg.images.renderer != AUTO:
        with World(cfg.world, visuals=True, renderer=RENDERERS.load(cfg.images.renderer)()):
            pass
    request = Request(config_dirs=list(config_dirs))
    try:
        read_render_settings(cfg, cfg.images.cameras, randomization=cfg.images.randomization, request=request)
    except ConfigError as exc:  # it names the keys of `unlatch render`
        raise prefix_error_keys("images", exc, keys=vars(cfg.images)) from exc


def _render_successes(cfg: CollectCfg, config_dirs: Sequence[str]) -> int:
    data_set = DataSet.open(output_folder(cfg))
    if not any(item.success for item in data_set.each_summary()):
        print_note("unlatch: nothing is rendered, no episode succeeded")
        return OK
    asked = RenderCfg(**vars(cfg.images), workers=cfg.workers, executor=cfg.executor.name)
    return render_and_report(data_set, asked, Request(config_dirs=list(config_dirs)))
