"""Decides what a part is by its shape about the axis of its joint; its names decide only where its shape fits two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unlatch.objects.annotation import PartKind


@dataclass(frozen=True)
class PartShape:
    """How a part lies about the axis of its joint; lengths are shares of its reach."""

    reach: float
    """Its largest distance from the axis, in the units of the source."""
    offset: float
    """How far its middle is from the axis: 0 for what is round about it, 0.5 for a panel that turns about its edge."""
    along: float
    """Extent along the axis."""
    width: float
    """Extent of its far end along the axis: the edge of a panel is wide, the end of an arm narrow."""
    is_sheet: bool
    """Whether it is thin in the direction in which it moves."""
    is_loop: bool
    """Whether it is empty inside: arms from the axis carry the rest."""
    stands_free: bool
    """Whether the body is at one end of its axis only, so that a hand can come along the axis from the other."""
    covers: bool
    """Whether it hides most of the body from the side to which it opens."""
    radial: np.ndarray
    """(3,) unit direction from the axis to its far end, at right angles to the axis."""

    @property
    def is_balanced(self) -> bool:
        """Whether it reaches about as far to either side of its axis, as far as that can be told."""
        return self.offset <= _BESIDE[1]


_FAR = 0.7
"""Points beyond this share of the reach are far from the axis."""
_INSIDE, _BETWEEN = (0.2, 0.6), (0.3, 0.7)
"""The inside of a loop, in shares of the reach, from a rod on the axis to the grip, and of the extent along the axis,
from arm to arm."""


def measure_shape(
    points: np.ndarray, origin: np.ndarray, axis: np.ndarray, *, stands_free: bool, covers: bool
) -> PartShape:
    """Measures points (N, 3) all over a part about an axis through `origin` (3,) along the unit vector `axis` (3,)."""
    heights = (points - origin) @ axis
    across = points - origin - np.outer(heights, axis)  # (N, 3)
    reach = max(float(np.linalg.norm(across, axis=1).max()), 1e-12)
    distances = np.linalg.norm(across, axis=1) / reach
    middle = (across.min(axis=0) + across.max(axis=0)) / 2
    middle -= axis * float(middle @ axis)
    offset = float(np.linalg.norm(middle)) / reach
    radial = middle if offset > 0.1 else across[int(np.argmax(distances))]
    width = float(np.ptp(heights[distances >= _FAR])) / reach
    _, _, directions = np.linalg.svd(across - across.mean(axis=0), full_matrices=False)
    thickness = float(np.ptp(np.percentile(across @ directions[1], (5, 95)))) / reach  # a handle may stand out of it
    sides = (heights - heights.min()) / max(float(np.ptp(heights)), 1e-12)
    between = distances[(sides > _BETWEEN[0]) & (sides < _BETWEEN[1])]
    is_empty = not np.any((between > _INSIDE[0]) & (between < _INSIDE[1]))
    return PartShape(
        reach=reach,
        offset=offset,
        along=float(np.ptp(heights)) / reach,
        width=width,
        is_sheet=width > _BLADE and thickness < _SHEET * width,
        is_loop=bool(is_empty and distances.min() < _INSIDE[1] and np.any(between >= _INSIDE[1])),
        stands_free=stands_free,
        covers=covers,
        radial=radial / max(float(np.linalg.norm(radial)), 1e-12),
    )


_BESIDE = (0.25, 0.35)
"""Offset: below, a part is about its axis and reaches at most 1.7 times farther to one side of it than to the other;
above, it is beside its axis and reaches more than twice as far."""
_WIDE = (0.4, 0.6)
"""Width: below, the far end is the end of an arm; above, it is the edge of a panel, more than half as wide as long."""
_SHEET = 0.25
"""A sheet is thinner than this share of its width; an arm is about as thick as it is wide."""
_BLADE = 0.2
"""A sheet that is less wide is a blade, such as the flat arm of a lever."""

_PANEL, _LEVER, _KNOB = "a panel", "a lever", "a knob"

_RULES: tuple[tuple[str, str, Callable[[PartShape], bool]], ...] = (
    (_LEVER, "a loop on two arms", lambda s: s.is_loop and s.offset > _BESIDE[1]),
    (
        _PANEL,
        "a panel that turns about its edge",
        lambda s: s.offset > _BESIDE[1] and (s.width > _WIDE[0] or s.is_sheet),
    ),
    (_PANEL, "an arm that covers the body", lambda s: s.offset > _BESIDE[1] and s.covers),
    (
        _PANEL,
        "a panel that turns about its middle",
        lambda s: s.is_balanced and s.is_sheet and not s.stands_free,
    ),
    (_LEVER, "an arm beside its axis", lambda s: s.offset > _BESIDE[0] and s.width < _WIDE[1] and not s.is_sheet),
    (_KNOB, "it turns about its middle", lambda s: s.is_balanced and (s.stands_free or not s.is_sheet)),
)
"""What a part may be, why, and for which shapes. Where rules overlap, the names of the part decide, else the first."""
_NAMES = {
    _PANEL: {"door", "lid", "screen", "cover", "flap", "window", "gate", "leaf"},
    _LEVER: {"lever", "switch", "faucet", "tap", "lock", "latch", "handle"},
    _KNOB: {"knob", "dial", "wheel", "cap"},
}
"""Words that name a part, by what it is."""


def names_kind(names: str) -> bool:
    """Returns whether words, separated by blanks, name a kind of part."""
    return any(words & set(names.split()) for words in _NAMES.values())


def turning_kind(shape: PartShape, names: str, axis: np.ndarray, outward: np.ndarray) -> tuple[PartKind, str]:
    """Returns the kind of a part that turns, and the reason.

    Args:
        shape: Its shape, closed.
        names: What its files call it, in lower case, words separated by blanks.
        axis: (3,) unit axis of the joint in the root frame, z up.
        outward: (3,) unit direction in which its far end leaves the closed pose.
    """
    fitting: dict[str, str] = {}
    for what, reason, fits in _RULES:
        if fits(shape):
            fitting.setdefault(what, reason)
    what, reason = next(iter(fitting.items()))
    named = [each for each in fitting if _NAMES[each] & set(names.split())]
    if len(fitting) > 1 and len(named) == 1:
        what, reason = named[0], f"by its shape {' or '.join(fitting)}, and it is called '{names}'"
    kinds = {_PANEL: PartKind.of_hinge(axis, outward), _LEVER: PartKind.lever, _KNOB: PartKind.knob}
    return kinds[what], reason
