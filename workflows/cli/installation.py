"""What `unlatch doctor` finds: Python, packages, extras, engine, compiler, renderer, CPU, disk, cache and plugins."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from unlatch import __version__
from unlatch.configs.config_files import CONFIGS_GROUP, TASKS, broken_plugin_folders, plugin_folders
from unlatch.configs.group_files import check_unique_names
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.robots.catalog import ROBOTS
from unlatch.simcore.cache import CACHE_VARIABLE, cache_root, foreign_access
from unlatch.simcore.catalogs import ANNOTATORS, EXPORTERS, RENDERERS
from unlatch.simcore.errors import ConfigError, DuplicateEntryError, UnlatchError, WorldError, close_matches
from unlatch.simcore.extras import clone_folder, extra_packages, install_command
from unlatch.simcore.registry import Catalog, installed_entry_points
from unlatch.simcore.sim.renderers.auto import choose_renderer, pygfx_is_installed
from unlatch.simcore.sim.sensors.config import SENSORS
from unlatch.skills.catalog import SKILLS
from unlatch.solver.compiled_functions import COMPILE_VARIABLE, find_compiler, store_folder
from unlatch.solver.term_kinds import COSTS, TERMS
from unlatch.workflows.runs.code_versions import find_places
from unlatch.workflows.viewing.viewers import VIEWERS


@dataclass(frozen=True)
class Finding:
    """One fact about the installation."""

    name: str
    value: str
    advice: str = ""
    """What to do in one line; empty if nothing is needed."""
    broken: bool = False
    """Whether it must be repaired: commands that every user needs fail, or a plugin that somebody installed."""


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
        for folder in plugin_folders():
            yield Finding("YAML files", f"{folder.origin}: {folder.package} ({folder.path})")
        for problem in broken_plugin_folders():
            origin, _, text = problem.partition(": ")
            yield Finding("YAML files", origin, f"{text}. Reinstall or fix that package.", broken=True)
        try:
            check_unique_names()
        except DuplicateEntryError as exc:
            yield Finding("YAML files", "twice", " ".join(exc.message.split()), broken=True)
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


PROGRAM = "unlatch"
"""Name of this distribution."""
_LEAST_PYTHON = {"lerobot": (3, 12)}
"""Extras of which no version runs with the oldest Python that is supported."""
_LOW_DISK_GB = 2.0
"""Free space below which `unlatch doctor` gives advice [GB]; a data set of 1,000 episodes takes about as much."""


def describe_installation() -> Iterator[Finding]:
    """Yields the facts in the order in which they are printed; slow ones come last."""
    from loky import cpu_count  # only here: it takes longer to import than all else

    yield Finding(PROGRAM, f"{__version__} ({Path(__file__).resolve().parents[2]})")
    yield from describe_packages()
    yield describe_engine()
    yield Finding("cores", str(cpu_count()))
    yield describe_cache()
    yield describe_compiler()
    yield describe_renderer()
    yield from describe_plugins()


def describe_packages(name: str = PROGRAM) -> Iterator[Finding]:
    """Yields Python, the required packages, and one line for each extra, all by the metadata of a distribution."""
    running = platform.python_version()
    try:
        metadata = distribution(name).metadata
    except PackageNotFoundError:
        yield Finding("Python", running)
        yield Finding(
            "packages",
            "unknown",
            f"{name} is not installed, its folder is on the path only: pip install -e "
            f"{shlex.quote(str(clone_folder() or 'FOLDER'))}",
            broken=True,
        )
        return
    accepted = SpecifierSet("".join(metadata.get_all("Requires-Python") or []))
    fits = accepted.contains(running, prereleases=True)
    advice = (
        "" if fits else f"{name} needs Python {accepted}: make an environment with such a Python, and install there"
    )
    yield Finding("Python", f"{running} on {platform.system()} {platform.machine()}", advice, broken=not fits)
    required = [Requirement(text) for text in metadata.get_all("Requires-Dist") or []]
    yield _describe_core([item for item in required if _is_needed(item, extra="")])
    for extra in metadata.get_all("Provides-Extra") or []:
        own = [item for item in required if _is_needed(item, extra=extra) and not _is_needed(item, extra="")]
        yield _describe_extra(name, extra, own)


def describe_engine() -> Finding:
    """Returns the version of PyBullet, whether it was built with NumPy, and whether the physics loop in C fits it."""
    installed = _installed("pybullet")
    if installed is None:
        return Finding("engine", "none", "Unlatch simulates with PyBullet: pip install pybullet", broken=True)
    from unlatch.simcore.sim.core import bound_library  # only here: without PyBullet, these fail
    from unlatch.simcore.sim.world import gives_arrays

    try:
        bound_library()
    except UnlatchError as exc:
        return Finding("engine", f"PyBullet {installed}", exc.message, broken=True)
    if gives_arrays():
        return Finding("engine", f"PyBullet {installed}, with NumPy")
    advice = "images are slow, results are the same: docs/start.md, Python 3.12 and 3.13"
    return Finding("engine", f"PyBullet {installed}, without NumPy", advice)


def describe_cache() -> Finding:
    """Returns the cache folder, its free space, and whether it can be written."""
    root = cache_root()
    existing = next(folder for folder in (root, *root.parents) if folder.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as exc:
        advice = f"{existing} cannot be written ({exc.strerror}): set {CACHE_VARIABLE} to a folder that can"
        return Finding("cache", str(root), advice, broken=True)
    if (problem := foreign_access(store_folder())) is not None:
        advice = f"compiled programs there are not used, planning is slower: {problem}"
        return Finding("cache", f"{root} (writable)", advice)
    free_gb = shutil.disk_usage(existing).free / 1e9
    advice = "" if free_gb >= _LOW_DISK_GB else f"little space: free some, or set {CACHE_VARIABLE} to another disk"
    return Finding("cache", f"{root} (writable, {free_gb:.1f} GB free)", advice)


def describe_compiler() -> Finding:
    """Returns the C compiler that makes machine code of the solver's functions."""
    found = find_compiler()
    if found is not None:
        return Finding("compiler", f"{found[0]} ({found[1].splitlines()[0] if found[1] else 'no version'})")
    if os.environ.get(COMPILE_VARIABLE, "1") == "0":
        return Finding("compiler", "off", f"planning is slower, results are the same: unset {COMPILE_VARIABLE}")
    return Finding("compiler", "none", "planning is slower, results are the same: install gcc or clang")


