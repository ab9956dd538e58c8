"""Opens Python's debugger where the code of a command or of an episode raises an exception: `--pdb`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pdb import Pdb
from typing import TypeVar

from unlatch.simcore.errors import UnlatchError
from unlatch.workflows.cli.terminal import print_note
from unlatch.workflows.runs.schema import EvaluateCfg, ExecutorCfg, Retry, RunCfg

R = TypeVar("R", bound=RunCfg)

_SERIAL = "serial"
_IN_RUN = "`continue` records the error and goes on, `quit` ends the run"
"""What the commands of the debugger do in a run."""


def make_debuggable(cfg: R) -> R:
    """Returns a run that makes its episodes in this process, also those that ended as `error`; says so on stderr."""
    retry = Retry.all if cfg.retry is Retry.all else Retry.error
    if cfg.executor.name != _SERIAL:
        print_note(
            f"unlatch: --pdb makes the episodes one by one in this process: executor={_SERIAL}, retry={retry.value}"
        )
    debuggable = replace(cfg, executor=ExecutorCfg(name=_SERIAL), retry=retry)
    return replace(debuggable, batch=False) if isinstance(debuggable, EvaluateCfg) else debuggable


@contextmanager
def debugging(*, active: bool) -> Iterator[None]:
    """Opens the debugger where the block raises an exception, if `active`, and then raises it; not for wrong input."""
    try:
        yield
    except UnlatchError:
        raise
    except Exception as exc:
        if active:
            open_debugger(exc, advice="`continue` or `quit` ends the command")
        raise


def open_debugger(exc: Exception, *, advice: str = _IN_RUN) -> None:
    """Opens the debugger in the frame that raised an exception; returns when the user goes on with `continue`.

    Args:
        exc: The exception.
        advice: What `continue` and `quit` do; the default is for a run.

    Raises:
        KeyboardInterrupt: The user left with `quit`. The episode is not written, so the next run makes it again.
    """
    print_note(f"unlatch: {type(exc).__name__}: {exc}")
    print_note(f"unlatch: {advice}, `up` and `down` change the frame")
    debugger = Pdb()
    debugger.reset()
    debugger.interaction(None, exc.__traceback__)
    if debugger.quitting:
        raise KeyboardInterrupt
