"""Makes a run and prints what came of it: the part that `unlatch collect` and `unlatch evaluate` share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.cli.console import FAILED, INTERRUPTED, print_line, print_note, relative_path
from unlatch.workflows.cli.summary import exit_code, print_summary
from unlatch.workflows.runs.executors.executor import Job
from unlatch.workflows.runs.progress import Interruption
from unlatch.workflows.runs.run import PICTURE, has_picture, run_episodes
from unlatch.workflows.runs.schema import RunCfg


def run_and_report(
    cfg: RunCfg,
    make_job: Callable[[DataSet], Job],
    *,
    prefix: str = "",
    identity: dict[str, Any] | None = None,
    command: Sequence[str] = (),
) -> int:
    """Makes the missing episodes of a run with a live display and prints a summary.

    Args:
        cfg: The run.
        make_job: See `run_episodes`.
        prefix: Beginning of the default folder's name.
        identity: Further keys of the header.
        command: The `unlatch` command that makes the run; empty: another command than this one makes it.

    Returns:
        The exit code: 0, 1 if every attempt ended as `error`, or 130 after Ctrl-C.

    Raises:
        SimCoreError: The input is wrong.
    """
    result = run_episodes(
        cfg,
        make_job,
        prefix=prefix,
        identity=identity,
        progress=True,
        interruption=Interruption(),
        notify=print_note,
        command=command,
    )
    statistics = print_summary(result)
    stop, folder = result.stop, result.data_set.path
    if result.interrupted:
        print_note("unlatch: interrupted; the same command makes the missing episodes")
        return INTERRUPTED
    if stop.is_hopeless:
        print_note(f"unlatch: {stop.hopeless_text()}")
    elif stop.wanted is not None and not stop.has_enough:
        print_note(
            f"unlatch: {stop.successes} of successes={stop.wanted} after {stop.attempts} attempts, the most "
            "that attempts allows"
        )
    if has_picture(cfg):
        print_line(f"picture: {relative_path(folder / PICTURE)}")
    print_line(f"data set: {relative_path(folder)}")
    return FAILED if stop.is_hopeless else exit_code(statistics)
