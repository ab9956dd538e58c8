"""The code that made earlier episodes: what has changed since, which episodes are made again, and which frames of a
traceback lie in the code of a user.
"""

from __future__ import annotations

import platform
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unlatch.simcore.errors import RecordingError, count_noun
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.registry import DISTRIBUTION
from unlatch.workflows.runs.code_versions import (
    COMPARED_DISTRIBUTIONS,
    MADE_WITH,
    NOTED_DISTRIBUTIONS,
    CodeVersions,
    Packages,
    digest_file,
    find_places,
    find_plugins,
    library_folders,
    versions_of,
)
from unlatch.workflows.runs.progress import read_run_times
from unlatch.workflows.runs.schema import Retry

_MOST_REASONS = 3
"""Largest number of reasons in a message."""


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


def changes_since(evidence: Mapping[str, Any], code: CodeVersions) -> list[str]:
    """Returns what has changed since an `error` was made, in words; empty: nothing has.

    A file of its traceback that does not exist here is not compared: the episode may come from another computer.

    Args:
        evidence: That of the episode.
        code: The present code.
    """
    noted = evidence.get(MADE_WITH)
    then = noted.get("packages") if isinstance(noted, dict) else None
    files = noted.get("files") if isinstance(noted, dict) else None
    if not isinstance(then, dict) or not isinstance(files, dict):
        return ["it is not known which code made them"]
    changes = [
        _describe_change(name, then.get(name), code.packages.get(name))
        for name in sorted({*then, *code.packages})
        if then.get(name) != code.packages.get(name)
    ]
    return changes or [
        f"{Path(name).name} has changed"
        for name, digest in sorted(files.items())
        if (now := digest_file(Path(name))) is not None and now != digest
    ]


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
    count, differing = 0, set[str]()
    for run in read_run_times(data_set):
        names = {name for name, noted in run.packages.items() if dict(noted) != dict(now.get(name, {}))}
        if names:
            count += run.episodes
            differing |= names if run.episodes else set()
    return count, ", ".join(sorted(differing))


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
        retry: Whether all of these are chosen, or those whose code has changed; not `Retry.never`.
        code: The code that would make them now.
    """
    if retry is Retry.all:
        return Retries(list(candidates), Counter({"retry=all": len(candidates)}), are_errors=False)
    if retry is Retry.error:
        return Retries(list(candidates), Counter({"retry=error": len(candidates)}))
    numbers, reasons = [], Counter[str]()
    for number in candidates:
        try:
            changes = changes_since(data_set.read(number, arrays=False).evidence, code)
        except RecordingError:  # another writer is replacing it
            continue
        if changes:
            numbers.append(number)
            reasons.update(changes)
    return Retries(numbers, reasons)


_FRAME = re.compile(r'^ *File "(?P<file>.+?)", line \d+(?:, in .*)?\n(?: {4,}(?!File ").*\n?)*', re.MULTILINE)
_MARKS = re.compile(r"[\s~^]*")
"""A line below the code of a frame that underlines a part of it."""


def frames_to_show(record: EpisodeRecord) -> list[str]:
    """Returns lines with the last frames of an `error` that lie in the code of a user, see `user_frames`.

    If no frame does, the innermost frame. Empty for an episode without a traceback, such as one whose worker died.
    """
    noted, trace = record.evidence.get(MADE_WITH), str(record.evidence.get("traceback", ""))
    packages = noted.get("packages") if isinstance(noted, dict) else None
    found = user_frames(trace, packages if isinstance(packages, dict) else ())
    if not found and 'File "' in str(record.evidence.get("message", "")):  # the message says where the mistake is
        return []
    return found or _lines_of([text for _, text in _split_frames(trace)][-1:])


def user_frames_of_plugins(traceback: str) -> list[str]:
    """As `user_frames`, where all installed plugins count as code of a user."""
    return user_frames(traceback, find_plugins())


def user_frames(traceback: str, packages: Iterable[str]) -> list[str]:
    """Returns the last frames of a traceback that lie in the code of a user, as lines of text, the innermost last.

    Each frame has a line with file, line number and function, and one with the code.

    Args:
        traceback: As Python prints it.
        packages: Names of installed top-level modules that count as code of a user: plugins and policies.
    """
    known = [*library_folders(), *find_places(DISTRIBUTION)]
    users = [place for name in packages if name != DISTRIBUTION for place in find_places(name)]
    return _lines_of(
        [
            text
            for path, text in _split_frames(traceback)
            if not str(path).startswith("<") and (_is_in(path, users) or not _is_in(path, known))
        ][-3:]  # largest number of frames that are shown of a traceback
    )


def _split_frames(traceback: str) -> list[tuple[Path, str]]:
    """Returns file and text of every frame, the innermost last."""
    return [(Path(found["file"]), found[0]) for found in _FRAME.finditer(traceback)]


def _lines_of(frames: Iterable[str]) -> list[str]:
    return [line.rstrip() for text in frames for line in text.splitlines() if not _MARKS.fullmatch(line)]


def _is_in(path: Path, places: Iterable[Path]) -> bool:
    return any(path.is_relative_to(place) for place in places)
