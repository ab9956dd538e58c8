"""Mechanisms of an object as a world applies them: gears, springs and gates, with the state of each for the record."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from unlatch.objects.annotation import Articulation
from unlatch.objects.mechanisms import (
    PLAY,
    Closer,
    Condition,
    Detent,
    Interlock,
    Latch,
    Measure,
    Mechanism,
    Mimic,
    PressAndTurn,
    PushLatch,
    Release,
    SoftClose,
    Spring,
    closed_position,
    rest_position,
    spring_at,
    swings_both_ways,
)
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.drives import DriveGroup, JointDrive
from unlatch.simcore.sim.joint_gates import GateKind, JointGate, JointGates
from unlatch.simcore.sim.joint_mechanisms import couple_joints
from unlatch.simcore.state import Buffer, Module
from unlatch.simcore.urdf.model import UrdfModel

POP_S = 0.2
"""Least time in which a spring pushes a part to where it pops to [s]: our own choice. It brakes a faster part."""
BRAKE_SHARE = 10.0
"""Largest effort with which a closer brakes a part, as a share of its effort that closes it: our own choice."""
GEAR_STRENGTH = 1e4
"""Largest effort between joints that mimic each other [N m or N]: gears do not slip."""


def spring_drives(
    articulation: Articulation, model: UrdfModel, drives: Mapping[str, JointDrive]
) -> tuple[dict[str, JointDrive], dict[str, float]]:
    """Returns the drives of joints with the stiffness and damping of their springs and detents.

    Returns:
        (drives by joint, all that acts on a joint like a spring [N m/rad or N/m]).
    """
    stiffness: dict[str, float] = defaultdict(float)
    damping: dict[str, float] = defaultdict(float)
    for mechanism in articulation.mechanisms.values():
        if isinstance(mechanism, Spring):
            stiffness[mechanism.joint] += mechanism.stiffness
        elif isinstance(mechanism, Detent):
            stiffness[mechanism.joint] += math.pi * mechanism.effort / mechanism.reach
            damping[mechanism.joint] += mechanism.damping
        elif isinstance(mechanism, Closer | SoftClose) and swings_both_ways(
            mechanism.joint, parts=articulation.joint_ranges(), model=model
        ):
            stiffness[mechanism.joint] += mechanism.effort / PLAY  # see `JointGate.play`
    found = dict(drives)
    for joint in stiffness:
        drive, spring = found[joint], spring_at(joint, articulation.mechanisms)
        drive = replace(drive, damping=drive.damping + damping[joint])
        if spring is not None:
            drive = replace(drive, stiffness=spring.stiffness, damping=drive.damping + spring.damping)
        found[joint] = drive
    return found, stiffness


class ActingMechanisms(Module):
    """The mechanisms of one object in a world.

    Each mechanism that holds joints has a buffer with its name: (k,) booleans, whether it holds each of its joints now.
    """

    def __init__(self, body: Body, articulation: Articulation, model: UrdfModel, drives: DriveGroup) -> None:
        """Attaches the mechanisms of an annotation to a body."""
        super().__init__()
        self.mechanisms = articulation.mechanisms
        """The mechanisms by name."""
        self._body = body
        self._ranges, self._model = articulation.joint_ranges(), model
        self._rows: dict[str, list[int]] = {}
        """By mechanism that holds joints: of each joint, the first of its gates."""
        gates: list[JointGate] = []
        for name, mechanism in self.mechanisms.items():
            if isinstance(mechanism, Mimic):
                couple_joints(
                    body,
                    mechanism.joint,
                    mechanism.follows,
                    ratio=mechanism.ratio,
                    offset=mechanism.offset,
                    max_force_n=GEAR_STRENGTH,
                )
            elif isinstance(mechanism, Spring) and (spring := spring_at(mechanism.joint, self.mechanisms)):
                drives.set_spring_rest(mechanism.joint, spring.rest)
            added = self._make_gates(mechanism)
            if mechanism.held_joints:
                self._rows[name] = [len(gates) + i for i in range(len(added))]
            gates += added
        self.gates = JointGates(body, gates)
        """What holds, pushes and pulls the joints."""
        drives.gates = self.gates
        for name in self._rows:  # a mechanism may have the name of an attribute
            self._buffers[name] = Buffer()
        self._held_by = {
            name: [[row for row in rows if gates[row].joint == joint] for joint in self.mechanisms[name].held_joints]
            for name, rows in self._rows.items()
        }

    def _make_gates(self, mechanism: Mechanism) -> list[JointGate]:
        """Returns the gates that a mechanism consists of."""
        if isinstance(mechanism, Detent):
            detent = JointGate(GateKind.detent, mechanism.joint, 0.0, effort=mechanism.effort, reach=mechanism.reach)
            return [replace(detent, closed=position) for position in mechanism.positions]
        if isinstance(mechanism, Closer | SoftClose):
            joint, (closed, sign) = mechanism.joint, self._closed(mechanism.joint)
            reach = mechanism.reach if isinstance(mechanism, SoftClose) else math.inf
            pull = JointGate(
                GateKind.pull, joint, closed, sign, effort=mechanism.effort, reach=reach, speed=mechanism.speed
            )
            pull = replace(pull, brake=BRAKE_SHARE * mechanism.effort)
            if self._swings_both_ways(joint):
                pull = replace(pull, kinds=GateKind.pull | GateKind.both_sides, play=PLAY)
            return [pull]
        if isinstance(mechanism, PushLatch):
            kinds = GateKind.toggle | GateKind.push
            gate = self._push(mechanism, kinds)
            return [replace(gate, play=mechanism.play, press=mechanism.press, strength=mechanism.strength)]
        if not isinstance(mechanism, Latch | Release | Interlock | PressAndTurn):
            return []
        return [self._gate_of(mechanism, condition) for condition in mechanism.conditions()]

    def _gate_of(self, mechanism: Latch | Release | Interlock | PressAndTurn, condition: Condition) -> JointGate:
        """Returns the gate that holds a joint until a condition holds."""
        is_freezing = isinstance(mechanism, PressAndTurn) or (isinstance(mechanism, Interlock) and not mechanism.joints)
        kinds = GateKind.freeze if is_freezing else GateKind.threshold
        if condition.measure is Measure.distance:
            kinds |= GateKind.either_way
        if isinstance(mechanism, Latch) and not mechanism.snaps:
            kinds |= GateKind.keeps_out
        if isinstance(mechanism, PressAndTurn):
            kinds |= GateKind.one_way
        if isinstance(mechanism, Latch | Release) and self._swings_both_ways(mechanism.joint):
            kinds |= GateKind.both_sides
        gate = JointGate(kinds, condition.joint, *self._closed(condition.joint))
        if isinstance(mechanism, Release):
            gate = self._push(mechanism, kinds | GateKind.push)
        rest, by_sign = 0.0, 1.0
        if condition.measure is not Measure.position:
            rest, by_sign = rest_position(condition.by, self.mechanisms, parts=self._ranges, model=self._model)
        return replace(
            gate,
            by=condition.by,
            rest=rest,
            by_sign=by_sign,
            low=condition.low,
            high=condition.high,
            play=mechanism.play,
            strength=mechanism.strength,
        )

    def _push(self, mechanism: PushLatch | Release, kinds: GateKind) -> JointGate:
        closed, sign = self._closed(mechanism.joint)
        effort, reach = mechanism.effort, mechanism.pops_to
        return JointGate(
            kinds, mechanism.joint, closed, sign, effort=effort, reach=reach, speed=reach / POP_S, brake=effort
        )

    def _swings_both_ways(self, joint: str) -> bool:
        return swings_both_ways(joint, parts=self._ranges, model=self._model)

    def _closed(self, joint: str) -> tuple[float, float]:
        return closed_position(joint, parts=self._ranges, model=self._model)

    def forget(self) -> None:
        """Lets every mechanism find its state anew, from the positions of the joints: after a reset."""
        self.gates.forget()

    def held(self) -> dict[str, np.ndarray]:
        """Returns for each mechanism that holds joints (k,) booleans, one for each of its joints."""
        is_held = self.gates.is_held()
        return {
            name: np.array([is_held[rows].any() for rows in by_joint], dtype=bool)
            for name, by_joint in self._held_by.items()
        }

    def borne(self) -> dict[str, float]:
        """Returns the largest effort with which each mechanism held a joint in this record frame [N m or N]."""
        borne = self.gates.borne()
        return {name: float(borne[rows].max(initial=0.0)) for name, rows in self._rows.items()}

    def _read_state(self) -> None:
        for name, held in self.held().items():
            self._buffers[name].hold(held)
