"""Reads what a verdict needs from a record: joints, contacts, speeds, and where free objects are.

`unlatch check` has compared the record with the tables of its keys before: it has the types and arrays that they state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.geometry import Array, matrix_from_quat_xyzw
from unlatch.simcore.recording import success_rules
from unlatch.simcore.recording.episode import EpisodeRecord

_ARM_VIEW = ("robot", "arm", "object", "view")
"""The words in the name of a contact view that belongs to one arm; other views have fewer words."""


def concurrent_arms(record: EpisodeRecord, skill: Mapping[str, Any]) -> frozenset[str]:
    """Returns the other arms that act in the same stage of the chain as a skill."""
    stage = skill.get("stage")
    if stage is None:
        return frozenset()
    arms = {str(other.get("arm")) for other in record.skills if other.get("stage") == stage}
    return frozenset(arms - {str(skill.get("arm"))})


def forbidden_rows(
    record: EpisodeRecord, rows: slice, rule: success_rules.SuccessRule, *, skipped_arms: frozenset[str] = frozenset()
) -> list[tuple[int, str, float, float]]:
    """Returns the first contact above a rule's forces in each view: (row, view, force [N], allowed force [N]).

    The earliest is the first. Views of `skipped_arms` are not searched: they belong to the skills of these arms.
    """
    allowed_n = rule.contact_force_threshold_n
    found = _first_rows_above(record, "contacts.", ".force_max_n", rows, allowed_n)
    views = ((row, view, force, view.split(".")) for row, view, force in found)
    of_robot = [
        (row, view, force, allowed_n)
        for row, view, force, words in views
        if words[-1] in success_rules.FORBIDDEN_VIEWS
        and not (len(words) == len(_ARM_VIEW) and words[1] in skipped_arms)
    ]
    return sorted(of_robot + list(_forbidden_object_rows(record, rows, rule)))


def _forbidden_object_rows(
    record: EpisodeRecord, rows: slice, rule: success_rules.SuccessRule
) -> Iterator[tuple[int, str, float, float]]:
    """Yields where an object is first pressed too hard, and where a bystander is first touched."""
    if rule.scene_force_threshold_n is None:
        return
    first = min(start for _, start in _begun_skills(record))
    for word in success_rules.OBJECT_VIEWS:
        for key, sustained in interval_arrays(record, "contacts.", f".{word}.force_sustained_n"):
            name = key.removeprefix("contacts.").removesuffix(".force_sustained_n")
            rest_n = float(sustained[first - 1]) if first else 0.0
            limits = [(sustained, rows, rule.scene_force_threshold_n + rest_n)]
            if word == success_rules.BYSTANDER_VIEW and rest_n == 0.0:
                end = _first_named(record, name.removesuffix(f".{word}"))
                earlier = slice(rows.start, end if rows.stop is None else min(rows.stop, end))
                limits.append((record.arrays[f"contacts.{name}.force_max_n"], earlier, rule.contact_force_threshold_n))
            for values, judged, allowed_n in limits:
                yield from ((*hit, allowed_n) for hit in _first_row_above(name, values, judged, allowed_n))


def _begun_skills(record: EpisodeRecord) -> list[tuple[Mapping[str, Any], int]]:
    """Returns the entries of skills that began, each with the state frame at which it did."""
    begun = (skill for skill in record.skills if skill.get("frame_start") is not None)
    return [(skill, read_frame(skill, "frame_start", record.n_actions)) for skill in begun]


def _first_named(record: EpisodeRecord, name: str) -> int:
    """Returns the state frame at which the first skill begins that acts on an object or has a condition on it."""
    starts = [
        start
        for skill, start in _begun_skills(record)
        if name == skill.get("object")
        or any(name in (item.get("object"), item.get("of")) for item in skill.get("conditions") or ())
    ]
    return min(starts, default=record.n_actions)


def overload_rows(
    record: EpisodeRecord, skill: Mapping[str, Any], rows: slice, limit_n: float
) -> list[tuple[int, str, float]]:
    """Returns where a finger of a skill's arm first bears more than a limit: (row, `<robot>.<arm>`, force [N])."""
    found = _first_rows_above(record, "contacts.", ".fingers.force_sustained_n", rows, limit_n)
    return [hit for hit in found if "arm" not in skill or hit[1].split(".")[1] == skill["arm"]]


