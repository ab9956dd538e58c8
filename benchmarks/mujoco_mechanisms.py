"""Mechanisms of objects in the second engine: what holds joints, and springs with a profile, a second time.

The rules are those of docs/mechanisms.md; no code of the first engine is used. Gears are MuJoCo's own equalities and
springs its own springs, see `mujoco_scene.py`. What remains acts on joints as efforts, in every step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from unlatch.objects.acting_mechanisms import BRAKE_SHARE, POP_S
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.mechanisms import (
    PLAY,
    Closer,
    Condition,
    Detent,
    Interlock,
    Latch,
    Mechanism,
    PressAndTurn,
    PushLatch,
    Release,
    SoftClose,
    closed_position,
    rest_position,
    swings_both_ways,
)

_RETURN_SHARE = 0.2
"""Share of the way beyond a wall that is removed in one step."""
_PRESSED = 0.9
"""Share of its press that a push latch needs."""


@dataclass
class JointState:
    """A joint of an object now."""

    q: float
    """Position [rad or m]."""
    dq: float
    """Speed [rad/s or m/s]."""
    per_speed: float
    """Effort that changes its speed by one unit in one step."""


States = Mapping[str, JointState]


class _Acting:
    """One mechanism on one of its joints, with its state."""

    def __init__(self, asset: ObjectAsset, mechanism: Mechanism, joint: str, conditions: Sequence[Condition]) -> None:
        articulation = asset.articulation
        self._mechanism, self._joint, self._conditions = mechanism, joint, conditions
        ranges = articulation.joint_ranges()
        self._closed, self._sign = closed_position(joint, parts=ranges, model=asset.model)
        self._rests = {
            each.by: rest_position(each.by, articulation.mechanisms, parts=ranges, model=asset.model)
            for each in conditions
        }
        acts = isinstance(mechanism, Latch | Release | Closer | SoftClose)
        self._has_two_sides = acts and swings_both_ways(joint, parts=ranges, model=asset.model)
        self._inside: bool | None = None
        self._is_ready = True
        self._held_at: float | None = None

    def effort(self, joints: States, dt: float) -> float:
        """Returns the effort on its joint [N m or N]; `dt` is the length of a step [s]."""
        state = joints[self._joint]
        opening, speed = self._sign * (state.q - self._closed), self._sign * state.dq
        side = -1.0 if self._has_two_sides and opening < 0.0 else 1.0
        opening, speed = side * opening, side * speed
        is_pushed = isinstance(self._mechanism, Release) and side < 0.0
        effort = 0.0 if is_pushed else self._spring(opening, speed, state.per_speed)
        low, high = self._walls(opening, joints)
        strength = float(getattr(self._mechanism, "strength", 0.0))
        beyond = max(0.0, state.per_speed * (speed + _RETURN_SHARE * (opening - high) / dt)) if opening > high else 0.0
        below = max(0.0, state.per_speed * (-speed + _RETURN_SHARE * (low - opening) / dt)) if opening < low else 0.0
        return side * self._sign * (effort - min(beyond, strength) + min(below, strength))

    def _is_freed(self, joints: States) -> bool:
        return bool(self._conditions) and all(
            each.holds(joints[each.by].q, *self._rests[each.by]) for each in self._conditions
        )

    def _walls(self, opening: float, joints: States) -> tuple[float, float]:
        """Returns the least and the largest opening that it allows now."""
        mechanism, free = self._mechanism, self._is_freed(joints)
        play = float(getattr(mechanism, "play", 0.0))
        if self._inside is None:
            self._inside = opening <= play
        if isinstance(mechanism, PushLatch):
            if self._is_ready and opening <= -_PRESSED * mechanism.press:
                self._inside, self._is_ready = not self._inside, False
            self._is_ready |= opening > -0.5 * mechanism.press
            return -math.inf, play if self._inside else math.inf
        if isinstance(mechanism, PressAndTurn) or (isinstance(mechanism, Interlock) and not mechanism.joints):
            if free or self._held_at is None:
                self._held_at = opening
            if isinstance(mechanism, PressAndTurn):
                self._held_at = min(self._held_at, opening)
            if free:
                return -math.inf, math.inf
            low = -math.inf if isinstance(mechanism, PressAndTurn) else self._held_at - play
            return low, self._held_at + play
        if isinstance(mechanism, Latch | Release | Interlock):
            keeps_out = isinstance(mechanism, Latch) and not mechanism.snaps
            if self._inside and free and opening > play:
                self._inside = False
            elif not self._inside and opening <= play and (free or not keeps_out):
                self._inside = True
            if not free:
                return (-math.inf, play) if self._inside else (play if keeps_out else -math.inf, math.inf)
        return -math.inf, math.inf

    def _spring(self, opening: float, speed: float, per_speed: float) -> float:
        """Returns the effort of its spring towards open."""
        mechanism = self._mechanism
        if isinstance(mechanism, Detent):
            nearest = min(mechanism.positions, key=lambda each: abs(each - self._closed - self._sign * opening))
            away = self._closed + self._sign * opening - nearest
            if abs(away) >= mechanism.reach:
                return 0.0
            return -self._sign * mechanism.effort * math.sin(math.pi * away / mechanism.reach)
        if isinstance(mechanism, PushLatch | Release) and opening < mechanism.pops_to:
            share = 1.0 - opening / mechanism.pops_to
            return _braked(
                mechanism.effort * share, speed, mechanism.pops_to / POP_S * share, mechanism.effort, per_speed
            )
        if isinstance(mechanism, Closer | SoftClose):
            reach = mechanism.reach if isinstance(mechanism, SoftClose) else math.inf
            if opening < reach:
                near = min(1.0, opening / PLAY) if self._has_two_sides else 1.0
                pull = mechanism.effort * near * min(1.0, 5.0 * (1.0 - opening / reach))
                return -_braked(pull, -speed, near * mechanism.speed, BRAKE_SHARE * mechanism.effort, per_speed)
        return 0.0


def _braked(effort: float, speed: float, most: float, brake: float, per_speed: float) -> float:
    """Returns an effort, or what brakes a joint that is faster than `most` towards it."""
    return effort if speed <= most else max(-brake, -per_speed * (speed - most))


def object_mechanisms(asset: ObjectAsset) -> Callable[[States, float], dict[str, float]]:
    """Returns a function that gives the efforts of the mechanisms of an object, by joint, from its joints and `dt`."""
    acting: list[tuple[str, _Acting]] = []
    for mechanism in asset.articulation.mechanisms.values():
        if isinstance(mechanism, Detent | Closer | SoftClose):
            acting.append((mechanism.joint, _Acting(asset, mechanism, mechanism.joint, ())))
        for joint in mechanism.held_joints:
            conditions = [each for each in mechanism.conditions() if each.joint == joint]
            acting.append((joint, _Acting(asset, mechanism, joint, conditions)))

    def efforts(joints: States, dt: float) -> dict[str, float]:
        found: dict[str, float] = {}
        for joint, each in acting:
            found[joint] = found.get(joint, 0.0) + each.effort(joints, dt)
        return found

    return efforts
