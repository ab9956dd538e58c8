"""`unlatch list`: lists the available tasks, skills, robots, objects and so on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from textwrap import wrap

from unlatch.simcore.errors import ConfigError, close_matches
from unlatch.workflows.cli.arguments import parse_command_line
from unlatch.workflows.cli.command import run_command
from unlatch.workflows.cli.console import OK, print_line, terminal_width

HELP = """usage: unlatch list tasks|skills|robots|objects|sensors|cameras|planners|randomizations|experiments|executors|
                    launchers|annotators|renderers|terms|exporters [--config-dir FOLDER]
       unlatch list data [FOLDER]

Prints one line for each entry: its name and what it is. `list data` lists the data sets below a folder (default:
data), with task, robot, seed, attempts and successes. With --config-dir, entries of your own folder are listed too.
"""


_LEAST_COLUMN = 20
"""Characters that a column of summaries needs at least."""


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return run_command(argv, HELP, _main)


def _main(arguments: list[str]) -> int:
    if arguments and arguments[0] == "data" and len(arguments) <= 2:
        for line in data_lines(Path(arguments[1] if len(arguments) == 2 else "data")):
            print_line(line)
        return OK
    asked = parse_command_line(arguments)
    if len(asked.overrides) != 1 or asked.overrides[0] not in LISTS:
        got = " ".join(arguments)
        known = ", ".join([*LISTS, "data [FOLDER]"])
        raise ConfigError(f"list '{got}' is unknown.{close_matches(got, [*LISTS, 'data'])} Expected one of: {known}.")
    for text in LISTS[asked.overrides[0]](asked.config_dirs):
        print_line(text)
    return OK


def data_lines(folder: Path) -> list[str]:
    """One line a data set below a folder, by path.

    Args:
        folder: Where to look.

    Raises:
        ConfigError: There is no such folder, or no data set below it.
    """
    from unlatch.workflows.runs.data_folders import data_sets_below

    return _aligned([(str(path), data_line(path)) for path in data_sets_below(folder)])


def data_line(path: Path) -> str:
    """What a data set holds, from its header and its index."""
    from unlatch.simcore.errors import SimCoreError
    from unlatch.simcore.recording.data_set.data_set import DataSet
    from unlatch.workflows.runs.corrupt_episodes import Damaged
    from unlatch.workflows.runs.statistics import RunStatistics

    damaged = Damaged()
    try:
        data_set = DataSet.open(path)
        statistics = RunStatistics.of(data_set.each_summary(damaged.add))
    except SimCoreError as exc:
        return f"damaged: {exc.message}"
    config = data_set.header.get("config", {})
    names = [str(config.get(key, {}).get("name", "?")) for key in ("task", "robot")]
    policy = data_set.header.get("policy")
    made_by = [f"policy {policy}"] if policy else []
    return ", ".join([*names, f"seed {config.get('seed', '?')}", *made_by, statistics.success_text(), *damaged.short()])


def task_lines(own: Sequence[str] = ()) -> list[str]:
    """One line a task: its name and its summary, read from its YAML without composing it."""
    import yaml

    from unlatch.configs.folders import yaml_files
    from unlatch.configs.task_catalog import TASKS

    rows = [(name, entry.summary) for name, entry in TASKS.entries().items()]
    for path in yaml_files("task", own).values():
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        rows.append((path.stem, str(content.get("task", {}).get("summary", ""))))
    return _aligned(sorted(rows))


def object_lines(own: Sequence[str] = ()) -> list[str]:
    """One line an object: the name for `object=...`, and the first line of its YAML."""
    from unlatch.configs.folders import yaml_files

    rows = [(name, _first_comment(path)) for name, path in yaml_files("object", own).items()]
    return _aligned(
        [*rows, ("PATH", "any URDF, or a folder of one object or many, with skill=open, close or rotate, no task")]
    )


def skill_lines(own: Sequence[str] = ()) -> list[str]:
    """One line a skill; of our own, with its page."""
    from unlatch.skills.catalog import SKILLS

    rows = []
    for name, entry in SKILLS.entries().items():
        page = f" (docs/skills/{name}.md)" if entry.target.startswith("unlatch.skills.") else ""
        rows.append((name, entry.summary + page))
    return _aligned(rows)


def robot_lines(own: Sequence[str] = ()) -> list[str]:
    """One line a robot: those of the catalog, then those of YAML files alone."""
    from unlatch.configs.folders import yaml_files
    from unlatch.robots.catalog import ROBOTS

    rows = [(name, entry.summary) for name, entry in ROBOTS.entries().items()]
    alone = [(name, path) for name, path in yaml_files("robot", own).items() if name not in ROBOTS.names()]
    return _aligned([*rows, *((name, _first_comment(path)) for name, path in alone)])


def sensor_lines(own: Sequence[str] = ()) -> list[str]:
    """One line a sensor: the name for `sensors=[...]` and the first line of its YAML; then the types of sensors."""
    from unlatch.configs.folders import yaml_files
    from unlatch.simcore.sim.sensors.catalog import SENSORS

    rows = [(name, _first_comment(path)) for name, path in yaml_files("sensor", own).items()]
    rows += [(f"type: {name}", entry.summary) for name, entry in SENSORS.entries().items()]
    return _aligned(rows)


def group_lines(group: str, own: Sequence[str] = ()) -> list[str]:
    """One line a YAML file of a group: its name and its first comment.

    Args:
        group: Such as `camera`.
        own: Folders of the user's own.
    """
    from unlatch.configs.folders import yaml_files

    return _aligned([(name, _first_comment(path)) for name, path in yaml_files(group, own).items()])


def annotator_lines(own: Sequence[str] = ()) -> list[str]:
    """One line an annotator."""
    from unlatch.simcore.sim.annotators.catalog import ANNOTATORS

    return _aligned([(name, entry.summary) for name, entry in ANNOTATORS.entries().items()])


def renderer_lines(own: Sequence[str] = ()) -> list[str]:
    """One line a renderer: the name for `render DATA renderer=...`."""
    from unlatch.simcore.sim.renderers.catalog import RENDERERS

    return _aligned([(name, entry.summary) for name, entry in RENDERERS.entries().items()])


def term_lines(own: Sequence[str] = ()) -> list[str]:
    """One line a constraint or cost type."""
    from unlatch.solver.terms.catalog import COSTS, TERMS

    rows = [(name, entry.summary) for catalog in (TERMS, COSTS) for name, entry in catalog.entries().items()]
    return _aligned(rows)


def exporter_lines(own: Sequence[str] = ()) -> list[str]:
    """One line a format of `unlatch export`."""
    from unlatch.simcore.recording.export.catalog import EXPORTERS

    return _aligned([(name, entry.summary) for name, entry in EXPORTERS.entries().items()])


LISTS: dict[str, Callable[[Sequence[str]], list[str]]] = {
    "tasks": task_lines,
    "skills": skill_lines,
    "robots": robot_lines,
    "objects": object_lines,
    "sensors": sensor_lines,
    "cameras": partial(group_lines, "camera"),
    "planners": partial(group_lines, "planner"),
    "randomizations": partial(group_lines, "randomization"),
    "experiments": partial(group_lines, "experiment"),
    "executors": partial(group_lines, "executor"),
    "launchers": partial(group_lines, "launcher"),
    "annotators": annotator_lines,
    "renderers": renderer_lines,
    "terms": term_lines,
    "exporters": exporter_lines,
}
"""What can be listed."""


def _first_comment(path: Path) -> str:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# ") and "@package" not in line:
            return line[2:]
    return ""


def _aligned(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Names and summaries below one another; on a terminal, summaries that are longer go on in their column."""
    width = max((len(name) for name, _ in rows), default=0)
    lines = [f"{name:<{width}}  {summary}".rstrip() for name, summary in rows]
    room = terminal_width()
    if room <= width + _LEAST_COLUMN:
        return lines
    return [part for line in lines for part in wrap(line, room, subsequent_indent=" " * (width + 2))]
