"""`unlatch render`: renders images of recorded episodes."""

from __future__ import annotations

import time

from unlatch.configs.composition import Request
from unlatch.simcore.errors import count_noun
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.cli.camera_arguments import read_camera_arguments
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.console import FAILED, INTERRUPTED, OK, print_line, print_note, relative_path
from unlatch.workflows.images.render import RenderWork, prepare_render
from unlatch.workflows.images.render_config import RenderCfg
from unlatch.workflows.images.render_job import RenderOutcome
from unlatch.workflows.runs.progress import FrameCount, Interruption, Progress

MAX_SHOWN = 20
"""Most episodes that are named one by one."""


@command
def main(arguments: list[str]) -> int:
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
            frames=FrameCount(work.frames.total, work.frames.count_done),
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
    for item in bad[:MAX_SHOWN]:
        print_line(f"episode {item.number}: {item.problem}")
    if len(bad) > MAX_SHOWN:
        print_line(f"... and {len(bad) - MAX_SHOWN} more")
    render_set, cameras = work.render_set, list(work.render_set.cameras)
    frames, rendered = sum(item.n_frames for item in made), len(made) - len(bad)
    print_line(
        f"{work.n_rendered_before + rendered} of {len(work.job.digests)} episodes done, {rendered} rendered in "
        f"{seconds:.1f} s: {count_noun(frames, 'frame')} of {count_noun(len(cameras), 'camera')} "
        f"({', '.join(cameras)}), renderer {render_set.header['renderer']['name']}"
    )
    print_line(f"render set: {relative_path(render_set.path)}")
    return FAILED if bad else OK
