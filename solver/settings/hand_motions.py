"""Reads motions of the hand before and after the goal, as planner settings list them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unlatch.simcore.errors import ConfigError, close_matches
from unlatch.solver.terms.term import read_number

MOTION_WORDS: dict[str, tuple[int, float]] = {
    "move-backward": (0, -0.1),
    "move-down": (2, -0.06),
    "move-forward": (0, 0.1),
    "move-left": (1, 0.08),
    "move-right": (1, -0.08),
    "move-up": (2, 0.06),
}
"""Words of the lists of motions: axis of the arm's base frame and distance [m]."""

MOTION_MODES = ("translate_x", "translate_y", "translate_z", "translate_out", "rotate")
"""Modes of a motion: along an axis of the ee frame [m], out of the front of the region that something is put into or
taken from [m], or about the object's joint [rad]."""
REGION_FRONT = "region_front"
"""Axis of a scene that points out of the front of its region."""


@dataclass(frozen=True)
class MotionReading:
    """How the listed motions of a setting move the hand."""

    R_ee_hand: np.ndarray = field(default_factory=lambda: np.eye(3))
    """(3, 3) rotation of the frame in which `translate_x`, `_y` and `_z` are stated, in the ee frame."""
    turn_sign: float = 1.0
    """-1 where `rotate` turns against the joint position."""


def read_list(value: Any, where: str) -> list[Any]:
    """Returns a value as a plain list.

    Raises:
        ConfigError: It is a text, a mapping or a single value.
    """
    if isinstance(value, str | Mapping) or not hasattr(value, "__iter__"):
        raise ConfigError(f"{where} is a {type(value).__name__}, expected a list.", key=where)
    return list(value)


def read_motion(entry: Any, where: str, *, words: bool) -> list[Any]:
    """Reads [mode, value] or, where words are allowed, a word such as `move-up`; it becomes [word, its distance in m].

    Raises:
        ConfigError: It is neither.
    """
    if words and isinstance(entry, str) and entry in MOTION_WORDS:
        return [entry, MOTION_WORDS[entry][1]]
    known = [*MOTION_MODES, *(MOTION_WORDS if words else ())]
    pair = [entry] if isinstance(entry, str) else read_list(entry, where)
    if len(pair) != 2 or pair[0] not in known:
        near = close_matches(pair[0], known) if pair and isinstance(pair[0], str) else ""
        raise ConfigError(
            f"{where}={entry!r} is not a motion.{near} Expected [mode, value] with a mode of {', '.join(MOTION_MODES)}"
            + (f", or a word of {', '.join(MOTION_WORDS)}." if words else "."),
            key=where,
        )
    bound = 6.3 if pair[0] == "rotate" else 2.0
    return [pair[0], read_number(pair[1], where, lower=-bound, upper=bound)]
