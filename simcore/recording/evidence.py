"""What a record shows of its attempt: joints, forbidden contacts, speeds; or an error that names what it lacks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.episode import EpisodeRecord

Array = np.ndarray

MAX_JOINT_SPEED = 5.0
"""Joint speed above which an attempt is invalid [rad/s or m/s]."""
FORBIDDEN_VIEWS = ("fingers_base", "forbid_collision", "environment")
"""Contact views in which a force above the threshold is a collision."""

HOLD_PHASE = 8
"""Value of `skills.phase` while a handle is held."""

_ARM_VIEW = ("robot", "arm", "object", "view")
"""Words of the name of a contact view that belongs to one arm."""
_NUMBER = (int, float)
_ENTRY_TYPES: dict[str, dict[str, tuple[type, ...]]] = {
    "skills": {"name": (str,), "collision_valid_enabled": (bool,), "process_valid_enabled": (bool,)},
    "acting skills": {"object": (str,), "joint_index": (int,), "success_mode": (str,), "success_threshold": _NUMBER},
    "goal.conditions": {"object": (str,), "joint_index": (int,), "kind": (str,), "value": _NUMBER},
}


def check_entries(record: EpisodeRecord) -> None:
    """Raises unless skills and goal conditions have what a verdict reads of them.

    Raises:
        RecordingError: An entry lacks a key, or its value is of another type.
    """
    conditions = record.goal.get("conditions", [])
    acting = [s for s in record.skills if isinstance(s, dict) and s.get("success_mode") is not None]
    for place, entries in (("skills", record.skills), ("acting skills", acting), ("goal.conditions", conditions)):
        for index, entry in enumerate(entries):
            for key, types in _ENTRY_TYPES[place].items():
                value = entry.get(key) if isinstance(entry, dict) else None
                if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
                    raise RecordingError(
                        f"Episode {record.number} has {key}={value!r} in entry {index} of its {place}, expected "
                        f"{' or '.join(t.__name__ for t in types)}. The record is incomplete.",
                        key=key,
                    )


def arms_beside(record: EpisodeRecord, skill: Mapping[str, Any]) -> frozenset[str]:
    """Arms that act side by side with that of a skill, in the same stage of the chain.

    Args:
        record: The attempt.
        skill: Entry of `skills`.
    """
    stage = skill.get("stage")
    if stage is None:
        return frozenset()
    arms = {str(other.get("arm")) for other in record.skills if other.get("stage") == stage}
    return frozenset(arms - {str(skill.get("arm"))})


def forbidden_rows(
    record: EpisodeRecord, rows: slice, threshold_n: float, *, without: frozenset[str] = frozenset()
) -> list[tuple[int, str, float]]:
    """First forbidden contact of each view: (row, view, force [N]), the earliest first.

    Args:
        record: The attempt.
        rows: Rows to look at.
        threshold_n: Force above which a contact counts [N].
        without: Arms whose views are another skill's.
    """
    found = []
    for key, force in interval_arrays(record, "contacts.", ".force_max_n"):
        view = key[len("contacts.") : -len(".force_max_n")]
        words = view.split(".")
        if len(words) == len(_ARM_VIEW) and words[1] in without:
            continue
        above = np.flatnonzero(force[rows] > threshold_n)
        if above.size and view.rpartition(".")[2] in FORBIDDEN_VIEWS:
            row = int(above[0]) + rows.start
            found.append((row, view, float(force[row])))
    return sorted(found)


def overspeed_rows(record: EpisodeRecord, rows: slice) -> list[tuple[int, str, float]]:
    """First overspeed of each robot and object: (row, name, speed [rad/s or m/s]), the earliest first.

    Args:
        record: The attempt.
        rows: Rows to look at.
    """
    found = []
    for key, speed in interval_arrays(record, "speeds.", ".max"):
        above = np.flatnonzero(speed[rows] > MAX_JOINT_SPEED)
        if above.size:
            row = int(above[0]) + rows.start
            found.append((row, key.split(".")[1], float(speed[row])))
    return sorted(found)


def hold_rows(record: EpisodeRecord, skill: Mapping[str, Any], start: int, end: int) -> Array:
    """(end - start,) rows of a skill in which it held: those of the phase `hold`.

    Args:
        record: The attempt.
        skill: Entry of `skills`.
        start: State frame at which it began.
        end: State frame at which it ended.
    """
    key = f"skills.{skill['arm']}.phase" if "arm" in skill else "skills.phase"
    phases = record.arrays.get(key)
    if phases is None:
        raise RecordingError(
            f"Episode {record.number} has no array '{key}', which the verdict of a hold needs. The record is "
            "incomplete.",
            key=key,
        )
    rows: Array = phases[start + 1 : end + 1] == HOLD_PHASE
    return rows


def start_position(skill: Mapping[str, Any], s: Array) -> float:
    """The joint position that a skill measures from: its `s0`, which must be a recorded position.

    Args:
        skill: Entry of `skills`.
        s: (T+1,) positions of its joint [rad or m].

    Returns:
        `s0` if that is the position when the skill began, else the one at episode start [rad or m].
    """
    at_start = float(s[skill["frame_start"]])
    return at_start if skill.get("s0") == at_start else float(s[0])


def joint_positions(record: EpisodeRecord, entry: Mapping[str, Any]) -> Array:
    """(T+1,) position of the joint that a skill or condition names [rad or m]."""
    key, column = f"objects.{entry['object']}.joint_positions", entry["joint_index"]
    array = record.arrays.get(key)
    if array is None or array.ndim != 2 or not isinstance(column, int) or not 0 <= column < array.shape[1]:
        raise RecordingError(
            f"Episode {record.number} has no column {column!r} of '{key}', which its verdict needs. "
            "The record is incomplete.",
            key=key,
            column=column,
        )
    s: Array = array[:, column]
    return s


def interval_arrays(record: EpisodeRecord, prefix: str, suffix: str) -> list[tuple[str, Array]]:
    """Arrays of contacts or speeds by key, sorted.

    Raises:
        RecordingError: There are actions and no such array.
    """
    found = [(k, a) for k, a in sorted(record.arrays.items()) if k.startswith(prefix) and k.endswith(suffix)]
    if not found and record.n_actions:
        raise RecordingError(
            f"Episode {record.number} has no array '{prefix}...{suffix}', which its verdict needs. "
            "The record is incomplete.",
            key=f"{prefix}*{suffix}",
        )
    return found


def frame_of(entry: Mapping[str, Any], key: str, n_actions: int) -> int:
    """A state frame that an entry names.

    Raises:
        RecordingError: It names none from 0 to `n_actions`.
    """
    frame = entry.get(key)
    if isinstance(frame, bool) or not isinstance(frame, int) or not 0 <= frame <= n_actions:
        raise RecordingError(
            f"'{key}' is {frame!r}, expected a state frame from 0 to {n_actions}. The record is incomplete.", key=key
        )
    return frame


def number_of(entry: Mapping[str, Any], key: str) -> float:
    """A number that an entry names.

    Raises:
        RecordingError: It names none that is finite.
    """
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise RecordingError(f"'{key}' is {value!r}, expected a finite number. The record is incomplete.", key=key)
    return float(value)
