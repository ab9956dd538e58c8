"""The index of a data set: one line an episode, and the summaries of all episodes from it. It can be rebuilt from the
folders.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.errors import FormatVersionError, RecordingError
from unlatch.simcore.files import sync_path
from unlatch.simcore.recording.episode import STATE_FILE, EpisodeRecord
from unlatch.simcore.recording.episode_folders import SHARD_SIZE, EpisodeFolders
from unlatch.simcore.recording.episode_structure import Kind, kind_problems
from unlatch.simcore.recording.json_values import plain
from unlatch.simcore.recording.policy_outcome import PolicyOutcome, end_share
from unlatch.simcore.recording.success_rules import CODE_ORDER, NO_FAILURES

logger = logging.getLogger(__name__)

INDEX_FOLDER = "index"
"""Name of the folder of all indices in a data set."""
REBUILT = "rebuilt"
"""Name of the index that `DataSet.rebuild_index` writes."""
_MAX_LINE_BYTES = 1 << 20
_DEFAULTS = {"replans": 0, "range_share": None}
"""Values that a line leaves out."""
_KINDS: dict[str, Kind] = {
    **{"number": int, "seed": int, "success": bool, "code": (str, None), "n_actions": int, "state_sha256": str},
    **{"timings_ms": {str: float}, "objects": {str: object}, "replans": int, "range_share": (float, None)},
}
"""Types of the values of a line."""
_NUMBER = re.compile(rb'"number": (\d{1,10})[,}]')


@dataclass(frozen=True)
class EpisodeSummary:
    """The values of one episode that reports need."""

    number: int
    seed: int
    success: bool
    code: str | None
    n_actions: int
    state_sha256: str
    """Checksum of `state.npz`: equal for equal runs."""
    timings_ms: dict[str, float]
    """Wall time of plan, reset, execute and write [ms]."""
    objects: dict[str, dict[str, Any]]
    """Category, instance and drawn placement values of every object, by name."""
    policy: PolicyOutcome | None = None
    """How far a policy came, if its episode went on after broken rules."""
    replans: int = 0
    """How often a skill was broken off and planned anew, not counting parts that were moved before contact."""
    range_share: float | None = None
    """Where the part of a success ends on its way through its range, see `end_share`; None: it failed, or the line
    is of an earlier version."""

    @classmethod
    def of(cls, record: EpisodeRecord, state: bytes) -> EpisodeSummary:
        """Makes the summary of a record and the bytes of its `state.npz`."""
        return cls(
            number=record.number,
            seed=record.seed,
            success=record.success,
            code=record.code,
            n_actions=record.n_actions,
            state_sha256=hashlib.sha256(state).hexdigest(),
            timings_ms=plain(record.timings_ms),
            objects=plain(_describe_objects(record)),
            policy=PolicyOutcome.of(record),
            replans=sum(skill.get("code") not in (None, *NO_FAILURES) for skill in record.skills),
            range_share=_find_range_share(record),
        )

    def line(self) -> bytes:
        """Returns the line of the index file."""
        values = asdict(self)
        values = {key: value for key, value in values.items() if key not in _DEFAULTS or value != _DEFAULTS[key]}
        return json.dumps(values, sort_keys=True, allow_nan=False).encode() + b"\n"


def _find_range_share(record: EpisodeRecord) -> float | None:
    """Returns the share of a success; None if the entry of its last skill is not complete."""
    if not record.success or not record.skills:
        return None
    try:
        share = end_share(record.skills[-1])
    except (KeyError, TypeError, ZeroDivisionError):
        return None
    return round(share, 6) if math.isfinite(share) else None


def _describe_objects(record: EpisodeRecord) -> dict[str, dict[str, Any]]:
    """Returns `category`, `instance`, the side that is down and the drawn placement values of every object, by name."""
    found: dict[str, dict[str, Any]] = {}
    for name, instance in record.layout.get("instances", {}).items():
        found[name] = {key: instance[key] for key in ("category", "instance", "rests_on") if key in instance}
    for name, place in record.layout.get("objects", {}).items():
        found.setdefault(name, {}).update(place.get("drawn", {}))
    return found


def append_line(data_set: Path, worker: str, summary: EpisodeSummary) -> None:
    """Appends a line to a worker's index with one write.

    A failure is only logged: the episode is safe, and its line can be made from its folder.
    """
    try:
        folder = data_set / INDEX_FOLDER
        folder.mkdir(exist_ok=True)
        descriptor = os.open(folder / f"{worker}.jsonl", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            size = os.fstat(descriptor).st_size
            line = summary.line()
            # a line that was cut off (disk full, machine lost) must not join the next one
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
    except OSError as exc:
        logger.warning("Index of '%s' was not extended (%s); the episode itself is safe.", data_set, exc)


def read_lines(data_set: Path) -> Iterator[EpisodeSummary]:
    """Yields the summary of every readable line of every index; damaged lines are skipped."""
    return filter(None, map(parse_line, read_raw_lines(data_set)))


def read_raw_lines(data_set: Path) -> Iterator[bytes]:
    """Yields every line of every index as it is."""
    for path in sorted((data_set / INDEX_FOLDER).glob("*.jsonl")):
        with path.open("rb") as file:
            while line := file.readline(_MAX_LINE_BYTES):
                yield line


def erase_lines(data_set: Path, numbers: Collection[int]) -> None:
    """Overwrites the lines of some episodes with blanks, in every index.

    Files keep their sizes, so other processes can append to them at the same time.

    Raises:
        OSError: An index cannot be written.
    """
    for path in sorted((data_set / INDEX_FOLDER).glob("*.jsonl")):
        with path.open("r+b") as file:
            for line in iter(partial(file.readline, _MAX_LINE_BYTES), b""):
                if number_of_line(line) in numbers:
                    length = len(line.rstrip(b"\n"))
                    os.pwrite(file.fileno(), b" " * length, file.tell() - len(line))
            os.fsync(file.fileno())


def number_of_line(line: bytes) -> int | None:
    """Returns the episode number of a line without reading the rest; None for a blank or damaged line."""
    match = _NUMBER.search(line)
    return None if match is None else int(match[1])


def write_index(data_set: Path, summaries: Iterable[EpisodeSummary], *, scratch: Path) -> None:
    """Replaces all indices by one; `scratch` is an empty folder on the same file system."""
    folder = data_set / INDEX_FOLDER
    folder.mkdir(exist_ok=True)
    old = sorted(folder.glob("*.jsonl"))
    new = scratch / "index.jsonl"
    with new.open("wb") as file:
        file.writelines(summary.line() for summary in summaries)
    sync_path(new)
    new.replace(folder / f"{REBUILT}.jsonl")
    for path in old:
        if path.stem != REBUILT:
            path.unlink(missing_ok=True)


def parse_line(line: bytes) -> EpisodeSummary | None:
    """Returns the summary of a line; None if the line is damaged."""
    try:
        content: Any = json.loads(line)
        summary = EpisodeSummary(**{**content, "policy": PolicyOutcome.from_dict(content.get("policy"))})
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    is_formed = not any(any(kind_problems(getattr(summary, key), kind, key)) for key, kind in _KINDS.items())
    is_coded = summary.success == (summary.code is None) and (summary.code is None or summary.code in CODE_ORDER)
    return summary if is_formed and is_coded else None


Array = np.ndarray

OnDamaged = Callable[[int, RecordingError], None]
"""Called with the number of an episode that cannot be read, and why."""

_MASK = (1 << 64) - 1
_NO_EPISODE, _NO_LINE, _LINES_DIFFER, _YIELDED, _LEAST_FINGERPRINT = 0, 1, 2, 3, 4


def each_summary_of(
    data_set: EpisodeFolders, read: Callable[[int], EpisodeRecord], on_damaged: OnDamaged | None
) -> Iterator[EpisodeSummary]:
    """Yields the summary of every episode, in any order.

    It comes from the index. If an episode has no line there, or lines that differ, it comes from the episode's folder.
    `read` reads and verifies an episode. Without `on_damaged`, the error of an episode that cannot be read is raised.

    Raises:
        RecordingError: An episode without a line in the index cannot be read.
        FormatVersionError: It was written in a format that this version does not read.
    """
    reader = _IndexReader(data_set)
    yield from reader.indexed()
    for number in reader.unindexed():
        try:
            summary = summary_from_folder(data_set, read(number))
        except FormatVersionError:
            raise
        except RecordingError as exc:
            if on_damaged is None:
                raise
            on_damaged(number, exc)
        else:
            yield summary


def summary_from_folder(data_set: EpisodeFolders, record: EpisodeRecord) -> EpisodeSummary:
    """Returns the summary of an episode, made from its folder."""
    return EpisodeSummary.of(record, (data_set.folder_of(record.number) / STATE_FILE).read_bytes())


class _IndexReader:
    """Reads an index in two passes without holding its lines in memory: a set may have ten million."""

    def __init__(self, data_set: EpisodeFolders) -> None:
        """Reads the index once."""
        self._path = data_set.path
        self._marks: dict[int, Array] = {}
        """By shard, (SHARD_SIZE,) uint64: one of the marks above, or the fingerprint of the episode's only line."""
        for number in data_set.each_number():
            shard, place = divmod(number, SHARD_SIZE)
            if shard not in self._marks:
                self._marks[shard] = np.zeros(SHARD_SIZE, dtype=np.uint64)
            self._marks[shard][place] = _NO_LINE
        for line, marks, place in self._lines():
            fingerprint = _fingerprint(line)
            if marks[place] != fingerprint:
                marks[place] = fingerprint if marks[place] == _NO_LINE else _LINES_DIFFER

    def indexed(self) -> Iterator[EpisodeSummary]:
        """Yields the summary of every existing episode whose index lines agree, once, in the order of the index."""
        for line, marks, place in self._lines():
            if marks[place] != _fingerprint(line):
                continue  # lines differ, or the summary was yielded before
            summary = parse_line(line)
            marks[place] = _LINES_DIFFER if summary is None else _YIELDED
            if summary is not None:
                yield summary

    def unindexed(self) -> Iterator[int]:
        """Yields the numbers of the existing episodes that `indexed` has not yielded; call it after `indexed`."""
        for shard in sorted(self._marks):
            marks = self._marks[shard]
            for place in np.flatnonzero((marks != _NO_EPISODE) & (marks != _YIELDED)):
                yield shard * SHARD_SIZE + int(place)

    def _lines(self) -> Iterator[tuple[bytes, Array, int]]:
        """Yields every line about an existing episode, with the marks of its shard and its place in them."""
        for line in read_raw_lines(self._path):
            number = number_of_line(line)
            if number is None:
                continue
            shard, place = divmod(number, SHARD_SIZE)
            marks = self._marks.get(shard)
            if marks is not None and marks[place] != _NO_EPISODE:
                yield line, marks, place


def _fingerprint(line: bytes) -> int:
    return max(hash(line.rstrip(b"\n")) & _MASK, _LEAST_FINGERPRINT)  # compared within this process only
