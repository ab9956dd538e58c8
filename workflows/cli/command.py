"""Runs a command: turns errors into one line on stderr, returns the exit code."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable, Sequence

from unlatch.simcore import process as interrupts
from unlatch.simcore.errors import ConfigError, UnlatchError
from unlatch.workflows.cli.terminal import BAD_INPUT, FAILED, INTERRUPTED, OK, print_note

_FOREIGN_BYTE = re.compile("[\udc80-\udcff]")
DEBUG = "--debug"
"""Flag of every command: whole tracebacks are printed."""


def run_guarded(function: Callable[[], int], *, debug: bool = False) -> int:
    """Runs a command; an error of ours becomes one line on stderr.

    If an exception in the code of a user caused it, such as in a plugin that cannot be loaded, its frames there follow.
    Of another exception, the frames in the code of a user are printed: a plugin, such as an exporter or a generator of
    objects, has a bug. If there are none, it is a bug of Unlatch, and the exception is raised.

    Args:
        function: The command.
        debug: Whether the whole traceback of every exception is printed.

    Returns:
        The exit code: that of the command; after an error of ours the `exit_code` of the error, `BAD_INPUT` if it has
        none; `FAILED` after a bug in the code of a user; `INTERRUPTED` after Ctrl-C.
    """
    try:
        return function()
    except KeyboardInterrupt:
        return _end_interrupted()
    except BrokenPipeError:
        sys.stderr.close()  # the reader of a pipe is gone; Python would complain about it at exit
        return OK
    except Exception as exc:
        if interrupts.was_pressed() and not debug:  # a library made it of the KeyboardInterrupt
            return _end_interrupted()
        if isinstance(exc, UnicodeEncodeError) and (name := _unreadable_name(exc)):
            exc = ConfigError(
                f"'{name}' has bytes that are no UTF-8, as file names of other systems have. Expected a name in UTF-8. "
                "Rename the file or folder."
            ).with_traceback(exc.__traceback__)
        if isinstance(exc, UnlatchError):
            return _print_error(exc, debug=debug)
        frames = [] if debug else _user_frames(exc)
        if not frames:
            raise
        print_note("\n".join([f"unlatch: {type(exc).__name__}: {exc}", *frames, f"{DEBUG} prints the whole traceback"]))
        return FAILED


def _unreadable_name(exc: UnicodeEncodeError) -> str:
    """Returns the name of a file that could not be written into a text; empty if the error is about another text.

    Python reads bytes of names that are no UTF-8 as the characters U+DC80 to U+DCFF.
    """
    found = [*(word.partition("=")[2] or word for word in sys.argv), *re.split(r"[\s\"'<>|,&;\0]+", exc.object)]
    words = [word for word in found if _FOREIGN_BYTE.search(word)] if _FOREIGN_BYTE.search(exc.object) else []
    return words[0].encode(errors="surrogateescape").decode(errors="backslashreplace") if words else ""


def _end_interrupted() -> int:
    """Says that Ctrl-C ended the command; returns the exit code."""
    print_note(interrupts.MESSAGE.rstrip())
    return INTERRUPTED


def _print_error(exc: UnlatchError, *, debug: bool) -> int:
    """Prints an error of ours; returns its exit code."""
    cause = exc.__cause__
    is_checked = isinstance(cause, UnlatchError) and cause.__cause__ is None  # a plugin refuses a value: no bug
    frames = [] if cause is None or is_checked or debug else _user_frames(cause)
    if debug:
        print_note("".join(traceback.format_exception(exc)).rstrip("\n") + "\n")
    code: int = getattr(exc, "exit_code", BAD_INPUT)
    print_note("unlatch: " + (" ".join(exc.message.split()) if code == BAD_INPUT else exc.message))
    for line in frames:
        print_note(line)
    return code


def _user_frames(exc: BaseException) -> list[str]:
    """Returns lines with the last frames of an exception in the code of a user."""
    # imported here: commands that need no run start quickly
    from unlatch.workflows.runs.traceback_frames import user_frames_of_plugins

    return user_frames_of_plugins("".join(traceback.format_exception(exc)))


def command(run: Callable[[list[str]], int]) -> Callable[[Sequence[str]], int]:
    """Makes a command of a function of its arguments: the command handles errors, see `run_guarded`, and `--debug`."""
    return run_command(lambda arguments, _debug: run(arguments))


def run_command(run: Callable[[list[str], bool], int]) -> Callable[[Sequence[str]], int]:
    """Makes a command of a function of its arguments without `--debug`, and of whether this flag is given."""

    def main(argv: Sequence[str]) -> int:
        debug = DEBUG in argv
        return run_guarded(lambda: run([word for word in argv if word != DEBUG], debug), debug=debug)

    return main
