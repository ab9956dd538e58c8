"""Joint impedance control: the torques of an arm that follows its targets like a spring with a damper.

It is the control law of position-controlled arms with torque sensors, such as the Panda's `joint_impedance_control`: a
spring and a damper to the target, with the model's inertia, gravity and Coriolis torques fed forward. The damping
matrix follows the present inertia, as in Albu-Schaeffer, Ott, Frese and Hirzinger 2003 (ICRA, section III), so the arm
returns to its target without overshoot at any joint positions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pybullet as p
from numpy.typing import ArrayLike

from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Array, matrices_from_quats_xyzw
from unlatch.simcore.sim.bodies import Body, moved_links


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

    With e the error of the positions: tau = K e + D de/dt + M ddq_target + h(q, dq). K is diagonal. In each mode of M
    and K, of frequency w, the damping is 2 w - dt w^2 times a ratio, which is critical for steps of length dt. A mode
    with more than 0.75 rad in a step is made softer, because explicit steps are unstable from 1 rad on. This concerns
    models that leave out the inertia of a wrist's motor.

    M is Bullet's mass matrix plus the armatures a_j of joints: the sum of a_j J_j^T J_j, where J_j dq is the angular
    velocity of the link of joint j along the joint's axis. It is the inertia that `LinkMasses.set_armature` adds to the
    links. h leaves the armatures out: in an episode, their part is at most 3 % of a motor's largest torque.

    The controller knows the masses and armatures that the model has when it is made, and the present gravity. Later
    changes of masses and payloads are errors of its model, as on a real arm.
    """

    def __init__(
        self, body: Body, joints: Sequence[str], *, dt: float, armatures: Mapping[str, float] | None = None
    ) -> None:
        """Makes a controller of joints; it sets no motor and no armature by itself.

        Args:
            body: The body.
            joints: The joints that it controls.
            dt: Length of a physics step [s].
            armatures: Armatures of turning joints of the body, these or others, by name [kg m^2].

        Raises:
            WorldError: Bullet refuses the inertia of a link, or a joint moves no inertia.
        """
        self._body = body
        self._dt = dt
        self._no_acceleration = [0.0] * len(body.movable_joints)
        movable = [joint.name for joint in body.movable_joints]
        mine = [movable.index(body.joint(name).name) for name in joints]
        is_range = mine == list(range(mine[0], mine[-1] + 1))
        self._mine = slice(mine[0], mine[-1] + 1) if is_range else np.array(mine)  # a slice is twice as fast
        self._block: tuple[Array, ...] = np.ix_(mine, mine)
        self.joints = tuple(joints)
        """Their names."""
        self._armatures = _ArmatureInertia(body, joints, armatures or {})
        still = np.zeros(len(joints))
        self.targets = JointTargets(body.joint_positions(joints), still, still)
        """Targets now."""
        self._stiffness, self._root_of_ratio = np.diag(still), still
        self._K = self._D = self._M = np.zeros((len(joints), len(joints)))
        self._q_of_inertia = np.full(len(joints), np.inf)
        """(n,) positions for which the inertia was computed [rad]."""
        self._fed_forward = still, still
        """Accelerations [rad/s^2], and the torques for them [N m]."""
        self.refresh_inertia()

    def set_gains(self, stiffness: ArrayLike, damping_ratio: ArrayLike) -> None:
        """Sets the stiffness (n,) [N m/rad] and the damping ratio (n,), 1 = critical, of the joints."""
        self._stiffness, self._root_of_ratio = np.diag(stiffness), np.sqrt(damping_ratio)
        self._compute_gains()

    def refresh_inertia(self, *, least_motion_rad: float = 0.0) -> None:
        """Computes the inertia at the present joint positions; it is used until the next call.

        Args:
            least_motion_rad: The inertia is kept if no joint has moved further since it was computed last [rad].

        Raises:
            WorldError: A joint moves no inertia.
        """
        body, q = self._body, [state[0] for state in self._body.last_states()]
        mine = np.array(q)[self._mine]
        if least_motion_rad > 0.0 and abs(mine - self._q_of_inertia).max() < least_motion_rad:
            return
        self._q_of_inertia = mine
        try:
            matrix = p.calculateMassMatrix(body.body_id, q, physicsClientId=body.client)
        except (p.error, SystemError) as exc:  # Bullet raises the first one, which Python turns into the second
            links = ", ".join(f"'{link}'" for link in _find_impossible_inertias(body)) or "its links"
            raise WorldError(
                f"Bullet computes no mass matrix of '{body.name}', because it refuses the inertia of a link. Expected "
                "principal moments that are not negative, each at most the sum of the other two. Correct the inertia "
                f"of {links}.",
                body=body.name,
            ) from exc
        self._M = np.array(matrix)[self._block] + self._armatures.matrix()
        self._fed_forward = np.empty(0), np.empty(0)
        self._compute_gains()

    def _compute_gains(self) -> None:
        try:
            lower = np.linalg.cholesky(self._M)
        except np.linalg.LinAlgError as exc:
            joint = self.joints[int(np.argmin(np.diag(self._M)))]
            raise WorldError(
                f"The mass matrix of joints {list(self.joints)} of '{self._body.name}' is not positive definite. The "
                f"least inertia is {np.diag(self._M).min():g} kg m^2, at '{joint}'. Expected more than 0 at each "
                "joint. Correct the inertia of the links that it moves.",
                body=self._body.name,
                joint=joint,
            ) from exc
        inverse = np.linalg.inv(lower)
        squares, modes = np.linalg.eigh(inverse @ self._stiffness @ inverse.T)
        frequencies = np.minimum(np.sqrt(np.maximum(squares, 0.0)), _MAX_MODE_RAD / self._dt)
        shapes = lower @ modes
        root = self._root_of_ratio
        self._K = (shapes * frequencies**2) @ shapes.T
        self._D = root[:, None] * ((shapes * (2.0 * frequencies - self._dt * frequencies**2)) @ shapes.T) * root

    def torques(self) -> Array:
        """Returns (n,) the torques for the next physics step, without any limit [N m]."""
        states = self._body.last_states()
        q_all, dq_all = [state[0] for state in states], [state[1] for state in states]
        wanted = self.targets
        bias = p.calculateInverseDynamics(
            self._body.body_id, q_all, dq_all, self._no_acceleration, physicsClientId=self._body.client
        )
        q, dq, bias = np.array((q_all, dq_all, bias))[:, self._mine]
        spring = self._K @ (wanted.positions - q) + self._D @ (wanted.velocities - dq)
        if self._fed_forward[0] is not wanted.accelerations:  # they stay the same for a record frame
            self._fed_forward = wanted.accelerations, self._M @ wanted.accelerations
        return spring + self._fed_forward[1] + bias


