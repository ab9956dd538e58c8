"""Judges conditions on where a free object is, from the arrays of a record alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.geometry.rotations import matrix_from_quat_xyzw
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.measurements import read_number

Array = np.ndarray

OBJECT_CONDITIONS = ("inside", "on", "upright", "lifted")
"""Kinds of conditions that speak of a whole object, not of a joint."""


def root_positions(record: EpisodeRecord, name: str) -> Array:
    """Returns the (T+1, 3) positions of the root of an object [m].

    Raises:
        RecordingError: The record has none.
    """
    return _read(record, f"objects.{name}.root_position")


def object_value(record: EpisodeRecord, condition: Mapping[str, Any], frame: int, start: int) -> tuple[float, bool]:
    """Returns what a condition measures at a state frame [m or rad], and whether it holds there.

    Args:
        record: The record, with its arrays.
        condition: An entry of `conditions`.
        frame: The state frame.
        start: State frame from which `lifted` counts.

    Raises:
        RecordingError: The record lacks a value.
    """
    name, kind, wanted = condition["object"], condition["kind"], read_number(condition, "value")
    position = root_positions(record, name)
    if kind == "lifted":
        rise = float(position[frame, 2]) - float(position[start, 2])
        return rise, rise >= wanted
    R_world_root = matrix_from_quat_xyzw(_read(record, f"objects.{name}.root_quat_xyzw")[frame])
    if kind == "upright":
        x, y, z = R_world_root @ _numbers(condition, "up_axis", (3,))
        tilt = float(np.arctan2(np.hypot(x, y), z))
        return tilt, tilt <= wanted
    low, high = _numbers(condition, "bounds", (2, 3))
    signs = 2.0 * np.array(list(np.ndindex(2, 2, 2))) - 1.0  # (8, 3)
    center, half = 0.5 * (low + high), 0.5 * (high - low)
    outline, radius = center + signs * half, np.zeros(8)  # the outline of older records is the bounding box
    if "outline" in condition:
        rows = _numbers(condition, "outline", (4,), in_rows=True)
        outline, radius = rows[:, :3], rows[:, 3]
    # the middle, then the balls of the outline
    points = np.vstack([center, outline]) @ R_world_root.T + position[frame]
    if condition.get("of") is not None:
        place = f"regions.{condition['of']}.{condition['region']}"
        origin = _read(record, f"{place}.position")[frame]
        points = (points - origin) @ matrix_from_quat_xyzw(_read(record, f"{place}.quat_xyzw")[frame])
    size = [np.inf] * 3 if condition.get("size") is None else _numbers(condition, "size", (3,))
    middle, low, high = points[0], (points[1:].T - radius).min(axis=1), (points[1:].T + radius).max(axis=1)
    if kind == "on":
        out = max(abs(middle[0]) - size[0] / 2, abs(middle[1]) - size[1] / 2, abs(low[2]))
    else:
        sides = [max(-low[axis], high[axis]) - size[axis] / 2 for axis in (0, 1)]
        top = middle[2] if condition.get("open_above") else high[2]
        out = max(*sides, -low[2], top - size[2])
    return float(out), bool(out <= wanted)


def _numbers(condition: Mapping[str, Any], key: str, shape: tuple[int, ...], *, in_rows: bool = False) -> Array:
    """Returns the numbers of a key, or any number of rows of a shape."""
    try:
        found = np.asarray(condition.get(key), dtype=float)
    except (TypeError, ValueError):
        found = np.zeros(0)
    wanted = (*found.shape[:1], *shape) if in_rows else shape
    if found.shape != wanted or not np.isfinite(found).all():
        sizes = ", ".join(map(str, ["N", *shape] if in_rows else shape))
        raise RecordingError(
            f"'{key}' of a condition on '{condition.get('object')}' is {condition.get(key)!r}, expected numbers of "
            f"shape [{sizes}]. The record is incomplete.",
            key=key,
        )
    return found


def _read(record: EpisodeRecord, key: str) -> Array:
    found = record.arrays.get(key)
    if found is None:
        raise RecordingError(
            f"Episode {record.number} has no array '{key}', which its verdict needs. The record is incomplete.", key=key
        )
    return found
