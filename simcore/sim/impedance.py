"""Joint impedance control: the torques of an arm that follows its targets like a spring with a damper.

It is the control law of position-controlled arms with torque sensors, such as the Panda's `joint_impedance_control`: a
spring and a damper to the target, with the model's inertia, gravity and Coriolis torques fed forward. Spring and damper
are evaluated at the end of the physics step (stable PD control: Tan, Liu, Turk 2011), so no stiffness makes the
simulation unstable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pybullet as p
from numpy.typing import ArrayLike

from unlatch.simcore.sim.bodies import Body

Array = np.ndarray


class JointTargets(NamedTuple):
    """Targets of some joints at one moment."""

    positions: Array
    """(n,) [rad]."""
    velocities: Array
    """(n,) [rad/s]."""
    accelerations: Array
    """(n,) [rad/s^2]."""


class ImpedanceServo:
    """The torques of some joints of a body with a fixed root.

    The controller knows the masses that the model has when it is made: later changes of masses, payloads and gravity
    are errors of its model, as on a real arm.
    """

    def __init__(self, body: Body, joints: Sequence[str]) -> None:
        """Makes a controller of joints; it sets no motor by itself."""
        self._body = body
        self._all = [joint.index for joint in body.movable_joints]
        self._mine = np.array([self._all.index(body.joint(name).index) for name in joints])
        self._block = np.ix_(self._mine, self._mine)
        self.joints = tuple(joints)
        """Their names."""
        still = np.zeros(len(joints))
        self.targets = JointTargets(body.joint_positions(joints), still, still)
        """Targets at the end of the next physics step."""
        self._inertia = np.zeros((len(joints), len(joints)))
        self.refresh_inertia()

    def refresh_inertia(self) -> None:
        """Computes the inertia matrix at the present joint positions; it is used until the next call."""
        self._inertia = _mass_matrix(self._body, [state[0] for state in self._joint_states()])[self._block]

    def torques(self, stiffness: Array, damping: Array, dt: float) -> Array:
        """Returns (n,) the torques for the next physics step of `dt` [s], without any limit [N m].

        Args:
            stiffness: (n,) [N m/rad].
            damping: (n,) [N m s/rad].
            dt: Length of the step [s].
        """
        states = self._joint_states()
        q_all, dq_all = [state[0] for state in states], [state[1] for state in states]
        q, dq = np.array(q_all)[self._mine], np.array(dq_all)[self._mine]
        wanted = self.targets
        pull = stiffness * (wanted.positions - q - dt * dq) + damping * (wanted.velocities - dq)
        pull += self._inertia @ wanted.accelerations
        implicit = self._inertia + np.diag(dt * damping + dt**2 * stiffness)
        acceleration = np.linalg.solve(implicit, pull)
        bias = p.calculateInverseDynamics(
            self._body.body_id, q_all, dq_all, [0.0] * len(q_all), physicsClientId=self._body.client
        )
        return self._inertia @ acceleration + np.array(bias)[self._mine]

    def _joint_states(self) -> tuple[tuple[float, ...], ...]:
        return p.getJointStates(self._body.body_id, self._all, physicsClientId=self._body.client)


def critical_damping(body: Body, joints: Sequence[str], positions: ArrayLike, stiffness: ArrayLike) -> Array:
    """Returns (n,) the damping with which each joint by itself returns to its target without overshoot [N m s/rad].

    Args:
        body: A body with a fixed root.
        joints: Its joints.
        positions: (n,) joint positions at which the damping is critical [rad]; all other joints are at 0.
        stiffness: (n,) stiffness of each joint [N m/rad].
    """
    q = dict.fromkeys((joint.name for joint in body.movable_joints), 0.0)
    q.update(zip(joints, np.asarray(positions, dtype=float).tolist(), strict=True))
    inertias = dict(zip(q, np.diag(_mass_matrix(body, list(q.values()))), strict=True))
    return 2.0 * np.sqrt(np.asarray(stiffness) * [inertias[name] for name in joints])


def _mass_matrix(body: Body, q: list[float]) -> Array:
    return np.array(p.calculateMassMatrix(body.body_id, q, physicsClientId=body.client))
