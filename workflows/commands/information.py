"""Commands that print what there is: `list`, `config`, `schema`, `doctor` and `completion`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from unlatch.configs.composition import Request
from unlatch.configs.config_files import TASKS
from unlatch.configs.group_files import yaml_files
from unlatch.configs.json_schema import task_schema
from unlatch.configs.origins import find_origins, iterate_leaves, origin_of
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.robots.catalog import ROBOTS
from unlatch.simcore.catalogs import ANNOTATORS, AUTO, EXPORTERS, RENDERERS
from unlatch.simcore.errors import ConfigError, unknown_entry
from unlatch.simcore.files import read_text, user_path
from unlatch.simcore.registry import Catalog
from unlatch.simcore.sim.sensors.config import SENSORS
from unlatch.skills.catalog import SKILLS
from unlatch.solver.term_kinds import COSTS, TERMS
from unlatch.workflows.cli.arguments import split_paths
from unlatch.workflows.cli.installation import describe_installation
from unlatch.workflows.cli.shell_text import SHELLS, complete, make_catalog
from unlatch.workflows.cli.terminal import FAILED, OK, command, parse_command_line, print_line, print_row, print_wrapped
from unlatch.workflows.runs.data_sets import data_sets_below, describe_data_set
from unlatch.workflows.runs.loading import read_config
from unlatch.workflows.runs.schema import CollectCfg

_Row = tuple[str, str]
"""A name and its summary."""


@command
def list_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    if arguments and arguments[0] == "data" and len(arguments) <= 2:
        folders = data_sets_below(Path(arguments[1] if len(arguments) == 2 else "data"))
        return _print_rows([(str(path), describe_data_set(path)) for path in folders])
    line = parse_command_line(arguments, command="list")
    if not line.overrides:
        rows = [(name, summary) for name, (summary, _) in LISTS.items()]
        return _print_rows([*rows, ("data [FOLDER]", "the data sets below a folder, `data` by default")])
    if len(line.overrides) != 1 or line.overrides[0] not in LISTS:
        got = " ".join(arguments)
        said, advice = f"list '{got}' is unknown.", "Name one of them."
        raise unknown_entry(said, got, [*LISTS, "data"], error=ConfigError, advice=advice)
    return _print_rows(LISTS[line.overrides[0]][1](line.config_dirs))


def _print_rows(rows: Sequence[_Row]) -> int:
    width = max((len(name) for name, _ in rows), default=0)
    for name, summary in rows:
        print_row(name, summary, width=width)
    return OK


def list_tasks(config_dirs: Sequence[str] = ()) -> list[_Row]:
    """Returns name and summary of each task; summaries are read from the YAML files without composing them."""
    rows = _list_entries(TASKS)
    for path in yaml_files("task", config_dirs).values():
        rows.append((path.stem, _summary_of(path)))
    return sorted(rows)


def _summary_of(path: Path) -> str:
    """Returns the summary that a task file states; for one that cannot be read, why."""
    try:
        content = yaml.safe_load(read_text(path))
    except ConfigError as exc:
        return exc.message
    except (yaml.YAMLError, OSError, RecursionError) as exc:
        return f"{path} cannot be read: {' '.join(str(exc).split())}"
    task = content.get("task") if isinstance(content, dict) else None
    return str(task.get("summary", "")) if isinstance(task, dict) else ""


def list_robots(config_dirs: Sequence[str] = ()) -> list[_Row]:
    """Returns the robots of the catalog, then those that are YAML files only."""
    known = ROBOTS.names()
    return [*_list_entries(ROBOTS), *(row for row in _list_files("robot", config_dirs) if row[0] not in known)]


def _list_objects(config_dirs: Sequence[str]) -> list[_Row]:
    path = ("PATH", "any URDF, or a folder of one object or many, with skill=open, close or rotate, no task")
    made = "; each episode draws a new one"
    ours = [(name, GENERATORS.entry(name).summary + made) for name in GENERATORS.own_names()]
    return [*sorted([*_list_files("object", config_dirs), *ours]), path]


def _list_skills(config_dirs: Sequence[str]) -> list[_Row]:
    """Returns the skills; those of this package with their page."""
    rows = []
    for name, entry in SKILLS.entries().items():
        page = f" (docs/skills.md#{name})" if entry.target.startswith("unlatch.skills.") else ""
        rows.append((name, entry.summary + page))
    return rows


def _list_sensors(config_dirs: Sequence[str]) -> list[_Row]:
    """Returns the names for `sensors=[...]`, then the types of sensors."""
    return [
        *_list_files("sensor", config_dirs),
        *((f"type: {name}", summary) for name, summary in _list_entries(SENSORS)),
    ]


def _list_files(group: str, config_dirs: Sequence[str]) -> list[_Row]:
    """Returns name and first comment of each YAML file of a group."""
    rows = []
    for name, path in yaml_files(group, config_dirs).items():
        comments = (
            line[2:] for line in read_text(path).splitlines() if line.startswith("# ") and "@package" not in line
        )
        rows.append((name, next(comments, "")))
    return rows


def _list_entries(*catalogs: Catalog) -> list[_Row]:
    return [(name, entry.summary) for catalog in catalogs for name, entry in catalog.entries().items()]


_Read = Callable[[Sequence[str]], list[_Row]]
"""Returns the entries of a list, with those of the user's own folders of YAML files."""
_FILES = {
    "cameras": "sets of cameras: camera=NAME",
    "planners": "how much effort planning takes: planner=NAME",
    "randomizations": "what varies between episodes: randomization=NAME",
    "stands": "what the robot stands on: stand=NAME",
    "disturbances": "how far arms leave their plan: disturb=NAME",
    "images": "which images are rendered at the end of `collect`: images=NAME",
    "experiments": "whole commands as files: experiment=NAME",
    "executors": "where workers run: executor=NAME",
    "launchers": "where the jobs of a multirun run: launcher=NAME",
}
"""Lists of YAML files by their names; the example names the group of each."""
LISTS: dict[str, tuple[str, _Read]] = {
    "tasks": ("what a robot does: task=NAME", list_tasks),
    "skills": ("the steps of a task; with an object, skill=NAME", _list_skills),
    "robots": ("arms with their hands: robot=NAME", list_robots),
    "objects": ("what is opened, closed, turned or carried: object=NAME", _list_objects),
    "sensors": ("cameras and other sensors of a record: sensors=[NAME]", _list_sensors),
    **{
        name: (words, partial(_list_files, words.rpartition(": ")[2].partition("=")[0]))
        for name, words in _FILES.items()
    },
    "annotators": ("labels of images: `unlatch render DATA annotators=[NAME]`", lambda _: _list_entries(ANNOTATORS)),
    "renderers": (
        "what draws images: renderer=NAME",
        lambda _: [(AUTO, "the one of them that suits the images and this machine"), *_list_entries(RENDERERS)],
    ),
    "terms": ("constraints and costs of planner settings", lambda _: _list_entries(TERMS, COSTS)),
    "exporters": ("formats of data sets: `unlatch export DATA format=NAME`", lambda _: _list_entries(EXPORTERS)),
}
"""What can be listed, by the word after `unlatch list`."""


