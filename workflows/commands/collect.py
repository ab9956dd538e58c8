"""`unlatch collect`: collects episodes of one configuration in a data set."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from unlatch.configs.composition import Request
from unlatch.configs.dataclass_reader import prefix_error_keys
from unlatch.objects.config import ObjectSource
from unlatch.simcore.catalogs import AUTO, RENDERERS
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.sim.world import World
from unlatch.workflows.cli.run_report import run_and_report, run_jobs
from unlatch.workflows.cli.terminal import INTERRUPTED, OK, parse_command_line, print_note, run_command
from unlatch.workflows.images.render_config import RenderCfg
from unlatch.workflows.runs.run import RunRequest, make_collect_job, output_folder
from unlatch.workflows.runs.schema import CollectCfg


@run_command
def collect_command(arguments: list[str], debug: bool) -> int:
    """Runs the command; returns its exit code."""
    line = parse_command_line(arguments)
    words, folders = ("unlatch", "collect", *arguments), line.config_dirs

    def run(cfg: CollectCfg) -> int:
        return collect_and_report(cfg, config_dirs=folders, words=words, debug=debug, pdb=line.pdb)

    return run_jobs("collect", CollectCfg, line, run)


def collect_and_report(
    cfg: CollectCfg,
    *,
    config_dirs: Sequence[str] = (),
    words: Sequence[str] = (),
    debug: bool = False,
    pdb: bool = False,
) -> int:
    """Makes the missing episodes of a run, with images if asked for, and prints a summary; see `run_and_report`."""
    if cfg.render:
        _check_images(cfg, config_dirs)
    if cfg.rehearse and cfg.policy is None and cfg.object.source is ObjectSource.urdf:
        from unlatch.workflows.commands.rehearse import with_rehearsal

        cfg = with_rehearsal(cfg, output_folder(cfg))
    request = RunRequest(cfg, partial(make_collect_job, cfg, config_dirs=config_dirs), command=words)
    code = run_and_report(request, debug=debug, pdb=pdb)
    if not cfg.render or code == INTERRUPTED:
        return code
    return max(code, _render_missing(cfg, config_dirs))  # also where some episodes ended as `error`


def _check_images(cfg: CollectCfg, config_dirs: Sequence[str]) -> None:
    """Raises an error unless the images of a run can be rendered; called before the run, which may take hours."""
    from unlatch.configs.cameras import read_render_settings

    if cfg.images.renderer != AUTO:
        with World(cfg.world, visuals=True, renderer=RENDERERS.load(cfg.images.renderer)()):
            pass
    request = Request(config_dirs=list(config_dirs))
    try:
        asked = cfg.images
        read_render_settings(
            cfg, asked.cameras, size_px=asked.size_px, randomization=asked.randomization, request=request
        )
    except ConfigError as exc:  # it names the keys of `unlatch render`
        raise prefix_error_keys("images", exc, keys=vars(cfg.images)) from exc


def _render_missing(cfg: CollectCfg, config_dirs: Sequence[str]) -> int:
    """Renders the successes that have no images, such as those of an earlier run that was killed; says how many have.

    Returns the exit code.
    """
    from unlatch.workflows.commands.images import render_and_report

    data_set = DataSet.open(output_folder(cfg))
    if not any(item.success for item in data_set.each_summary()):
        print_note("unlatch: nothing is rendered, no episode succeeded")
        return OK
    asked = RenderCfg(**vars(cfg.images), workers=cfg.workers, executor=cfg.executor.name)
    return render_and_report(data_set, asked, Request(config_dirs=list(config_dirs)))
