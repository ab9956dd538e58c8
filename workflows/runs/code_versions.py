"""What a data set was made with: configuration, versions and code; and which episodes are made again where the
code has changed.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
import sysconfig
import time
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.library import describe_object_set
from unlatch.simcore.errors import RecordingError, count_noun
from unlatch.simcore.files import read_bounded
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.json_values import plain
from unlatch.simcore.registry import DISTRIBUTION, installed_version
from unlatch.workflows.runs.schema import Retry

Packages = Mapping[str, Mapping[str, str]]
"""Code by name of the top-level module: `version` of its distribution, "" if it has none, and `sha256` of its Python
files."""
COMPARED_DISTRIBUTIONS = ("unlatch", "pybullet", "casadi")
"""Distributions whose versions must be equal for two runs to write into one data set."""
NOTED_DISTRIBUTIONS = ("coacd", "hydra-core", "numpy", "ompl", "scipy", "toppra", "trimesh")
"""Further distributions whose versions are noted."""
MADE_WITH = "made_with"
"""Key of the evidence of an `error`."""
_ENTRY_POINTS = "unlatch."
"""Beginning of the entry-point groups of plugins."""
_TRACED_FILE = re.compile(r'^\s*File "(.+?)", line \d+', re.MULTILINE)


def versions_of(names: tuple[str, ...]) -> dict[str, str]:
    """Returns the versions of installed distributions by name."""
    return {name: installed_version(name) or "not installed" for name in names}


def describe_machine(data_set: DataSet) -> str:
    """Returns the versions and the host that differ from those of a data set, for the end of a message.

    Derived numbers and replays may then differ without a forgery. Empty if nothing is known to differ.
    """
    found = [f"{name} {then}, here {now}" for name, (then, now) in differing_versions(data_set).items()]
    host: Any = data_set.info.get("host")
    if host is not None and host != platform.node():
        found.append(f"host {host}, here {platform.node()}")
    return f" The data set was made with {'; '.join(found)}." if found else ""


def differing_versions(data_set: DataSet) -> dict[str, tuple[str, str]]:
    """Returns (then, now) by name for the versions, of Python and platform too, that differ from a data set's."""
    then = {**data_set.info, **data_set.header.get("versions", {}), **data_set.info.get("versions", {})}
    now = versions_of((*COMPARED_DISTRIBUTIONS, *NOTED_DISTRIBUTIONS))
    now |= {"python": platform.python_version(), "platform": platform.platform()}
    return {name: (str(then[name]), now[name]) for name in now if name in then and str(then[name]) != now[name]}


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

    def changes_since(self, evidence: Mapping[str, Any]) -> list[str]:
        """Returns what has changed since an `error` was made, in words, by its evidence; empty: nothing has.

        A file of its traceback that does not exist here is not compared: the episode may come from another computer.
        """
        noted = evidence.get(MADE_WITH)
        then = noted.get("packages") if isinstance(noted, dict) else None
        files = noted.get("files") if isinstance(noted, dict) else None
        if not isinstance(then, dict) or not isinstance(files, dict):
            return ["it is not known which code made them"]
        changes = [
            _describe_change(name, then.get(name), self.packages.get(name))
            for name in sorted({*then, *self.packages})
            if then.get(name) != self.packages.get(name)
        ]
        return changes or [
            f"{Path(name).name} has changed"
            for name, digest in sorted(files.items())
            if (now := _digest_file(Path(name))) is not None and now != digest
        ]

    def _digest_traced_files(self, traceback: str) -> dict[str, str]:
        """Returns checksums of the files in a traceback that belong to none of the packages, nor to an installed one.

        A file that was changed while this process ran has the checksum "", which no file has: the error may come from
        its earlier content.
        """
        known = [*library_folders(), *(place for name in self.packages for place in find_places(name))]
        began = process_start()
        return {
            str(path): "" if path.stat().st_mtime > began else digest
            for path in sorted({Path(name) for name in _TRACED_FILE.findall(traceback)})
            if not any(path.is_relative_to(place) for place in known) and (digest := _digest_file(path)) is not None
        }


