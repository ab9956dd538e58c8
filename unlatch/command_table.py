"""The table of the commands of `unlatch`: name, function and summary of each. It imports only the standard library."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from unlatch import __version__


@dataclass(frozen=True)
class Command:
    """One command: its function and what it does."""

    target: str
    """`module:function`, called with the arguments after the command's name; imported on use."""
    usage: str
    """Its arguments, as in the usage line of its help."""
    summary: str
    """What it does, in one line."""


COMMANDS = {
    "annotate": Command(
        "unlatch.workflows.commands.annotate:main",
        "PATH [key=value ...]",
        "find what opens, turns or slides on an object",
    ),
    "bench": Command(
        "unlatch.workflows.commands.bench:main", "NAME [key=value ...]", "run the benchmark of success rates"
    ),
    "check": Command(
        "unlatch.workflows.commands.check:main",
        "DATA|FILE.yaml [...]",
        "verify data sets; check planner settings of YAML files",
    ),
    "collect": Command(
        "unlatch.workflows.commands.collect:main", "task=TASK [key=value ...]", "collect verified demonstrations"
    ),
    "config": Command(
        "unlatch.workflows.commands.config:main",
        "TASK [key=value ...]",
        "show a task's configuration and where each value comes from",
    ),
    "convert": Command(
        "unlatch.workflows.commands.convert:main", "PATH [key=value ...]", "convert meshes and URDFs for simulation"
    ),
    "evaluate": Command(
        "unlatch.workflows.commands.evaluate:main",
        "task=TASK policy=POLICY [key=value ...]",
        "measure how often a policy succeeds",
    ),
    "export": Command(
        "unlatch.workflows.commands.export:main",
        "DATA out=OUT [key=value ...]",
        "write a data set in a format for training policies",
    ),
    "label": Command(
        "unlatch.workflows.commands.label:main",
        "DATA out=OUT [key=value ...]",
        "write images with boxes, poses, keypoints and masks",
    ),
    "list": Command(
        "unlatch.workflows.commands.list:main", "WHAT", "list tasks, skills, robots, objects, sensors and other parts"
    ),
    "make-object": Command(
        "unlatch.workflows.commands.make_object:main", "CATEGORY|all [key=value ...]", "write generated objects as URDF"
    ),
    "merge": Command(
        "unlatch.workflows.commands.merge:main",
        "OUT DATA [DATA ...] [key=value ...]",
        "join data sets of the same configuration",
    ),
    "new": Command(
        "unlatch.workflows.commands.new:main",
        "WHAT NAME|URDF [key=value ...]",
        "write a template of a skill, plugin, task or robot",
    ),
    "phases": Command(
        "unlatch.workflows.commands.phases:main", "DATA [key=value ...]", "draw the phases of a recorded episode"
    ),
    "plan": Command(
        "unlatch.workflows.commands.plan:main", "task=TASK [key=value ...]", "plan one episode without executing it"
    ),
    "preview": Command(
        "unlatch.workflows.commands.preview:main",
        "task=TASK [key=value ...]",
        "draw the scene of an episode without planning",
    ),
    "render": Command(
        "unlatch.workflows.commands.render:main", "DATA [key=value ...]", "render images of recorded episodes"
    ),
    "replay": Command(
        "unlatch.workflows.commands.replay:main",
        "DATA episode=N [key=value ...]",
        "replay recorded episodes",
    ),
    "report": Command(
        "unlatch.workflows.commands.report:main",
        "DATA [DATA ...] [key=value ...]",
        "write a summary page of data sets",
    ),
    "schema": Command("unlatch.workflows.commands.schema:main", "[out=FILE]", "write the JSON Schema of task files"),
    "view": Command(
        "unlatch.workflows.commands.view:main",
        "DATA [key=value ...]",
        "write an interactive page of a recorded episode",
    ),
    "watch": Command(
        "unlatch.workflows.commands.watch:main",
        "DATA [DATA ...] [key=value ...]",
        "show the progress of growing data sets",
    ),
}
"""The commands by name."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
        argv: The arguments after the program's name; those of the process if None.

    Returns:
        The exit code: 0, 1 where something failed, 2 for a mistake in the input, 130 after Ctrl-C.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(_help())
        return 0
    if arguments[0] in ("-V", "--version"):
        sys.stdout.write(f"unlatch {__version__}\n")
        return 0
    if arguments[0] not in COMMANDS:
        return _refuse(f"Unknown command '{arguments[0]}'.{_close_matches(arguments[0])} Known: {', '.join(COMMANDS)}.")
    module, _, function = COMMANDS[arguments[0]].target.partition(":")
    code: int = getattr(import_module(module), function)(arguments[1:])
    return code


def _refuse(message: str) -> int:
    sys.stderr.write(f"unlatch: {message}\n")
    return 2


def _close_matches(name: str) -> str:
    matches = difflib.get_close_matches(name, COMMANDS, n=2, cutoff=0.5)
    return f" Did you mean {' or '.join(repr(m) for m in matches)}?" if matches else ""


def _help() -> str:
    lines = [
        "usage: unlatch COMMAND [arguments]",
        "",
        "Verified demonstrations of robots opening, closing and turning things.",
        "",
    ]
    width = max(map(len, COMMANDS))
    lines += [f"  {name:<{width}}  {command.summary}" for name, command in COMMANDS.items()]
    lines += ["", "`unlatch COMMAND --help` explains a command. `--version` prints the version.", ""]
    return "\n".join(lines)
