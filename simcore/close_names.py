"""Finds the names that somebody may have meant by a wrong one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LEAST_RATIO = 0.75
"""Names that have less in common with a wrong one are not proposed, unless one slip of the keyboard lies between."""
_NEARNESS_BAND = 0.15
"""Names that are less near than the nearest one by more than this are not proposed."""
_CONTAINED = 0.95
_FURTHER_WORD = 0.05
"""Nearness of a name that has all words of the wrong one, less this for each further word."""
_LEAST_BEGINNING = 3
"""Letters that a beginning of a name has at least, as in `ref` for `refrigerator`."""
_SAME_THING = {
    "bin": "trash_can",
    "cupboard": "cabinet",
    "freezer": "refrigerator",
    "fridge": "refrigerator",
    "grasp": "pick",
    "lay": "place",
    "pull": "open",
    "put": "place",
    "shut": "close",
    "tap": "faucet",
    "turn": "rotate",
}
"""Words that people write for a thing that has another name here."""


def find_close_names(name: str, available: Iterable[str]) -> list[str]:
    """Returns at most three names that a misspelt or incomplete one may stand for, the nearest first.

    None is much further off than the nearest. Of equally near names, those that come first in `available` come first.
    """
    nearness = {other: _measure_nearness(name, other) for other in available}
    least = max(nearness.values(), default=0.0) - _NEARNESS_BAND
    near = (other for other in nearness if nearness[other] > 0.0 and nearness[other] >= least)
    return sorted(near, key=lambda other: -nearness[other])[:3]


def _measure_nearness(name: str, other: str) -> float:
    """Returns how near a name is to another one, from 0 (nobody means the one who writes the other) to 1.

    That is the share of letters that they have in common, in their order. A name whose words are all in the other one,
    such as `panda` in `franka_panda`, is at least nearly the same, whatever else the other one says.
    """
    written, b = (text.lower().replace("-", "_") for text in (name, other))
    meant = "_".join(_SAME_THING.get(word, word) for word in written.split("_"))
    return max(_compare(written, b), _compare(meant, b))


def _compare(a: str, b: str) -> float:
    words, others = set(a.split("_")), set(b.split("_"))
    contained = _CONTAINED - _FURTHER_WORD * len(others - words) if words <= others else 0.0
    ratio = difflib.SequenceMatcher(None, b, a).ratio()
    is_near = ratio >= _LEAST_RATIO or _is_one_slip(a, b) or (len(a) >= _LEAST_BEGINNING and b.startswith(a))
    return max(contained, ratio if is_near else 0.0)


def _is_one_slip(a: str, b: str) -> bool:
    """Returns whether one letter is wrong, missing or too much, or two neighbours are exchanged."""
    start = _count_common(a, b)
    end = _count_common(a[start:][::-1], b[start:][::-1])
    rest_a, rest_b = a[start : len(a) - end], b[start : len(b) - end]
    return min(len(a), len(b)) > 1 and (
        max(len(rest_a), len(rest_b)) <= 1 or (len(rest_a) == 2 and rest_a == rest_b[::-1])
    )


def _count_common(a: str, b: str) -> int:
    """Returns how many letters two texts have in common at their beginnings."""
    return next(
        (index for index, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b))
    )