def overspeed_rows(record: EpisodeRecord, rows: slice) -> list[tuple[int, str, float]]:
    """Returns the first overspeed of each robot and object: (row, name, speed [rad/s or m/s]), the earliest first."""
    return _first_rows_above(record, "speeds.", ".max", rows, success_rules.MAX_JOINT_SPEED)


def moved_object_rows(record: EpisodeRecord, skill: Mapping[str, Any], rows: slice) -> list[tuple[int, float, float]]:
    """Returns the first row in which the object of a skill, of which a part moves, has moved too far as a whole.

    Returns:
        [(row, distance [m], angle [rad])] from the state at which the rows begin; empty: it stayed, or is fastened.
    """
    key = f"objects.{skill.get('object')}.root"
    if skill.get("joint_index") is None or f"{key}_linear_velocity" not in record.arrays:
        return []
    end = None if rows.stop is None else rows.stop + 1
    places, quats = (record.arrays[f"{key}_{word}"][rows.start : end] for word in ("position", "quat_xyzw"))
    moved = np.linalg.norm(places - places[0], axis=1)
    turned = 2.0 * np.arccos(np.clip(np.abs(quats @ quats[0]), 0.0, 1.0))
    far = (moved > success_rules.MAX_OBJECT_MOVED_M) | (turned > success_rules.MAX_OBJECT_TURNED_RAD)
    return [(rows.start + int(at) - 1, float(moved[at]), float(turned[at])) for at in np.flatnonzero(far)[:1]]


def _first_rows_above(
    record: EpisodeRecord, prefix: str, suffix: str, rows: slice, limit: float
) -> list[tuple[int, str, float]]:
    """Returns where each array first exceeds a limit: (row, rest of the key, value), the earliest first."""
    found = []
    for key, values in interval_arrays(record, prefix, suffix):
        found += _first_row_above(key[len(prefix) : -len(suffix)], values, rows, limit)
    return sorted(found)


def _first_row_above(name: str, values: Array, rows: slice, limit: float) -> list[tuple[int, str, float]]:
    """Returns where an array first exceeds a limit: [(row, name, value)]; empty: nowhere."""
    above = np.flatnonzero(values[rows] > limit)
    return [(row, name, float(values[row])) for row in (above[:1] + rows.start).tolist()]


def hold_rows(record: EpisodeRecord, skill: Mapping[str, Any], start: int, end: int) -> Array:
    """Returns a (end - start,) mask of the rows in which a skill is in the phase `hold`; it ran from `start` on."""
    phases = record.arrays[f"skills.{skill['arm']}.phase" if "arm" in skill else "skills.phase"]
    return phases[start + 1 : end + 1] == success_rules.HOLD_PHASE


def arm_states(record: EpisodeRecord, skill: Mapping[str, Any], quantity: str) -> Array:
    """Returns the (T+1, n) `joint_positions` [rad] or `joint_velocities` [rad/s] of the arm of a skill."""
    ending = f".{skill['arm']}.{quantity}" if "arm" in skill else f".{quantity}"
    (found,) = (key for key in record.arrays if key.startswith("robots.") and key.endswith(ending))
    return record.arrays[found]


def touching_rows(record: EpisodeRecord, skill: Mapping[str, Any], start: int, end: int) -> Array:
    """Returns a (end - start,) mask of the rows in which fingers touch the part, or the link that the skill names."""
    arm = f".{skill['arm']}" if "arm" in skill else ""
    suffix = f"{arm}.{skill['object']}.fingers_link.force_max_n"
    touching: Array = np.zeros(end - start, dtype=bool)
    for _, force in interval_arrays(record, "contacts.", suffix):
        touching |= force[start:end] > 0.0
    return touching


