"""Loads every installed plugin, and says which are broken and where."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from unlatch.configs.config_files import CONFIGS_GROUP, TASKS, broken_plugin_folders, check_unique_names, plugin_folders
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.robots.catalog import ROBOTS
from unlatch.simcore.errors import DuplicateEntryError, UnlatchError, close_matches
from unlatch.simcore.recording.export.catalog import EXPORTERS
from unlatch.simcore.registry import Catalog, installed_entry_points
from unlatch.simcore.sim.annotators.catalog import ANNOTATORS
from unlatch.simcore.sim.renderers.catalog import RENDERERS
from unlatch.simcore.sim.sensors.catalog import SENSORS
from unlatch.skills.catalog import SKILLS
from unlatch.solver.terms.catalog import COSTS, TERMS
from unlatch.workflows.cli.finding import Finding
from unlatch.workflows.runs.retries.code_versions import find_places
from unlatch.workflows.viewing.viewers.catalog import VIEWERS

CATALOGS = {
    str(catalog.group): catalog
    for catalog in (
        ANNOTATORS,
        COSTS,
        EXPORTERS,
        GENERATORS,
        RENDERERS,
        ROBOTS,
        SENSORS,
        SKILLS,
        TASKS,
        TERMS,
        VIEWERS,
    )
}
"""Catalogs to which other distributions can add entries, by their group of entry points."""
_PREFIX = "unlatch."


def describe_plugins() -> Iterator[Finding]:
    """Loads every plugin of every group, and yields one finding for each, or one that says that there is none."""
    count = 0
    for group in sorted(group for group in entry_points().groups if group.startswith(_PREFIX)):
        for finding in _describe_group(group):
            count += 1
            yield finding
    if not count:
        yield Finding("plugins", "none")


def _describe_group(group: str) -> Iterator[Finding]:
    points = sorted(installed_entry_points(group), key=lambda point: point.name)
    if group == CONFIGS_GROUP:
        yield from _describe_folders()
    elif (catalog := CATALOGS.get(group)) is None:
        known = [*CATALOGS, CONFIGS_GROUP]
        for point in points:
            advice = f"Unlatch has no group '{group}'.{close_matches(group, known)} Known: {', '.join(sorted(known))}"
            yield Finding(f"plugin {point.name}", _describe_point(point), advice, broken=True)
    else:
        yield from (_check_plugin(catalog, point) for point in points)


def _check_plugin(catalog: Catalog, point: EntryPoint) -> Finding:
    label, value = f"{catalog.kind} {point.name}", _describe_point(point)
    try:
        catalog.check(point.name)
    except DuplicateEntryError as exc:
        # of the whole group; this one may be as good as any other
        return Finding(label, value, " ".join(exc.message.split()), broken=True)
    except (UnlatchError, SystemExit) as exc:  # a module may call sys.exit when it is imported
        cause = exc.__cause__ or exc
        problem = exc.message if isinstance(exc, UnlatchError) else f"it ends Python when it is imported: {exc!r}"
        place = _place_of(cause, point)
        return Finding(label, value, " ".join(problem.split()) + (f" ({place})" if place else ""), broken=True)
    return Finding(label, value)


def _describe_folders() -> Iterator[Finding]:
    for folder in plugin_folders():
        yield Finding("YAML files", f"{folder.origin}: {folder.package} ({folder.path})")
    for problem in broken_plugin_folders():
        origin, _, text = problem.partition(": ")
        yield Finding("YAML files", origin, f"{text}. Reinstall or fix that package.", broken=True)
    try:
        check_unique_names()
    except DuplicateEntryError as exc:
        yield Finding("YAML files", "twice", " ".join(exc.message.split()), broken=True)


def _describe_point(point: EntryPoint) -> str:
    origin = f"{point.dist.name} {point.dist.version}" if point.dist is not None else "an unknown package"
    return f"{origin}: {point.group} {point.name} = {point.value}"


def _place_of(exc: BaseException, point: EntryPoint) -> str:
    """Returns file and line of an error: the last line of the plugin that was run; empty if none was."""
    if isinstance(exc, SyntaxError) and exc.filename:
        return f"{exc.filename}, line {exc.lineno}"
    places = find_places(point.module.partition(".")[0])
    lines = [
        f"{frame.filename}, line {frame.lineno}"
        for frame in traceback.extract_tb(exc.__traceback__)
        if any(Path(frame.filename).is_relative_to(place) for place in places)
    ]
    return lines[-1] if lines else ""
