"""Commands that make files of recorded episodes: `render`, `label` and `export`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from unlatch.simcore.catalogs import EXPORTERS
from unlatch.simcore.errors import ConfigError, count_noun
from unlatch.simcore.files import path_word
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.export.exporter import ExportReport, HubCfg
from unlatch.simcore.recording.renders import render_names
from unlatch.workflows.cli.arguments import read_camera_arguments, read_pairs, split_paths
from unlatch.workflows.cli.terminal import (
    FAILED,
    INTERRUPTED,
    OK,
    command,
    print_first,
    print_line,
    print_note,
    relative_path,
)
from unlatch.workflows.images.export import DEFAULT_FORMAT, HUB_KEYS, LabelCfg, export_data_set, label
from unlatch.workflows.images.render import RenderWork, prepare_render
from unlatch.workflows.images.render_config import RenderCfg
from unlatch.workflows.images.render_job import RenderOutcome
from unlatch.workflows.runs.progress import Interruption, Progress
from unlatch.workflows.runs.step_progress import StepProgress

if TYPE_CHECKING:
    from unlatch.configs.composition import Request


@command
def render_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    code = render_and_report(*read_camera_arguments("render", arguments, RenderCfg))
    if code == INTERRUPTED:
        print_note("unlatch: interrupted; the same command makes what is missing")
    return code


def render_and_report(data_set: DataSet, cfg: RenderCfg, request: Request | None = None) -> int:
    """Renders the missing images of a render set and prints a summary; returns the exit code, 130 after Ctrl-C."""
    work = prepare_render(data_set, cfg, request)
    for notice in work.notices:
        print_note(notice)
    interruption, stopped = Interruption(), False
    started, made = time.perf_counter(), []
    outcomes = work.run(is_ended=interruption.is_asked)
    with (
        interruption,
        Progress(
            total=len(work.job.digests),
            done=work.n_rendered_before,
            success_word="rendered",
            interruption=interruption,
        ) as progress,
    ):
        try:
            for outcome in outcomes:
                progress.update(outcome)
                made.append(outcome)
        except KeyboardInterrupt:
            stopped = True
            outcomes.close()
    code = _print_summary(work, made, time.perf_counter() - started)
    if stopped or interruption.asked:
        return INTERRUPTED
    return code


def _print_summary(work: RenderWork, made: list[RenderOutcome], seconds: float) -> int:
    bad = sorted((item for item in made if not item.success), key=lambda item: item.number)
    print_first([f"episode {item.number}: {item.problem}" for item in bad])
    render_set, cameras = work.render_set, list(work.render_set.cameras)
    frames, rendered = sum(item.n_frames for item in made), len(made) - len(bad)
    done = f"{work.n_rendered_before + rendered} of {len(work.job.digests)} episodes"
    what = (
        f"{count_noun(len(cameras), 'camera')} ({', '.join(cameras)}), renderer {render_set.header['renderer']['name']}"
    )
    if made:
        print_line(f"{done} done, {rendered} rendered in {seconds:.1f} s: {count_noun(frames, 'frame')} of {what}")
    else:
        print_line(f"{done} have images of {what}")
    print_line(f"render set: {relative_path(render_set.path)}")
    return FAILED if bad else OK


@command
def label_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    data_set, cfg, request = read_camera_arguments("label", arguments, LabelCfg)
    with StepProgress("images") as progress:
        report = label(data_set, cfg, request, on_image=progress.update)
    for camera, (images, labels) in report.counts.items():
        print_line(f"{camera}: {images} images, {labels} labelled things")
    print_line(f"labels: {relative_path(report.folder)}")
    return OK


@command
def export_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    (path,), pairs = split_paths("export", arguments, exactly=1)
    given = {key: value for key, _, value in (pair.partition("=") for pair in pairs)}
    name, out = given.get("format") or DEFAULT_FORMAT, given.get("out")
    cfg = read_pairs(EXPORTERS.load(name).cfg_type, pairs, others=("format", "out", *HUB_KEYS))
    hub = read_pairs(HubCfg, [pair for pair in pairs if pair.partition("=")[0] in HUB_KEYS])
    if not out:
        raise ConfigError("out is missing. Expected a place for the export. Give it as out=PATH.", key="out")
    started = time.perf_counter()

    def print_export(report: ExportReport) -> None:
        progress.end()
        wall = time.perf_counter() - started
        if report.left_out:
            print_note(
                f"unlatch: {count_noun(report.left_out, 'attempt')} left out: not successful, or without states "
                "(failed ones: all=true)"
            )
        before = f" ({report.there} more existed before)" if report.there else ""
        print_line(
            f"{name}: {count_noun(report.taken, 'episode')}, {count_noun(report.frames, 'frame')} in {wall:.1f} s"
            f"{before}: {relative_path(report.target)}"
        )
        if hub.push:
            print_note(f"unlatch: pushing to {hub.push}")

        if cfg.render is None:
            made = ", ".join(render_names(data_set.path))
            advice = f"it has {made}" if made else f"make one: unlatch render {path_word(path)} name=NAME"
            keys = "render=NAME" if cfg.append else "render=NAME force=true"
            print_note(f"unlatch: without images; {keys} adds those of a render set ({advice})")

    data_set = DataSet.open(path)
    with StepProgress("episodes") as progress:
        report = export_data_set(
            data_set, name, cfg, out, hub=hub, on_episode=progress.update, on_exported=print_export
        )
    if report.url:
        print_line(f"pushed: {report.url}")
    return OK