class _ArmatureInertia:
    """What armatures, each added to the inertia of its joint's link along the joint's axis, add to the mass matrix."""

    def __init__(self, body: Body, joints: Sequence[str], armatures: Mapping[str, float]) -> None:
        self._body = body
        own = {name: armature for name, armature in armatures.items() if armature > 0.0}
        both = list(dict.fromkeys((*joints, *own)))
        self._indices = [body.joint(name).index for name in both]
        self._axes = np.array([body.joint(name).axis for name in both])
        self._n = len(joints)
        self._rows = [both.index(name) for name in own]
        moved = [moved_links(body, name) for name in joints]
        self._moves = np.array([[body.joint(name).index in links for links in moved] for name in own])
        self._armatures = np.array(list(own.values()))

    def matrix(self) -> Array:
        """Returns the (n, n) part of the mass matrix at the present positions [kg m^2]."""
        if not self._rows:
            return np.zeros((self._n, self._n))
        states = p.getLinkStates(
            self._body.body_id, self._indices, computeForwardKinematics=1, physicsClientId=self._body.client
        )
        rotations = matrices_from_quats_xyzw([state[5] for state in states])
        axes = (rotations @ self._axes[:, :, None])[:, :, 0]
        J = np.where(self._moves, axes[self._rows] @ axes[: self._n].T, 0.0)  # (n_armatures, n)
        return J.T @ (self._armatures[:, None] * J)


def _find_impossible_inertias(body: Body) -> list[str]:
    """Returns the links whose principal moments no rigid body has: one is negative, or above the sum of the others."""
    found = []
    for name, index in body.links.items():
        moments = np.array(p.getDynamicsInfo(body.body_id, index, physicsClientId=body.client)[2])
        if moments.min() < 0.0 or 2.0 * moments.max() > moments.sum():
            found.append(name)
    return found


MAX_DAMPING_RATIO = 1.5
"""Largest damping ratio that a joint may have. In a mode of `_MAX_MODE_RAD` in a step, explicit steps are unstable from
1.8 on: a mode of phase x with the damping r (2 x - x^2) is stable if r (2 x - x^2) < 2 - x^2 / 2."""
_MAX_MODE_RAD = 0.75
"""Largest phase of a mode in one physics step [rad]."""
