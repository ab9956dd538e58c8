"""One line an episode, so that a report need not open every folder. It may be lost: the folders are the truth."""

from __future__ import annotations

import json
import logging
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unlatch.simcore.recording.codes import CODE_ORDER
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.json_values import plain

logger = logging.getLogger(__name__)

FOLDER = "index"
"""Name of the folder of all indices in a data set."""
REBUILT = "rebuilt"
"""Name of the index that `DataSet.rebuild_index` writes."""
_MAX_LINE_BYTES = 1 << 20


@dataclass(frozen=True)
class EpisodeSummary:
    """What a report counts by, of one episode."""

    number: int
    seed: int
    success: bool
    code: str | None
    n_actions: int
    state_sha256: str
    """Of `state.npz`: equal for equal runs."""
    timings_ms: dict[str, float]
    """Wall time of plan, reset, execute and write [ms]."""
    objects: dict[str, dict[str, Any]] | None = None
    """By object, its category and instance and what was drawn of its place; None in a line that does not tell."""

    @classmethod
    def of(cls, record: EpisodeRecord, *, state_sha256: str, n_actions: int) -> EpisodeSummary:
        """The summary of a record."""
        return cls(
            number=record.number,
            seed=record.seed,
            success=record.success,
            code=record.code,
            n_actions=n_actions,
            state_sha256=state_sha256,
            timings_ms=plain(record.timings_ms),
            objects=plain(objects_of(record)),
        )

    def line(self) -> bytes:
        """The line of the index file."""
        return json.dumps(asdict(self), sort_keys=True, allow_nan=False).encode() + b"\n"


def objects_of(record: EpisodeRecord) -> dict[str, dict[str, Any]]:
    """By object, `category`, `instance` and what was drawn of its place; what an attempt did not come to is left out.

    Args:
        record: The attempt; its arrays are not needed.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, instance in record.layout.get("instances", {}).items():
        found[name] = {key: instance[key] for key in ("category", "instance") if key in instance}
    for name, place in record.layout.get("objects", {}).items():
        found.setdefault(name, {}).update(place.get("drawn", {}))
    return found


def append_line(data_set: Path, worker: str, summary: EpisodeSummary) -> None:
    """Appends a line to a worker's index with one write.

    A failure is logged only: the episode is in its place, and its line is made again from its folder.
    """
    try:
        folder = data_set / FOLDER
        folder.mkdir(exist_ok=True)
        descriptor = os.open(folder / f"{worker}.jsonl", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            size = os.fstat(descriptor).st_size
            line = summary.line()
            # a line that was cut off (disk full, machine lost) must not swallow the next one
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
    except OSError as exc:
        logger.warning("Index of '%s' was not extended (%s); the episode itself is safe.", data_set, exc)


def read_lines(data_set: Path) -> Iterator[EpisodeSummary]:
    """Every readable line of every index; damaged lines are skipped."""
    for line in read_raw_lines(data_set):
        summary = parse_line(line)
        if summary is not None:
            yield summary


def read_raw_lines(data_set: Path) -> Iterator[bytes]:
    """Every line of every index, as it is."""
    for path in sorted((data_set / FOLDER).glob("*.jsonl")):
        with path.open("rb") as file:
            while line := file.readline(_MAX_LINE_BYTES):
                yield line


def write_all(data_set: Path, summaries: Iterable[EpisodeSummary], *, scratch: Path) -> None:
    """Replaces every index by one.

    Args:
        data_set: Folder of the data set.
        summaries: One summary an episode.
        scratch: An empty folder on the same file system.
    """
    folder = data_set / FOLDER
    folder.mkdir(exist_ok=True)
    old = sorted(folder.glob("*.jsonl"))
    new = scratch / "index.jsonl"
    with new.open("wb") as file:
        for summary in summaries:
            file.write(summary.line())
        file.flush()
        os.fsync(file.fileno())
    new.replace(folder / f"{REBUILT}.jsonl")
    for path in old:
        if path.stem != REBUILT:
            path.unlink(missing_ok=True)


def parse_line(line: bytes) -> EpisodeSummary | None:
    """The summary that a line holds; None if it is damaged."""
    try:
        content: Any = json.loads(line)
        summary = EpisodeSummary(**content)
    except (ValueError, TypeError, RecursionError):
        return None
    typed = (
        type(summary.number) is int
        and type(summary.seed) is int
        and type(summary.success) is bool
        and summary.success == (summary.code is None)
        and (summary.code is None or summary.code in CODE_ORDER)
        and type(summary.n_actions) is int
        and isinstance(summary.state_sha256, str)
        and isinstance(summary.timings_ms, dict)
        and all(type(value) in (int, float) and math.isfinite(value) for value in summary.timings_ms.values())
        and isinstance(summary.objects, dict | None)
    )
    return summary if typed else None