def process_start() -> float:
    """Returns when this process began, in seconds since the epoch, to a hundredth of a second.

    On Linux, psutil counts from a boot time in whole seconds, and so is up to a second early: a file that was written
    just before a run would seem to have changed during it.
    """
    if sys.platform != "linux":
        import psutil

        return psutil.Process().create_time()
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()  # the name in brackets may hold spaces
    since_boot = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + since_boot


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
            digest.update((_digest_file(path) or "").encode())
    return digest.hexdigest()


def _digest_file(path: Path) -> str | None:
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


def _describe_change(name: str, then: Any, now: Mapping[str, str] | None) -> str:
    if now is None:
        return f"{name} is not used now"
    if not isinstance(then, dict):
        return f"{name} was not used then"
    if then.get("version") != now["version"]:
        return f"{name} {then.get('version')} is {now['version']} now"
    return f"the code of {name} has changed"


def describe_mixed_code(data_set: Path, now: Packages | None = None) -> str:
    """Returns the packages whose code differs between episodes of a data set, in words; empty: none is known to.

    Args:
        data_set: Its folder; the code of each run is kept there.
        now: Code of episodes that are to be added; None: there are none.
    """
    from unlatch.workflows.runs.progress import read_run_times  # workers need no rich

    found: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for packages in [*(run.packages for run in read_run_times(data_set) if run.episodes), now or {}]:
        for name, noted in packages.items():
            found[name].add((str(noted.get("version", "")), str(noted.get("sha256", ""))))
    words = []
    for name, codes in sorted(found.items()):
        versions = sorted({version for version, _ in codes})
        if len(codes) > 1:
            words.append(f"{name} {' and '.join(versions)}" if len(versions) > 1 else name)
    return ", ".join(words)


def count_other_code(data_set: Path, now: Packages) -> tuple[int, str]:
    """Returns how many episodes of a data set were made with other code than `now`, and the packages that differ.

    Episodes that ended as `error`, and those of which the code is not known, do not count. The code of each run is
    kept in the folder of the data set.
    """
    from unlatch.workflows.runs.progress import read_run_times  # workers need no rich

    count, differing = 0, set[str]()
    for run in read_run_times(data_set):
        names = {name for name, noted in run.packages.items() if dict(noted) != dict(now.get(name, {}))}
        if names:
            count += run.episodes
            differing |= names if run.episodes else set()
    return count, ", ".join(sorted(differing))


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
    header = {"config": config, "versions": versions_of(COMPARED_DISTRIBUTIONS)}
    sets = {name: found for name, item in cfg.all_objects().items() if (found := describe_object_set(item))}
    return {**header, "objects": sets} if sets else header


_MOST_REASONS = 3
"""Largest number of reasons in a message."""


@dataclass(frozen=True)
class Retries:
    """Episodes that are made again, and why."""

    numbers: list[int]
    """Their numbers, sorted."""
    reasons: Counter[str]
    """How many of them have each reason."""
    are_errors: bool = True
    """Whether all of them ended as `error`."""

    def text(self) -> str:
        """Says in one line how many episodes are made again, and why."""
        count = count_noun(len(self.numbers), "episode")
        named = [reason for reason, _ in self.reasons.most_common(_MOST_REASONS)]
        more = [f"{len(self.reasons) - _MOST_REASONS} more reasons"] if len(self.reasons) > _MOST_REASONS else []
        which = f"{count} ended as `error`; " if self.are_errors else f"{count} of earlier runs; "
        return f"{which}made again now: {'; '.join([*named, *more])}"


def choose_retries(data_set: DataSet, candidates: Sequence[int], retry: Retry, code: CodeVersions) -> Retries:
    """Chooses among episodes of earlier runs.

    Args:
        data_set: Their data set.
        candidates: Numbers of those that ended as `error`, or of all with `Retry.all`; sorted.
        retry: Whether all of these are chosen, none, or those whose code has changed.
        code: The code that would make them now.
    """
    if retry is Retry.never:
        return Retries([], Counter())
    if retry is Retry.all:
        return Retries(list(candidates), Counter({"retry=all": len(candidates)}), are_errors=False)
    if retry is Retry.error:
        return Retries(list(candidates), Counter({"retry=error": len(candidates)}))
    numbers, reasons = [], Counter[str]()
    for number in candidates:
        try:
            changes = code.changes_since(data_set.read(number, arrays=False).evidence)
        except RecordingError:  # another writer is replacing it
            continue
        if changes:
            numbers.append(number)
            reasons.update(changes)
    return Retries(numbers, reasons)
