"""The commands of `unlatch`: their names, what they do, and how one is run. Only light modules are imported here.

The help text of a command `make-object` is `workflows/commands/help/make_object.txt`, so that `--help` imports nothing
of the command.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.resources import files

from unlatch import __version__
from unlatch.simcore import process as interrupts
from unlatch.simcore.errors import PluginError, describe_choices

COMMANDS = {
    "annotate": "find what opens, turns or slides on an object",
    "bench": "run the benchmark of success rates",
    "check": "verify data sets; check tasks and planner settings",
    "clip": "write a recorded episode as a moving picture",
    "collect": "collect verified demonstrations",
    "completion": "print the script that completes words in bash, zsh or fish",
    "config": "show a task's configuration and where each value comes from",
    "convert": "convert meshes, URDFs and USDs for simulation",
    "doctor": "show versions, extras, compiler and renderer, and what to repair",
    "evaluate": "measure how often a policy succeeds",
    "exam": "examine a policy: 24 tasks, eight perturbations",
    "export": "write a data set in a format for training policies",
    "import": "turn a task of InternDataEngine or GenSim2 into one of ours",
    "label": "write images with boxes, poses, keypoints and masks",
    "list": "list tasks, skills, robots, objects, sensors and other parts",
    "make-object": "write generated objects as URDF",
    "merge": "join data sets of the same configuration",
    "new": "write a template of a skill, plugin, task or robot",
    "phases": "draw the phases of a recorded episode",
    "plan": "plan one episode without executing it",
    "preview": "draw the scene of an episode without planning",
    "rehearse": "try an object's parts and keep what moves them",
    "render": "render images of recorded episodes",
    "replay": "replay recorded episodes",
    "report": "write a summary page of data sets",
    "schema": "write the JSON Schema of task files",
    "serve": "serve a policy, or the planner, by openpi's protocol",
    "studio": "compose a task by looking: edit, plan and run it on a page",
    "view": "write an interactive page of a recorded episode",
    "watch": "show the progress of growing data sets",
}
"""One line on each command, by its name."""

_MODULES = {
    "check": ("bench", "check", "evaluate", "exam", "replay", "serve"),
    "collect": ("collect",),
    "data_sets": ("merge", "report", "watch"),
    "images": ("export", "label", "render"),
    "information": ("completion", "config", "doctor", "list", "schema"),
    "looking": ("clip", "phases", "plan", "preview", "view"),
    "new": ("import", "new"),
    "objects": ("annotate", "convert", "make-object"),
    "rehearse": ("rehearse",),
    "studio": ("studio",),
}
"""The commands of each module of `workflows/commands`; its function `make_object_command` runs `make-object`."""

_HELP_FLAGS = ("-h", "--help", "--hydra-help")


def run_program() -> None:
    """Runs the command of the process's arguments, and ends the process with its exit code."""
    interrupts.end_at_ctrl_c()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name of a file may have characters that the terminal does not
            is_utf8 = stream.encoding.lower().replace("-", "") == "utf8"
            stream.reconfigure(errors="surrogateescape" if is_utf8 else "backslashreplace")
    code = main()
    if code == interrupts.INTERRUPTED:
        interrupts.end_interrupted()
    sys.exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
        argv: The arguments after the program's name; those of the process if None.

    Returns:
        The exit code: 0, 1 where something failed, 2 for a mistake in the input, 130 after Ctrl-C.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    while arguments[:1] == ["help"]:  # `unlatch help COMMAND`
        arguments = [*arguments[1:], "--help"]
    if not arguments or arguments[0] in _HELP_FLAGS:
        sys.stdout.write(_list_commands())
        return 0
    if arguments[0] in ("-V", "--version"):
        sys.stdout.write(f"unlatch {__version__}\n")
        return 0
    name = arguments[0]
    if name not in COMMANDS:
        sys.stderr.write(
            f"unlatch: Unknown command '{name}'.{describe_choices(name, COMMANDS, listed_by='unlatch help')}\n"
        )
        return 2
    if any(argument in _HELP_FLAGS for argument in arguments):
        import_module("unlatch.workflows.cli.shell_text").print_help(
            read_help("new-robot" if arguments[:2] == ["new", "robot"] else name)
        )
        return 0
    try:
        run_command = getattr(import_module(module_of(name)), f"{name.replace('-', '_')}_command")
    except PluginError as exc:  # a package of an extra is missing
        sys.stderr.write(f"unlatch: {exc.message}\n")
        return 2
    try:
        interrupts.raise_at_ctrl_c()
        code: int = run_command(arguments[1:])
    except KeyboardInterrupt:  # before the command took over
        sys.stderr.write(interrupts.MESSAGE)
        return interrupts.INTERRUPTED
    return code


def module_of(name: str) -> str:
    """Returns the module of a command, which is imported when it runs."""
    return next(f"unlatch.workflows.commands.{module}" for module, names in _MODULES.items() if name in names)


def read_help(name: str) -> str:
    """Returns the help text of a command; the text of the shared flags replaces `{flags}`."""
    folder = files("unlatch.workflows.commands") / "help"
    text = (folder / f"{name.replace('-', '_')}.txt").read_text(encoding="utf-8")
    return text.replace("{flags}", (folder / "flags.txt").read_text(encoding="utf-8").rstrip())


def _list_commands() -> str:
    width = max(map(len, COMMANDS))
    return "\n".join(
        [
            "usage: unlatch COMMAND [arguments]",
            "",
            "Verified demonstrations of robots opening, closing and turning things.",
            "",
            *(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items()),
            "",
            "`unlatch COMMAND --help` explains a command. `--version` prints the version.",
            "`unlatch COMMAND ... --debug` prints whole tracebacks of errors.",
            "",
        ]
    )