@command
def config_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    line = parse_command_line(arguments, command="config")
    names = [text for text in line.overrides if "=" not in text]
    other = [text.removeprefix("diff=") for text in line.overrides if text.startswith("diff=")]
    rest = [text for text in line.overrides if text not in names and not text.startswith("diff=")]
    own = any(text.startswith(("task=", "skill=")) for text in rest)
    by_experiment = not names and any(text.startswith("experiment=") for text in rest)
    if (len(names) + own != 1 and not by_experiment) or len(other) > 1:
        raise ConfigError(
            f"config got '{' '.join(line.overrides)}', expected one task, then key=value. "
            "`unlatch config --help` shows it."
        )
    chosen = [f"task={name}" for name in names]
    values, request = _compose([*chosen, *rest], line.config_dirs)
    if other:
        common = [text for text in rest if not text.startswith(("task=", "skill=", "part=", "openness="))]
        others, _ = _compose([f"task={other[0]}", *common], line.config_dirs)
        for text in _list_differences(values, others):
            print_line(text)
        return OK
    for text in _list_values(values, find_origins("collect", request)):
        print_line(text)
    return OK


def _compose(overrides: list[str], config_dirs: list[str]) -> tuple[dict[str, Any], Request]:
    """Returns the values by full key in their order, and the request they were composed from.

    Raises:
        ConfigError: A key or a value is wrong, as for `collect`.
    """
    from unlatch.configs.derived_request import derive_request  # it imports the strategies

    request = derive_request("collect", CollectCfg, Request(overrides, config_dirs))
    _, _, values = read_config("collect", CollectCfg, request)
    return dict(iterate_leaves(values, "", into_lists=True)), request


