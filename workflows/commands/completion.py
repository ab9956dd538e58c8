"""`unlatch completion`: prints the script that lets a shell complete the words of `unlatch`."""

from __future__ import annotations

from importlib.resources import files

from unlatch.simcore.errors import ConfigError
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.completion_cache import load_catalog
from unlatch.workflows.cli.completion_words import SHELLS, complete
from unlatch.workflows.cli.console import OK, print_line

_QUERY = "words"
"""First argument with which the scripts ask for words."""


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    if arguments[:1] == [_QUERY]:
        for word in complete(arguments[1:], load_catalog()):
            print_line(word)
        return OK
    if len(arguments) != 1 or arguments[0] not in SHELLS:
        raise ConfigError(
            f"completion got '{' '.join(arguments)}', expected one of: {', '.join(SHELLS)}. Name your shell."
        )
    script = files("unlatch.workflows.templates") / f"completion_{arguments[0]}.txt"
    print_line(script.read_text(encoding="utf-8").rstrip())
    return OK
