"""Runs a command: turns errors into one line on stderr, returns the exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from unlatch.simcore.errors import SimCoreError
from unlatch.workflows.cli.console import BAD_INPUT, INTERRUPTED, OK, print_note


def run_guarded(function: Callable[[], int]) -> int:
    """Runs a command; an error of ours becomes one line on stderr.

    Returns:
        The exit code: that of the command; after an error of ours the `exit_code` of the error, `BAD_INPUT` if it has
        none; `INTERRUPTED` after Ctrl-C.
    """
    try:
        return function()
    except SimCoreError as exc:
        code: int = getattr(exc, "exit_code", BAD_INPUT)
        print_note("unlatch: " + (" ".join(exc.message.split()) if code == BAD_INPUT else exc.message))
        return code
    except KeyboardInterrupt:
        print_note("unlatch: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # the reader of a pipe is gone; Python would complain about it at exit
        return OK


def command(run: Callable[[list[str]], int]) -> Callable[[Sequence[str]], int]:
    """Makes a command of a function of its arguments: the command handles errors, see `run_guarded`."""
    return lambda argv: run_guarded(lambda: run(list(argv)))