def describe_renderer() -> Finding:
    """Returns the renderer that `auto` takes for pictures, and its graphics driver."""
    try:
        name = choose_renderer()
    except ConfigError as exc:
        return Finding("renderer", "none", exc.message, broken=True)
    if name == "pygfx":
        from unlatch.simcore.sim.renderers.pygfx import open_device

        info = open_device().adapter.info
        return Finding("renderer", f"{name} on {info['device']} ({info['backend_type']}, {info['adapter_type']})")
    return Finding("renderer", f"{name}, on the processor", _renderer_advice())


def _renderer_advice() -> str:
    if not pygfx_is_installed():
        return f"to draw on a graphics card: {install_command('render')}"
    from unlatch.simcore.sim.renderers.pygfx import open_device

    try:
        open_device()
    except (WorldError, ImportError, OSError) as exc:
        return " ".join(str(exc).split())
    return ""


def _is_needed(requirement: Requirement, *, extra: str) -> bool:
    """Returns whether a requirement holds on this machine with an extra; `""` is without any."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _describe_core(required: list[Requirement]) -> Finding:
    wrong = [problem for item in required if (problem := _problem_of(item))]
    versions = ", ".join(f"{item.name} {_installed(item.name) or 'missing'}" for item in required)
    if not wrong:
        return Finding("packages", versions)
    needed = " ".join(f"'{item.name}{item.specifier}'" for item in required if _problem_of(item))
    return Finding("packages", versions, f"{', '.join(wrong)}: pip install {needed}", broken=True)


def _describe_extra(name: str, extra: str, required: list[Requirement]) -> Finding:
    """Returns an extra: installed with versions, or what it lacks and the command that installs it."""
    wrong = [problem for item in required if (problem := _problem_of(item))]
    label = f"extra {extra}"
    if not wrong:
        return Finding(label, ", ".join(f"{item.name} {_installed(item.name)}" for item in required))
    state = "not installed" if len(wrong) == len(required) else ", ".join(wrong)
    if sys.version_info < (least := _LEAST_PYTHON.get(extra, (0, 0))):
        return Finding(
            label, state, "needs Python {}.{} or later, in an environment of its own: docs/start.md".format(*least)
        )
    packages = " ".join(map(shlex.quote, extra_packages(name, extra)))
    return Finding(label, state, install_command(extra) if name == PROGRAM else f"pip install {packages}")


def _problem_of(requirement: Requirement) -> str:
    """Returns what is wrong with an installed package; `""` if it fits the requirement."""
    installed = _installed(requirement.name)
    if installed is None:
        return f"{requirement.name} is missing"
    fits = requirement.specifier.contains(installed, prereleases=True)
    return "" if fits else f"{requirement.name} {installed} is not {requirement.specifier}"


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