def first_attempt(record: EpisodeRecord, skill: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the entry of the first attempt at the skill of an entry; the entry itself if it is the first."""
    if not skill.get("attempt"):
        return skill
    attempts = [other for other in record.skills if other.get("entry") == skill["entry"]]
    return attempts[[other.get("attempt") for other in attempts].index(0)]


def start_position(skill: Mapping[str, Any], s: Array) -> float:
    """Returns the joint position from which a skill measures its displacement [rad or m].

    `s` has the (T+1,) positions. If the skill's `s0` equals the position at its first frame, that position counts. Else
    the position at the start of the episode counts.
    """
    at_start = float(s[skill["frame_start"]])
    return at_start if skill.get("s0") == at_start else float(s[0])


def joint_positions(record: EpisodeRecord, entry: Mapping[str, Any]) -> Array:
    """Returns the (T+1,) positions of the joint of a skill or condition [rad or m]."""
    return record.arrays[f"objects.{entry['object']}.joint_positions"][:, entry["joint_index"]]


def interval_arrays(record: EpisodeRecord, prefix: str, suffix: str) -> list[tuple[str, Array]]:
    """Returns arrays of contacts or speeds with their keys, sorted.

    Raises:
        RecordingError: There are actions and no such array.
    """
    found = [(k, a) for k, a in sorted(record.arrays.items()) if k.startswith(prefix) and k.endswith(suffix)]
    if not found and record.n_actions:
        key = f"{prefix}*{suffix}"
        raise RecordingError(
            f"Episode {record.number} has no array '{key}', which its verdict needs. The record is incomplete.",
            key=key,
        )
    return found


def read_frame(entry: Mapping[str, Any], key: str, n_actions: int) -> int:
    """Returns a state frame of an entry.

    Raises:
        RecordingError: It is missing or not from 0 to `n_actions`.
    """
    frame = entry.get(key)
    if isinstance(frame, bool) or not isinstance(frame, int) or not 0 <= frame <= n_actions:
        raise RecordingError(
            f"'{key}' is {frame!r}, expected a state frame from 0 to {n_actions}. The record is incomplete.", key=key
        )
    return frame


OBJECT_CONDITIONS = ("inside", "on", "upright", "lifted")
"""Kinds of conditions that speak of a whole object, not of a joint."""


def root_positions(record: EpisodeRecord, name: str) -> Array:
    """Returns the (T+1, 3) positions of the root of an object [m]."""
    return record.arrays[f"objects.{name}.root_position"]


def object_value(record: EpisodeRecord, condition: Mapping[str, Any], frame: int, start: int) -> tuple[float, bool]:
    """Returns what a condition measures at a state frame [m or rad], and whether it holds there.

    Args:
        record: The record, with its arrays.
        condition: An entry of `conditions`.
        frame: The state frame.
        start: State frame from which `lifted` counts.
    """
    name, kind, wanted = condition["object"], condition["kind"], float(condition["value"])
    position = root_positions(record, name)
    if kind == "lifted":
        rise = float(position[frame, 2]) - float(position[start, 2])
        return rise, rise >= wanted
    R_world_root = matrix_from_quat_xyzw(record.arrays[f"objects.{name}.root_quat_xyzw"][frame])
    if kind == "upright":
        x, y, z = R_world_root @ condition["up_axis"]
        tilt = float(np.arctan2(np.hypot(x, y), z))
        return tilt, tilt <= wanted
    low, high = np.asarray(condition["bounds"], dtype=float)
    signs = 2.0 * np.array(list(np.ndindex(2, 2, 2))) - 1.0  # (8, 3)
    center, half = 0.5 * (low + high), 0.5 * (high - low)
    outline, radius = center + signs * half, np.zeros(8)  # the outline of older records is the bounding box
    if "outline" in condition:
        *corners, radius = np.asarray(condition["outline"], dtype=float).T
        outline = np.stack(corners, axis=1)
    # the middle, then the balls of the outline
    points = np.vstack([center, outline]) @ R_world_root.T + position[frame]
    if condition.get("of") is not None:
        place = f"regions.{condition['of']}.{condition['region']}"
        origin = record.arrays[f"{place}.position"][frame]
        points = (points - origin) @ matrix_from_quat_xyzw(record.arrays[f"{place}.quat_xyzw"][frame])
    size = [np.inf] * 3 if condition.get("size") is None else condition["size"]
    middle, low, high = points[0], (points[1:].T - radius).min(axis=1), (points[1:].T + radius).max(axis=1)
    if kind == "on":
        out = max(abs(middle[0]) - size[0] / 2, abs(middle[1]) - size[1] / 2, abs(low[2]))
    else:
        sides = [max(-low[axis], high[axis]) - size[axis] / 2 for axis in (0, 1)]
        top = middle[2] if condition.get("open_above") else high[2]
        out = max(*sides, -low[2], top - size[2])
    return float(out), bool(out <= wanted)
