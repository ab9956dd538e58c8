"""What a record must state, and by what its verdict is computed, where both are derived from the configuration."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.json_values import plain

TOLERANCE = 1e-9
"""Largest difference of a derived number, absolute or relative: on another machine its last digits may differ."""


class _Absent:
    def __repr__(self) -> str:
        return "nothing"


ABSENT = _Absent()
"""As the value of a key: the record must not have the key."""


class CompleteMap(dict[str, Any]):
    """A map in `Criteria.statements` beside whose keys a record may have no others."""


@dataclass(frozen=True)
class Criteria:
    """What the configuration of a data set says of one episode."""

    statements: Mapping[str, Any] = field(default_factory=dict)
    """Values that the record must state, nested and named as in `episode.json`. `skills` has one map for each entry of
    the record. Keys that are not here are free."""
    problems: tuple[str, ...] = ()
    """What else in the record contradicts the configuration, or cannot be derived."""
    success_settle: Mapping[str, Any] = field(default_factory=dict)
    """What `settle` would state if the episode had succeeded in its last frame."""
    chain_length: int | None = None
    """Number of skills that must begin; None: not judged."""
    max_duration_s: float | None = None
    """Simulated time after which the episode fails [s]; None: the record decides."""
    targets_rest: bool = False
    """Whether the targets of all arms must not change while the scene settles."""
    own_conditions: tuple[int, ...] = ()
    """Indices of the entries of `skills` whose class has a condition of its own, which only its code can judge."""

    def differences(self, record: EpisodeRecord) -> Iterator[str]:
        """Yields each statement of a record that differs: its key, the value in the record, and the expected one."""
        for key, expected in self.statements.items():
            yield from _differences(key, expected, getattr(record, key))

    def apply_to(self, record: EpisodeRecord) -> EpisodeRecord:
        """Returns the record with the derived statements in place of its own."""
        return replace(record, **{key: _merge(value, getattr(record, key)) for key, value in self.statements.items()})


def _differences(where: str, expected: Any, got: Any) -> Iterator[str]:
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        for key, value in expected.items():
            yield from _differences(f"{where}.{key}", value, got.get(key, ABSENT))
        if isinstance(expected, CompleteMap):
            for key in sorted(map(str, got.keys() - expected.keys())):
                yield from _differences(f"{where}.{key}", ABSENT, got[key])
    elif isinstance(expected, list | tuple) and isinstance(got, list | tuple) and len(expected) == len(got):
        for index, value in enumerate(expected):
            yield from _differences(f"{where}[{index}]", value, got[index])
    elif not _is_equal(expected, got):
        yield f"{where} is {_show(got)} in the record, expected {_show(expected)} by the configuration."


def _is_equal(expected: Any, got: Any) -> bool:
    if expected is ABSENT or got is ABSENT:
        return expected is got
    a, b = plain(expected), plain(got)
    if isinstance(a, bool) or isinstance(b, bool) or not isinstance(a, int | float) or not isinstance(b, int | float):
        return type(a) is type(b) and a == b
    return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _show(value: Any) -> str:
    if value is ABSENT:
        return repr(value)
    text = repr(plain(value))
    return text if len(text) <= 160 else f"{text[:157]}..."


def _merge(expected: Any, got: Any) -> Any:
    """Returns a value of a record with derived parts in place of its own."""
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        kept = {} if isinstance(expected, CompleteMap) else {k: v for k, v in got.items() if k not in expected}
        derived = {key: _merge(value, got.get(key)) for key, value in expected.items() if value is not ABSENT}
        return {**kept, **derived}
    if isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        return [_merge(value, got[index]) for index, value in enumerate(expected)]
    return expected
