"""The values that a configuration demands of a record, and the criteria by which the record is judged then."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from unlatch.simcore.errors import shorten
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.episode_json.structure import CONFIGURATION, Table
from unlatch.simcore.recording.json_values import plain

TOLERANCE = 1e-9
"""Largest difference of a derived number of a data set that another machine made, absolute or relative: there, its last
digits may differ."""


class _Marker:
    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


ABSENT = _Marker("nothing")
"""As the value of a key: the record must not have the key."""
RECORDED = _Marker("a value")
"""As the value of a key: the record must have the key. The configuration does not determine its value."""
POSSIBLE = _Marker("a value or nothing")
"""As the value of a key: the record may have the key. The configuration determines neither that nor its value."""


def undetermined(table: Table) -> dict[str, Any]:
    """Returns `RECORDED`, or `POSSIBLE` for an optional key, for each key that the configuration does not determine."""
    others = {key: field for key, field in table.items() if field.source != CONFIGURATION}
    return {key: POSSIBLE if field.optional else RECORDED for key, field in others.items()}


@dataclass(frozen=True)
class Criteria:
    """Demands of a configuration on the record of one episode."""

    statements: Mapping[str, Any] = field(default_factory=dict)
    """Values that the record must state, nested and named as in `episode.json`. `skills` has one map for each entry of
    the record. A map of the record has no other keys than the map here. Keys of `episode.json` that are not here at all
    are free."""
    problems: tuple[str, ...] = ()
    """Other contradictions between record and configuration, and values that cannot be derived."""
    success_settle: Mapping[str, Any] = field(default_factory=dict)
    """The value of `settle` of an episode that succeeds in its last frame."""
    chain_length: int | None = None
    """Number of skills that must begin; None: not judged."""
    max_duration_s: float | None = None
    """Simulated time after which the episode fails [s]; None: the record decides."""
    targets_rest: bool = False
    """Whether the targets of all arms must not change while the scene settles."""
    tolerance: float = 0.0
    """Largest difference of a float, absolute or relative; integers are exact."""
    own_conditions: tuple[int, ...] = ()
    """Indices of the entries of `skills` whose class has a condition of its own, which only its code can judge."""

    def differences(self, record: EpisodeRecord, *, by: str = "the configuration") -> Iterator[str]:
        """Yields each statement of a record that differs: its key, the value in the record, and the expected one.

        `by` says in messages what determines the expected values.
        """
        for key, expected in self.statements.items():
            for where, got, wanted in _differences(key, expected, getattr(record, key), self.tolerance):
                yield f"{where} is {_show(got)} in the record, expected {_show(wanted)} by {by}."

    def apply_to(self, record: EpisodeRecord) -> EpisodeRecord:
        """Returns the record with the derived statements in place of its own."""
        return replace(record, **{key: _merge(value, getattr(record, key)) for key, value in self.statements.items()})


def _differences(where: str, expected: Any, got: Any, tolerance: float) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        for key in [*expected, *sorted(got.keys() - expected.keys())]:
            yield from _differences(f"{where}.{key}", expected.get(key, ABSENT), got.get(key, ABSENT), tolerance)
    elif isinstance(expected, list | tuple) and isinstance(got, list | tuple) and len(expected) == len(got):
        for index, value in enumerate(expected):
            yield from _differences(f"{where}[{index}]", value, got[index], tolerance)
    elif not _is_equal(expected, got, tolerance):
        yield where, got, expected


def _is_equal(expected: Any, got: Any, tolerance: float) -> bool:
    if isinstance(expected, _Marker) or isinstance(got, _Marker):
        return expected is got or expected is POSSIBLE or (expected is RECORDED and got is not ABSENT)
    a, b = plain(expected), plain(got)
    if tolerance and isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)
    is_number = isinstance(a, int | float) and isinstance(b, int | float)
    return a == b and (type(a) is type(b) or (is_number and not isinstance(a, bool) and not isinstance(b, bool)))


def _show(value: Any) -> str:
    if isinstance(value, _Marker):
        return repr(value)
    return shorten(repr(plain(value)), 160)


def _merge(expected: Any, got: Any) -> Any:
    """Returns a value of a record with derived parts in place of its own."""
    if expected is RECORDED or expected is POSSIBLE:
        return got
    if isinstance(expected, Mapping):
        recorded = got if isinstance(got, Mapping) else {}
        merged = {key: _merge(value, recorded.get(key, ABSENT)) for key, value in expected.items()}
        return {key: value for key, value in merged.items() if value is not ABSENT}
    if isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        return [_merge(value, got[index]) for index, value in enumerate(expected)]
    return expected
