"""Gates of joints: what holds a joint until another one is in a range, and springs with a profile.

The core applies them in every physics step (`Gate` of core.h). A gate holds by the motor of its joint, which is a
constraint of Bullet's solver: stable however strong it is, and limited to `strength`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntFlag

import numpy as np

from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.core import GATE

Array = np.ndarray


class GateKind(IntFlag):
    """What a gate does."""

    threshold = 1
    """Holds a joint that is closed, while the condition does not hold."""
    freeze = 2
    """Holds a joint where it is, while the condition does not hold."""
    toggle = 4
    """Holds a joint that is closed, until it is pressed beyond closed; pressed again, it holds again."""
    keeps_out = 8
    """With `threshold`: holds an open joint outside, too."""
    one_way = 16
    """With `freeze`: the joint always closes."""
    either_way = 32
    """The condition is about the distance of `by` from its rest in either direction."""
    push = 64
    """A spring pushes the joint open to `reach`, with an effort that falls to 0 there."""
    pull = 128
    """A spring pulls the joint closed from `reach` on."""
    detent = 256
    """A spring draws the joint to `closed` from `reach` on, on both sides."""
    both_sides = 512
    """With `threshold` and `pull`: the joint goes beyond closed, and is held or pulled there, too."""


_HOLDS = GateKind.threshold | GateKind.freeze | GateKind.toggle


@dataclass(frozen=True)
class JointGate:
    """One gate; the opening of its joint is sign * (position - closed) [rad or m]."""

    kinds: GateKind
    joint: str
    """The joint that it acts on."""
    closed: float
    """Position from which its opening counts [rad or m]; of a detent, the position of the click."""
    sign: float = 1.0
    """+1 if the joint's position grows as it opens, else -1."""
    by: str | None = None
    """The joint that decides; None: the condition never holds."""
    rest: float = 0.0
    """Position of `by` from which it counts [rad or m]."""
    by_sign: float = 1.0
    """+1 if it counts upwards, else -1."""
    low: float = 0.0
    """Least value of by_sign * (position of `by` - rest) at which the condition holds [rad or m]."""
    high: float = 0.0
    """Largest one."""
    play: float = 0.0
    """How far a held joint moves; of a pull on both sides, distance below which it falls to 0 [rad or m]."""
    strength: float = 0.0
    """Largest effort with which it holds [N m or N]."""
    press: float = 0.0
    """How far beyond closed a toggle must be pressed [rad or m]."""
    effort: float = 0.0
    """Effort of the spring [N m or N]."""
    reach: float = 0.0
    """Opening up to which the spring acts [rad or m]."""
    speed: float = np.inf
    """Speed above which it brakes what its spring moves [rad/s or m/s]."""
    brake: float = 0.0
    """Largest effort of this brake [N m or N]."""

    @property
    def holds(self) -> bool:
        """Whether it ever holds its joint."""
        return bool(self.kinds & _HOLDS)


class JointGates:
    """The gates of one body."""

    def __init__(self, body: Body, gates: Sequence[JointGate]) -> None:
        """Attaches gates; they act from the next physics step on, until the body is removed.

        Raises:
            FrameNotFoundError: A joint does not exist.
            WorldError: A joint cannot move.
        """
        self._body = body
        self.gates = tuple(gates)
        """The gates, in the order of the rows of `table`."""
        table: Array = np.zeros(len(gates), dtype=GATE)
        for row, gate in zip(table, gates, strict=True):
            row["row"] = body.rows_of([gate.joint])[0]
            row["by"] = -1 if gate.by is None else body.rows_of([gate.by])[0]
            for name in ("kinds", *_NUMBERS):
                row[name] = getattr(gate, name)
        table["is_inside"] = -1
        self._holding = [row for row, gate in enumerate(gates) if gate.holds]
        self.table = table
        """(n,) values and states, of `GATE`: what is written here acts from the next physics step on."""
        body.state.set_gates(table)

    def effort(self, joint: str) -> float:
        """Returns the largest effort of a spring of these gates at a joint; 0 without one [N m or N]."""
        return float(self.table["effort"][self._rows_at(joint)].max(initial=0.0))

    def scale_efforts(self, joint: str, factor: float) -> None:
        """Multiplies the efforts of the springs at a joint, and of their brakes."""
        rows = self._rows_at(joint)
        self.table["effort"][rows] *= factor
        self.table["brake"][rows] *= factor

    def threshold(self, joint: str) -> float:
        """Returns how far another joint must move from its rest to free a joint; 0 if none frees it so [rad or m]."""
        return float(self.table["low"][self._rows_at(joint, GateKind.either_way)].max(initial=0.0))

    def scale_thresholds(self, joint: str, factor: float) -> None:
        """Multiplies how far other joints must move from their rests to free a joint."""
        self.table["low"][self._rows_at(joint, GateKind.either_way)] *= factor

    def _rows_at(self, joint: str, kind: GateKind | None = None) -> list[int]:
        """Returns the rows of the gates of a joint, or of those of a kind."""
        gates = enumerate(self.gates)
        return [row for row, gate in gates if gate.joint == joint and (kind is None or gate.kinds & kind)]

    def forget(self) -> None:
        """Lets the gates find their states anew, from the positions of the joints: after a reset."""
        self.table["is_inside"] = -1

    def is_held(self) -> Array:
        """Returns (n,) whether each gate holds its joint now."""
        self._body.core.settle_gates(self._body.state)
        held: Array = self.table["is_held"] != 0
        return held

    def states(self) -> Array:
        """Returns (k, 4) what the k gates that hold joints remember: `is_inside`, `is_held`, `is_ready`, `held_at`."""
        self._body.core.settle_gates(self._body.state)
        return np.stack([self.table[name][self._holding] for name in _STATES], axis=1).astype(float)

    def set_states(self, states: Array) -> None:
        """Sets what the gates remember, see `states`."""
        for name, column in zip(_STATES, states.T, strict=True):
            self.table[name][self._holding] = column

    def borne(self) -> Array:
        """Returns (n,) the largest effort with which each gate held its joint in this record frame [N m or N]."""
        borne: Array = self.table["borne"].copy()
        return borne


_NUMBERS = (
    *("closed", "sign", "play", "rest", "by_sign", "low", "high", "strength", "press", "effort", "reach", "speed"),
    "brake",
)
_STATES = ("is_inside", "is_held", "is_ready", "held_at")
