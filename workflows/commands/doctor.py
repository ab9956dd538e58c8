"""`unlatch doctor`: prints the state of the installation, and what to do about what is missing."""

from __future__ import annotations

from unlatch.simcore.errors import ConfigError
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.console import FAILED, OK, print_row, print_wrapped
from unlatch.workflows.cli.installation import describe_installation

_NAME_WIDTH = 17


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    if arguments:
        raise ConfigError(f"doctor got '{' '.join(arguments)}', expected nothing. Remove it.")
    broken = []
    for finding in describe_installation():
        advice = f" -> {finding.advice}" if finding.advice else ""
        print_row(finding.name, f"{finding.value}{advice}", width=_NAME_WIDTH)
        if finding.broken:
            broken.append(finding.name)
    if broken:
        print_wrapped(f"{len(broken)} to repair: {', '.join(broken)}")
        return FAILED
    print_wrapped("Everything that Unlatch needs is there. Extras are optional.")
    return OK
