"""Names of the files that commands write into a data set for people to look at, and which of them are outdated."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

PHASES = "phases-{number}.png"
VIEW = "view-{number}.{format}"
CLIP = "clip-{number}.mp4"
REPORT = "report.html"


def remove_outdated(data_set: Path, numbers: Iterable[int]) -> list[str]:
    """Removes the files that show episodes which were made again, and the report; returns the names of those removed.

    Only files of the default names are removed. The commands that wrote them write them anew.

    Args:
        data_set: Folder of the data set.
        numbers: Numbers of the episodes that were made again.
    """
    again = set(numbers)
    if not again:
        return []
    known = {name.format(number=number) for number in again for name in (PHASES, CLIP)}
    views = tuple(VIEW.format(number=number, format="") for number in again)
    report = {REPORT, str(Path(REPORT).with_suffix(".json"))}
    found = [
        path
        for path in sorted(data_set.iterdir())
        if path.name in known | report or (path.name.startswith(views) and path.is_file())
    ]
    for path in found:
        path.unlink(missing_ok=True)
    return [path.name for path in found]
