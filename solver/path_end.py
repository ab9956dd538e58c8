"""Where a path ends and what stops it, told for the one path that came furthest.

The end is made exact: from the last waypoint that held, the path is led on in small steps until no configuration near
the one before exists. There an elastic solve says which joint limits, workspace faces or limits of slip hold the hand
back; where none of them does, the arm is stretched out or folded, or would have to jump.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from solver.elastic import HARD, METRE, Compromise, Weights, compromise
from solver.path_rows import Waypoints
from solver.relaxation import amount, bound_words, in_the_way
from solver.scene import ArmModel
from solver.terms.row import AxisRow, PointRow, Row

Array = np.ndarray

_HALVINGS = 7
_POINT_M, _ANGLE_RAD = 2e-4, 2e-3
"""What a waypoint may be off, as in `solver.path`."""
_HOLDS = 2e-5
_JUMP_RAD = 0.8
"""A joint that changes more between two waypoints jumps."""
_PULLS = 1e-2
_POINT, _HELD, _CONE = 0, 1, 2


@dataclass(frozen=True)
class PathEnd:
    """Where a path ends."""

    reached: float
    """Position of the part, or count of poses, up to which it holds."""
    stopped_by: tuple[str, ...]
    """What holds the hand back, in words, the worst first."""
    kinds: tuple[str, ...]
    """The same by kind: `joint limit`, `workspace`, `slip`, `reach` or `jump`."""
    q: Array
    """(n,) joints there [rad]."""
    off_m: float
    """By how much the hand would be off the part a step on [m]."""
    off_rad: float
    """By how much it would be turned off it [rad]."""


def path_end(
    arm: ArmModel, rows_at: Callable[[float], Waypoints], q: Array, s_from: float, s_values: Sequence[float]
) -> PathEnd | None:
    """Leads a path on from where it held to where it ends.

    Args:
        arm: The arm.
        rows_at: What is asked at a position of the part; the last row counts.
        q: (n,) joints at `s_from`, where the path holds [rad].
        s_from: Position of the part there.
        s_values: The waypoints that follow, at least one; each costs a solve of about 10 ms, and the end seven.

    Returns:
        The end, or None where it can be led on to the last of the waypoints.
    """
    reached, joints = s_from, np.asarray(q, dtype=float)
    beyond: float | None = None
    for s in s_values:
        led = _led_on(arm, rows_at(float(s)), joints)
        if led is None:
            beyond = float(s)
            break
        reached, joints = float(s), led
    if beyond is None:
        return None
    lost = beyond
    for _ in range(_HALVINGS):
        middle = 0.5 * (reached + beyond)
        led = _led_on(arm, rows_at(middle), joints)
        if led is None:
            beyond = middle
        else:
            reached, joints = middle, led
    return _stopped(arm, rows_at(beyond), rows_at(lost), joints, reached)


def _led_on(arm: ArmModel, asked: Waypoints, q: Array) -> Array | None:
    """The joints near q that meet a waypoint, or None."""
    rows = _rows(asked)
    end = compromise(arm, rows, q[None], weights=_weights(arm, rows))
    out = float(np.concatenate([end.rows, end.faces, np.abs(end.joints)]).max(initial=0.0))
    if out > _HOLDS or float(np.abs(end.q - q).max()) > _JUMP_RAD:
        return None
    return end.q


def _stopped(arm: ArmModel, asked: Waypoints, farther: Waypoints, q: Array, reached: float) -> PathEnd:
    words: list[str] = []
    kinds: list[str] = []
    for waypoint in (asked, farther):  # just beyond the end little is out: a step on it is plain
        rows = _rows(waypoint)
        end = compromise(arm, rows, q[None], weights=_weights(arm, rows))
        words, kinds = _limits(arm, asked, rows, end)
        if words:
            break
    off_m, off_rad = float(end.rows[_POINT]), float(end.rows[_HELD]) if len(end.rows) > 2 else 0.0
    if not words and float(end.rows.max(initial=0.0)) <= _HOLDS:
        jump = int(np.argmax(np.abs(end.q - q)))
        words = [
            f"a singular posture: {arm.kinematics.joint_names[jump]} would have to jump by "
            f"{amount(abs(float(end.q[jump] - q[jump])), 'rad')}"
        ]
        kinds = ["jump"]
    elif not words:
        words, kinds = ["the arm's reach: no joint limit or workspace face is in the way"], ["reach"]
    return PathEnd(reached, tuple(words), tuple(kinds), q, off_m, off_rad)


def _limits(arm: ArmModel, asked: Waypoints, rows: Sequence[Row], end: Compromise) -> tuple[list[str], list[str]]:
    words, kinds = bound_words(arm, end), [element.kind for element in in_the_way(arm, end)]
    cone = rows[-1]
    if asked.cone > 0.0 and isinstance(cone, AxisRow) and float(end.pull_rows[-1]) > _PULLS:
        words.append(f"the limit of slip: the hand would lean more than {amount(asked.cone, 'rad')} from straight in")
        kinds.append("slip")
    return words, kinds


def _rows(asked: Waypoints) -> list[Row]:
    """The last waypoint as rows: the point, the held direction unless it is a wish, the cone."""
    rows: list[Row] = [PointRow(asked.x_point, asked.points[-1], _POINT_M)]
    if not asked.held_is_wish:
        angle = asked.held_angle
        low, high = max(0.0, angle - _ANGLE_RAD), min(math.pi, angle + _ANGLE_RAD)
        rows.append(AxisRow(asked.x_held, asked.held[-1], low, high, angle))
    rows.append(AxisRow(asked.x_approach, asked.approach[-1], 0.0, min(math.pi, asked.cone + _ANGLE_RAD), 0.0))
    return rows


def _weights(arm: ArmModel, rows: Sequence[Row]) -> Weights:
    """Point and held direction give way; limits of joints, workspace and slip do not."""
    cost = np.array([1.0 if isinstance(row, AxisRow) else METRE for row in rows])
    cost[-1] = HARD
    return Weights(cost, np.full(6, HARD), np.full(arm.n_q, HARD))


def path_evidence(end: PathEnd, *, s0: float, target_s: float, unit: str) -> dict[str, Any]:
    """The end of the part's path as plain values.

    Args:
        end: The end.
        s0: Position of the part at the start [unit].
        target_s: Where it was to be led [unit].
        unit: `rad` or `m`.
    """
    share = (end.reached - s0) / (target_s - s0) if target_s != s0 else 0.0
    return {
        "s0": s0,
        "reached_s": end.reached,
        "target_s": target_s,
        "unit": unit,
        "share": share,
        "stopped_by": list(end.stopped_by),
        "stopped_by_kinds": list(end.kinds),
        "q": [float(v) for v in end.q],
        "off_m": end.off_m,
        "off_rad": end.off_rad,
    }
