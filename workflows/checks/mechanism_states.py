"""What records state of mechanisms, derived again from the positions of joints: what is held does not open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.mechanisms import (
    Condition,
    Interlock,
    Latch,
    Measure,
    Mechanism,
    PressAndTurn,
    PushLatch,
    Release,
    closed_position,
    rest_position,
    swings_both_ways,
)
from unlatch.simcore.urdf.model import movable_joints

Array = np.ndarray

_GIVES_WAY = 0.02
"""How far beyond its play a held joint may be [rad or m]: a push may move it so far in one physics step,
and a motor brings it back."""
_ROUNDING = 1e-6
"""Difference of a value that decides, below which two computations may come to different results [rad or m]."""


def mechanism_problems(name: str, asset: ObjectAsset, arrays: Mapping[str, Array], *, frame_s: float) -> Iterator[str]:
    """Yields what the recorded states of an object's mechanisms contradict, each with its first such frame.

    - A joint that is held is closed up to its play, or, of a `press_and_turn` and an `interlock` of two joints, does
      not move.
    - A mechanism holds a closed joint while its condition does not hold, and only then. A value that reaches its
      threshold within two frames may be on either side of it.
    - A push latch changes only when its part is pressed.
    - What `objects.<object>.gates` says of held joints is the same.

    Args:
        name: Name of the object.
        asset: The object.
        arrays: Arrays of the record by key.
        frame_s: Time from one state to the next [s].
    """
    joints = movable_joints(asset.model)
    s, ds = (
        dict(zip(joints, arrays[f"objects.{name}.joint_{what}"].astype(float).T, strict=True))
        for what in ("positions", "velocities")
    )
    for key, mechanism in asset.articulation.mechanisms.items():
        array = arrays.get(f"objects.{name}.mechanisms.{key}")
        if array is None:
            continue  # a missing array is a problem of its own
        for place, joint in enumerate(mechanism.held_joints):
            states = _HeldJoint(asset, mechanism, joint, s, ds, held=array[:, place].astype(bool), frame_s=frame_s)
            for row, problem in states.problems():
                yield f"'objects.{name}.mechanisms.{key}' of frame {row}: {problem}"
    yield from _gate_problems(name, asset, arrays)


def joints_of_gates(mechanism: Mechanism) -> list[str]:
    """Returns the joint that each gate of a mechanism holds, in the order of the rows of `objects.<object>.gates`."""
    return [each.joint for each in mechanism.conditions()] or list(mechanism.held_joints)


def _gate_problems(name: str, asset: ObjectAsset, arrays: Mapping[str, Array]) -> Iterator[str]:
    """Yields where `gates` does not hold the joints that the states of the mechanisms hold."""
    gates, first = arrays.get(f"objects.{name}.gates"), 0
    if gates is None:
        return  # a missing array is a problem of its own
    for key, mechanism in asset.articulation.mechanisms.items():
        if not mechanism.held_joints:
            continue
        rows = joints_of_gates(mechanism)
        is_held: Array = gates[:, first : first + len(rows), 1].astype(bool)
        first += len(rows)
        for place, joint in enumerate(mechanism.held_joints):
            found = np.asarray(is_held[:, [row for row, held in enumerate(rows) if held == joint]].any(axis=1))
            wrong = np.flatnonzero(found != arrays[f"objects.{name}.mechanisms.{key}"][:, place])
            if wrong.size:
                word = "held" if found[wrong[0]] else "free"
                yield (
                    f"'objects.{name}.gates' of frame {wrong[0]}: '{joint}' is {word}, and '{key}' says the opposite "
                    f"({wrong.size} frames)."
                )


class _HeldJoint:
    """One joint that a mechanism holds, in all frames of a record."""

    def __init__(
        self,
        asset: ObjectAsset,
        mechanism: Mechanism,
        joint: str,
        s: Mapping[str, Array],
        ds: Mapping[str, Array],
        *,
        held: Array,
        frame_s: float,
    ) -> None:
        """Takes positions and velocities of all joints by name, and in which frames the mechanism holds this one."""
        self._asset, self._mechanism, self._joint = asset, mechanism, joint
        self._s, self._ds, self._held, self._frame_s = s, ds, held, frame_s
        ranges = asset.articulation.joint_ranges()
        closed, sign = closed_position(joint, parts=ranges, model=asset.model)
        self._opening = sign * (s[joint] - closed)
        self._play = float(getattr(mechanism, "play", 0.0))
        if isinstance(mechanism, Latch | Release) and swings_both_ways(joint, parts=ranges, model=asset.model):
            self._opening = np.abs(self._opening)

    def problems(self) -> Iterator[tuple[int, str]]:
        """Yields the first frame of each kind of problem, and what is wrong there."""
        mechanism = self._mechanism
        if isinstance(mechanism, PushLatch):
            yield from self._find_open()
            yield from self._find_changes(mechanism)
            return
        conditions = [each for each in mechanism.conditions() if each.joint == self._joint]
        free: Array = np.ones(len(self._held), dtype=bool)
        unsure: Array = np.zeros(len(self._held), dtype=bool)
        for condition in conditions:
            value, near = self._value_of(condition)
            free &= (value >= condition.low) & (value <= condition.high)
            unsure |= (np.abs(value - condition.low) < near) | (np.abs(value - condition.high) < near)
        by = ", ".join(f"'{each.by}'" for each in conditions)
        yield from self._first(self._held & free & ~unsure, f"it holds '{self._joint}', which {by} frees")
        is_frozen = isinstance(mechanism, PressAndTurn) or (isinstance(mechanism, Interlock) and not mechanism.joints)
        keeps_out = isinstance(mechanism, Latch) and not mechanism.snaps
        inside: Array = ~free
        if not (is_frozen or keeps_out):  # it snaps in one physics step after the joint has closed
            inside = self._opening < self._play - _ROUNDING
            inside = inside & np.append(inside[:1], inside[:-1])
        loose = ~self._held & ~free & ~unsure & inside
        yield from self._first(loose, f"it does not hold '{self._joint}', which is closed, and {by} does not free it")
        if is_frozen:
            yield from self._find_moved(one_way=isinstance(mechanism, PressAndTurn))
        elif not keeps_out:
            yield from self._find_open()
            sure = ~free & ~unsure
            opened = self._held[:-1] & ~self._held[1:] & sure[:-1] & sure[1:] & (self._opening[1:] > self._play)
            yield from self._first(
                np.append(False, opened), f"'{self._joint}' is open by {{:.3g}}, and nothing freed it", self._opening
            )

    def _value_of(self, condition: Condition) -> tuple[Array, Array]:
        """Returns what counts of the joint that decides, and how far it moves in two frames."""
        asset, value = self._asset, self._s[condition.by]
        near = _ROUNDING + 2.0 * self._frame_s * np.abs(self._ds[condition.by])
        moved = np.abs(np.diff(value, prepend=value[:1]))
        near = np.maximum(near, np.maximum(moved, np.append(moved[1:], 0.0)))
        if condition.measure is Measure.position:
            return value, near
        known = asset.articulation
        rest, sign = rest_position(condition.by, known.mechanisms, parts=known.joint_ranges(), model=asset.model)
        opening = sign * (value - rest)
        return (np.abs(opening) if condition.measure is Measure.distance else opening), near

    def _find_open(self) -> Iterator[tuple[int, str]]:
        wide = self._held & (self._opening > self._play + _GIVES_WAY)
        yield from self._first(wide, f"it holds '{self._joint}', which is open by {{:.3g}}", self._opening)

    def _find_moved(self, *, one_way: bool) -> Iterator[tuple[int, str]]:
        """Yields where a joint moved that is held in place; with `one_way`, it may close."""
        moved = np.diff(self._opening, prepend=self._opening[:1])
        both = self._held & np.append(False, self._held[:-1])
        wide = both & ((moved if one_way else np.abs(moved)) > 2.0 * self._play + _GIVES_WAY)
        yield from self._first(wide, f"it holds '{self._joint}', which moves by {{:.3g}}", moved)

    def _find_changes(self, mechanism: PushLatch) -> Iterator[tuple[int, str]]:
        changed: Array = np.append(False, self._held[1:] != self._held[:-1])
        reached: Array = self._opening - self._frame_s * np.abs(self._ds[self._joint])  # between two frames
        deepest = np.minimum(reached, np.append(reached[:1], reached[:-1]))
        wrong = f"it changes, and '{self._joint}' is at {{:.3g}}"
        yield from self._first(changed & (deepest > -0.5 * mechanism.press), wrong, self._opening)

    @staticmethod
    def _first(wrong: Array, problem: str, values: Array | None = None) -> Iterator[tuple[int, str]]:
        rows = np.flatnonzero(wrong)
        if rows.size:
            row = int(rows[0])
            said = problem if values is None else problem.format(float(values[row]))
            yield row, f"{said} ({rows.size} frames)."
