"""The `unlatch` command, also `python -m unlatch`; standard library only.

Our packages have common names, and six of them are names of other distributions. Before anything of ours is imported,
this module makes sure that each one is the one that was installed beside it, and says which file is in the way.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

__version__ = "0.1.0"

PACKAGES = ("configs", "robots", "simcore", "skills", "solver", "tasks", "workflows")
"""The packages of this distribution."""


@dataclass(frozen=True)
class Command:
    """One command: where it is and what it does, in one line."""

    target: str
    """`module:function`, called with the arguments after the command's name; imported on use."""
    usage: str
    """Its arguments, as in a usage line."""
    summary: str
    """One line."""


COMMANDS = {
    "annotate": Command(
        "workflows.annotate:main", "PATH [key=value ...]", "find what opens, turns or slides on an object"
    ),
    "bench": Command("workflows.bench:main", "NAME [key=value ...]", "measure what the README promises"),
    "check": Command("workflows.check:main", "DATA|FILE.yaml [...]", "verify data sets; read planner settings"),
    "collect": Command("workflows.collect:main", "task=TASK [key=value ...]", "make verified demonstrations"),
    "config": Command(
        "workflows.config:main", "TASK [key=value ...]", "show a task's configuration and where each value comes from"
    ),
    "convert": Command("workflows.convert:main", "PATH [key=value ...]", "make meshes and URDFs ready for simulation"),
    "evaluate": Command(
        "workflows.evaluate:main", "task=TASK policy=POLICY [key=value ...]", "how often a policy succeeds"
    ),
    "export": Command(
        "workflows.export:main", "DATA out=OUT [key=value ...]", "write a data set as policies are trained from it"
    ),
    "label": Command(
        "workflows.label:main", "DATA out=OUT [key=value ...]", "make images with boxes, poses, keypoints and masks"
    ),
    "list": Command("workflows.listing:main", "WHAT", "list tasks, skills, robots, objects, sensors and other parts"),
    "make-object": Command(
        "workflows.make_object:main", "CATEGORY|all [key=value ...]", "write generated objects as URDF"
    ),
    "merge": Command(
        "workflows.merge:main", "OUT DATA [DATA ...] [key=value ...]", "join data sets of one configuration"
    ),
    "new": Command("workflows.new:main", "WHAT NAME|URDF [key=value ...]", "begin a skill, plugin, task or robot"),
    "phases": Command("workflows.phases:main", "DATA [key=value ...]", "draw one episode phase by phase"),
    "plan": Command("workflows.plan:main", "task=TASK [key=value ...]", "plan one episode without executing it"),
    "preview": Command("workflows.preview:main", "task=TASK [key=value ...]", "draw the scene without planning"),
    "render": Command("workflows.render:main", "DATA [key=value ...]", "make images of recorded episodes"),
    "replay": Command("workflows.replay:main", "DATA episode=N [key=value ...]", "make recorded episodes happen again"),
    "report": Command(
        "workflows.report:main", "DATA [DATA ...] [key=value ...]", "write one page of what came of data sets"
    ),
    "schema": Command("workflows.schema_command:main", "[out=FILE]", "write the JSON Schema of task files"),
    "view": Command("workflows.view:main", "DATA [key=value ...]", "write one episode as a page to look at"),
    "watch": Command("workflows.watch:main", "DATA [DATA ...] [key=value ...]", "show how data sets grow"),
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
    shadowed = find_shadowed_packages()
    if shadowed:
        name, foreign = next(iter(shadowed.items()))
        return _refuse(
            f"Package '{name}' of unlatch ({_home() / name}) is shadowed by {foreign}. "
            "Run from another directory, take that place out of PYTHONPATH, or uninstall what brought it."
        )
    if arguments[0] not in COMMANDS:
        return _refuse(f"Unknown command '{arguments[0]}'.{_close_matches(arguments[0])} Known: {', '.join(COMMANDS)}.")
    module, _, function = COMMANDS[arguments[0]].target.partition(":")
    code: int = getattr(import_module(module), function)(arguments[1:])
    return code


def find_shadowed_packages(home: Path | None = None) -> dict[str, str]:
    """Finds which of our packages Python would take from elsewhere.

    Args:
        home: The folder that our packages must come from; that of this file if None.

    Returns:
        By package, the file or folder that shadows it.
    """
    home = home or _home()
    shadowed = {}
    for name in PACKAGES:
        found = _location(name)
        if found is None:
            shadowed[name] = "nothing: it is not installed completely"
        elif found.resolve() != (home / name / "__init__.py").resolve():
            shadowed[name] = f"'{found}'"
    return shadowed


def _location(name: str) -> Path | None:
    """The file that `import name` would run, or the folder of a package without one."""
    loaded = sys.modules.get(name)
    try:
        spec = loaded.__spec__ if loaded is not None else importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if spec.origin is not None:
        return Path(spec.origin)
    places = list(spec.submodule_search_locations or [])
    return Path(places[0]) if places else None


def _home() -> Path:
    return Path(__file__).resolve().parent


def _refuse(message: str) -> int:
    sys.stderr.write(f"unlatch: {message}\n")
    return 2


def _close_matches(name: str) -> str:
    import difflib

    matches = difflib.get_close_matches(name, COMMANDS, n=2, cutoff=0.5)
    return f" Did you mean {' or '.join(repr(m) for m in matches)}?" if matches else ""


def _help() -> str:
    lines = [
        "usage: unlatch COMMAND [arguments]",
        "",
        "Verified demonstrations of opening, closing and turning things.",
        "",
    ]
    width = max(map(len, COMMANDS))
    lines += [f"  {name:<{width}}  {command.summary}" for name, command in COMMANDS.items()]
    lines += ["", "`unlatch COMMAND --help` tells its arguments. `--version` prints the version.", ""]
    return "\n".join(lines)


def register_envs() -> list[str]:
    """Registers every task with Gymnasium as `unlatch/<Task>-v0`; done by `import unlatch` where it is a library.

    Returns:
        The ids.
    """
    gymnasium = import_module("gymnasium")
    ids = []
    for path in sorted((_home() / "configs" / "task").glob("*.yaml")):
        name = "".join(word.capitalize() for word in path.stem.split("_"))
        ids.append(f"unlatch/{name}-v0")
        if ids[-1] not in gymnasium.registry:
            gymnasium.register(
                id=ids[-1], entry_point="workflows.gym.env:UnlatchEnv", kwargs={"task": path.stem}, order_enforce=True
            )
    return ids


def _is_library() -> bool:
    """Whether this module was imported by other code than the console script, which needs no Gymnasium."""
    return __name__ == "unlatch" and Path(sys.argv[0] if sys.argv else "").stem != "unlatch"


if __name__ == "__main__":
    sys.exit(main())
if _is_library() and importlib.util.find_spec("gymnasium") is not None:
    register_envs()
