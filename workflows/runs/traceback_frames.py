"""Which frames of a traceback lie in the code of a user: what is shown of an `error`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.registry import DISTRIBUTION
from unlatch.workflows.runs.code_versions import MADE_WITH, find_places, find_plugins, library_folders

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
