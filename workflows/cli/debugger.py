"""Opens Python's debugger where an episode of a run raised an exception: the flag `--pdb`."""

from __future__ import annotations

import pdb
from dataclasses import replace
from typing import TypeVar

from unlatch.workflows.cli.console import print_note
from unlatch.workflows.runs.schema import EvaluateCfg, ExecutorCfg, Retry, RunCfg

_SERIAL = "serial"

R = TypeVar("R", bound=RunCfg)


def make_debuggable(cfg: R) -> R:
    """Returns a run that makes its episodes in this process, also those that ended as `error`; says so on stderr."""
    if cfg.executor.name != _SERIAL:
        print_note(f"unlatch: --pdb makes the episodes one by one in this process: executor={_SERIAL}, retry=error")
    debuggable = replace(cfg, executor=ExecutorCfg(name=_SERIAL), retry=Retry.error)
    return replace(debuggable, batch=False) if isinstance(debuggable, EvaluateCfg) else debuggable


def open_debugger(exc: Exception) -> None:
    """Opens the debugger in the frame that raised an exception; returns when the user goes on with `continue`.

    Raises:
        KeyboardInterrupt: The user left with `quit`. The episode is not written, so the next run makes it again.
    """
    print_note(f"unlatch: {type(exc).__name__}: {exc}")
    print_note(
        "unlatch: `continue` records the error and goes on, `quit` ends the run, `up` and `down` change the frame"
    )
    debugger = pdb.Pdb()
    debugger.reset()
    debugger.interaction(None, exc.__traceback__)
    if debugger.quitting:
        raise KeyboardInterrupt
