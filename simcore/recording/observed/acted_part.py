"""Which part an arm acts on in a frame: the part of its current skill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unlatch.simcore.errors import RecordingError

Array = np.ndarray


@dataclass(frozen=True)
class ActedPart:
    """The part that one skill acts on."""

    skill: str
    """Name of the skill."""
    object: str
    part: str
    joint_index: int
    """Column of its joint in `objects.<object>.joint_positions`."""
    closed: float
    """Joint position of the closed part [rad or m]."""
    open: float
    """Joint position of the fully open part [rad or m]."""

    @property
    def span(self) -> float:
        """Distance from closed to fully open [rad or m]."""
        return abs(self.open - self.closed)

    def opening(self, positions: Array) -> Array:
        """Returns how far the part is from closed, towards open [rad or m], for (T, m) positions of the joints."""
        return (positions[:, self.joint_index] - self.closed) * (1.0 if self.open >= self.closed else -1.0) + 0.0


def recorded_parts(skills: Sequence[Mapping[str, Any]], *, number: int) -> list[ActedPart]:
    """Returns the part of each entry of `skills` in a record.

    Raises:
        RecordingError: An entry names no part.
    """
    return [_read_entry(entry, number=number) for entry in skills]


def _read_entry(entry: Mapping[str, Any], *, number: int) -> ActedPart:
    try:
        return ActedPart(
            skill=str(entry["name"]),
            object=str(entry["object"]),
            part=str(entry["part"]),
            joint_index=int(entry["joint_index"]),
            closed=float(entry["s_closed"]),
            open=float(entry["s_open"]),
        )
    except (KeyError, TypeError, ValueError) as exc:
        raise RecordingError(
            f"Episode {number} has a skill '{entry.get('name')}' without a part ({exc}). The columns of the task "
            "need object, part, joint_index, s_closed and s_open. Leave the episode out by only=[...], or "
            "choose other values of state.",
            number=number,
        ) from exc


def entry_indices(arrays: Mapping[str, Array], arm: str) -> Array:
    """Returns (T,) the index of the skill that an arm carries out in each frame, among the skills of the episode.

    An arm without a skill of its own takes the skill that began last; before the first skill, it takes the first.
    """
    current = np.asarray(arrays["skills.index"])
    own = np.asarray(arrays.get(f"skills.{arm}.index", current))
    return np.maximum(np.where(own >= 0, own, current), 0)