def _list_values(values: Mapping[str, Any], origins: Mapping[str, str]) -> Iterator[str]:
    """Yields a line for each value, in blocks of one origin."""
    last = ""
    for key, value in values.items():
        origin = origin_of(key, origins)
        if origin != last:
            yield f"# {origin}"
            last = origin
        yield f"{key}: {_format_value(value)}"


def _list_differences(values: Mapping[str, Any], others: Mapping[str, Any]) -> Iterator[str]:
    for key in [*values, *(key for key in others if key not in values)]:
        first, second = (_format_value(found[key]) if key in found else "-" for found in (values, others))
        if first == second:
            continue
        if len(key) + len(first) + len(second) > 70:  # longer differences are printed on three lines
            yield f"{key}:\n  {first}\n  {second}"
        else:
            yield f"{key}: {first} | {second}"


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value)


@command
def schema_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    _, rest = split_paths("schema", arguments, exactly=0)
    out = [text.removeprefix("out=") for text in rest]
    if len(out) > 1 or any(not text.startswith("out=") for text in rest):
        raise ConfigError(f"schema got '{' '.join(rest)}', expected out=FILE or nothing. Remove the rest.")
    text = json.dumps(task_schema(), indent=1)
    if not out:
        print_line(text)
        return OK
    path = user_path(out[0])
    try:
        path.write_text(f"{text}\n", encoding="utf-8")
    except OSError as exc:
        raise ConfigError(f"{path} cannot be written: {exc.strerror}. Choose another out=.", key="out") from exc
    print_line(f"schema: {path}")
    return OK


@command
def doctor_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    if arguments:
        raise ConfigError(f"doctor got '{' '.join(arguments)}', expected nothing. Remove it.")
    broken = []
    for finding in describe_installation():
        advice = f" -> {finding.advice}" if finding.advice else ""
        print_row(finding.name, f"{finding.value}{advice}", width=17)
        if finding.broken:
            broken.append(finding.name)
    if broken:
        print_wrapped(f"{len(broken)} to repair: {', '.join(broken)}")
        return FAILED
    print_wrapped("Everything that Unlatch needs is there. Extras are optional.")
    return OK


_QUERY = "words"
"""First argument with which the scripts ask for words."""


@command
def completion_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    if arguments[:1] == [_QUERY]:
        for word in complete(arguments[1:], make_catalog()):
            print_line(word)
        return OK
    if len(arguments) != 1 or arguments[0] not in SHELLS:
        raise ConfigError(
            f"completion got '{' '.join(arguments)}', expected one of: {', '.join(SHELLS)}. Name your shell."
        )
    script = files("unlatch.workflows.templates") / f"completion_{arguments[0]}.txt"
    print_line(script.read_text(encoding="utf-8").rstrip())
    return OK
