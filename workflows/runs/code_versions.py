"""What a data set is made with: configuration, versions and code."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import sysconfig
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.library import describe_object_set
from unlatch.simcore.errors import RecordingError
from unlatch.simcore.files import read_bounded
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.json_values import plain
from unlatch.simcore.registry import DISTRIBUTION, installed_version

Packages = Mapping[str, Mapping[str, str]]
"""Code by name of the top-level module: `version` of its distribution or "", and `sha256` of its Python files."""
COMPARED_DISTRIBUTIONS = ("unlatch", "pybullet", "casadi")
"""Distributions whose versions must be equal for two runs to write into one data set."""
NOTED_DISTRIBUTIONS = ("coacd", "hydra-core", "numpy", "ompl", "scipy", "trimesh")
"""Further distributions whose versions are noted."""
MADE_WITH = "made_with"
"""Key of the evidence of an `error`."""
_CLOCK_ERROR_S = 1.0
"""How much too early psutil says that a process began, at most [s]: on Linux it counts from a boot time in whole
seconds. A file that was saved just before a run has not changed during it; a change while Python still imports Unlatch
is missed."""
_ENTRY_POINTS = "unlatch."
"""Beginning of the entry-point groups of plugins."""
_TRACED_FILE = re.compile(r'^\s*File "(.+?)", line \d+', re.MULTILINE)


def versions_of(names: tuple[str, ...]) -> dict[str, str]:
    """Returns the versions of installed distributions by name."""
    return {name: installed_version(name) or "not installed" for name in names}


@dataclass(frozen=True)
class CodeVersions:
    """Versions and checksums of the packages that make the episodes of a run."""

    packages: Packages

    @classmethod
    def of(cls, config: Any, *, policy: str | None = None) -> CodeVersions:
        """Reads the code of Unlatch, of the plugins that a configuration names, and of a policy.

        Args:
            config: The configuration as plain values. An installed plugin counts if one of its entry points has a name
                that is a value in it.
            policy: Name of the top-level module that defines the policy, see `policy_module`; None: there is none.
        """
        modules = {DISTRIBUTION: installed_version(DISTRIBUTION) or "", **find_plugins(set(_each_text(config)))}
        if policy is not None:
            modules.setdefault(policy, installed_version(policy) or "")
        return cls({name: {"version": version, "sha256": _digest_code(name)} for name, version in modules.items()})

    def note_in(self, record: EpisodeRecord) -> None:
        """Adds the code to the evidence of an episode that ended as `error`, with the files of its traceback."""
        if record.code == "error":
            files = self._digest_traced_files(str(record.evidence.get("traceback", "")))
            record.evidence[MADE_WITH] = {"packages": self.packages, "files": files}

    def _digest_traced_files(self, traceback: str) -> dict[str, str]:
        """Returns checksums of the files in a traceback that belong to none of the packages, nor to an installed one.

        A file that was changed while this process ran has the checksum "", which no file has: the error may come from
        its earlier content.
        """
        known = [*library_folders(), *(place for name in self.packages for place in find_places(name))]
        import psutil  # an episode without an error does not need it

        began = psutil.Process().create_time() + _CLOCK_ERROR_S
        return {
            str(path): "" if path.stat().st_mtime > began else digest
            for path in sorted({Path(name) for name in _TRACED_FILE.findall(traceback)})
            if not any(path.is_relative_to(place) for place in known) and (digest := digest_file(path)) is not None
        }


def find_plugins(names: Container[str] | None = None) -> dict[str, str]:
    """Returns top-level modules of the installed plugins that have one of these names, with their versions.

    None stands for any name.
    """
    return {
        point.module.partition(".")[0]: found.version
        for found in distributions()
        for point in found.entry_points
        if point.group.startswith(_ENTRY_POINTS) and (names is None or point.name in names)
    }


def _each_text(value: Any) -> Iterator[str]:
    """Yields every text in a value of maps and lists."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _each_text(item)
    elif isinstance(value, list):
        for item in value:
            yield from _each_text(item)


def find_places(module: str) -> list[Path]:
    """Returns the folders or the file of an installed top-level module, or of one in the current folder.

    Nothing is imported. Of a script, `__main__`, it is the script; a module without files has no place.
    """
    if module == "__main__":
        script = getattr(sys.modules.get(module), "__file__", None)
        return [Path(script)] if script else []
    try:
        spec = find_spec(module) or PathFinder.find_spec(module, [str(Path.cwd())])
    except (ImportError, ValueError):  # the module was made by other means than an import
        return []
    if spec is None:
        return []
    if spec.submodule_search_locations is not None:
        return [Path(place) for place in spec.submodule_search_locations]
    return [Path(spec.origin)] if spec.has_location and spec.origin else []


def _files_in(place: Path) -> Iterator[Path]:
    """Yields the Python files below a folder, or the file itself."""
    if not place.is_dir():
        yield place
    for folder, folders, files in os.walk(place, followlinks=True):  # of a checkout, `unlatch/` holds links
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        yield from (Path(folder, name) for name in sorted(files) if name.endswith(".py"))


def _digest_code(module: str) -> str:
    """Returns the SHA-256 over the checksums of a module's files; a file that cannot be read counts as empty."""
    digest = hashlib.sha256()
    for place in find_places(module):
        for path in _files_in(place):
            digest.update((digest_file(path) or "").encode())
    return digest.hexdigest()


def digest_file(path: Path) -> str | None:
    """Returns the SHA-256 of a file; None if it is missing or cannot be read."""
    try:
        # the path may come from a data set of somebody else: a device would be read for ever
        return hashlib.sha256(read_bounded(path, limit=16 << 20)).hexdigest()
    except (RecordingError, ValueError):
        return None


@cache
def library_folders() -> list[Path]:
    """Returns the folders of Python's own modules and of installed packages, also those that an environment shares."""
    own = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return [*own, *(Path(entry) for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages"))]


def header_of(cfg: EpisodeCfg) -> dict[str, Any]:
    """Returns the header of a data set whose episodes have this configuration.

    It holds the episode's configuration, the versions of the simulation, and the objects that an episode may draw. It
    leaves out where objects are stored, because that does not change an episode.

    Raises:
        ConfigError, AssetError: There are no objects to draw from.
    """
    config = plain({item.name: getattr(cfg, item.name) for item in fields(EpisodeCfg)})
    for item in (config["object"], *config["objects"]):
        del item["cache_dir"]
        item["root"] = None
    config["randomization"] = plain(cfg.randomization.to_dict())
    if not cfg.stand.is_used:  # sets of versions without stands are continued
        del config["stand"]
    header = {"config": config, "versions": versions_of(COMPARED_DISTRIBUTIONS)}
    sets = {name: found for name, item in cfg.all_objects().items() if (found := describe_object_set(item))}
    return {**header, "objects": sets} if sets else header
