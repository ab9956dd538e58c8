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
from unlatch.simcore.geometry import Array
from unlatch.simcore.sim.bodies import Body, moved_links
from unlatch.simcore.sim.core import NO_MASS_MATRIX, NOT_POSITIVE_DEFINITE, ServoState


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

    def __init__(self, body: Body, joints: Sequence[str], *, armatures: Mapping[str, float] | None = None) -> None:
        """Makes a controller of joints; it sets no motor and no armature by itself.

        Args:
            body: The body.
            joints: The joints that it controls.
            armatures: Armatures of turning joints of the body, these or others, by name [kg m^2].

        Raises:
            WorldError: Bullet refuses the inertia of a link, or a joint moves no inertia.
        """
        self._body = body
        self._core = body.core
        self.joints = tuple(joints)
        """Their names."""
        self.state = ServoState([body.rows[body.joint(name).name] for name in joints])
        """Its targets and gains in the core."""
        self._set_armatures(armatures or {})
        self.rest_at(body.joint_positions(joints), 0.0)
        self.refresh_inertia()
        body.state.add_servo(self.state)

    @property
    def targets(self) -> JointTargets:
        """Targets (n,) that arrived for the last physics step, as the encoders read them."""
        positions, velocities, accelerations = self.state.arrived[:-1].reshape(3, -1).copy()
        return JointTargets(positions, velocities, accelerations)

    def rest_at(self, positions: ArrayLike, opening_m: float) -> None:
        """Makes positions (n,) [rad] and an opening of the gripper [m] the targets, at rest; earlier ones are lost."""
        state, struct = self.state, self.state.struct
        state.points[:] = positions
        state.arrived[:] = [*state.points[0], *np.zeros(2 * struct.n), opening_m]
        state.sent[0] = state.arrived
        struct.opening = opening_m
        struct.n_sent = struct.has_arrived = 1
        struct.step = struct.is_ready = 0

    def add_action(self, positions: Array, max_step: Array, opening_m: float, *, frame_s: float, steps: int) -> None:
        """Begins the next record frame of the targets.

        Args:
            positions: (n,) the frame's action [rad].
            max_step: (n,) largest change from the action before [rad]; a larger one is cut off, so that no target moves
                faster than a motor can.
            opening_m: Opening of the gripper [m].
            frame_s: Length of the frame [s].
            steps: Its number of physics steps.
        """
        points, struct = self.state.points, self.state.struct
        last = points[3].copy()
        points[:3] = points[1:].copy()
        points[3] = np.minimum(np.maximum(positions, last - max_step), last + max_step)
        struct.opening, struct.frame_s, struct.frame_steps, struct.step = opening_m, frame_s, steps, 0

    def set_gains(self, stiffness: ArrayLike, damping_ratio: ArrayLike) -> None:
        """Sets the stiffness (n,) [N m/rad] and the damping ratio (n,), 1 = critical, of the joints."""
        self.state.stiffness[:], self.state.root_of_ratio[:] = stiffness, np.sqrt(damping_ratio)
        if self._core.update_gains(self.state, _MAX_MODE_RAD) == NOT_POSITIVE_DEFINITE:
            raise self._not_positive_definite()

    def set_limits(self, max_torques: ArrayLike) -> None:
        """Sets the largest torque (n,) of each joint [N m]."""
        self.state.limits[:] = max_torques

    def refresh_inertia(self, *, least_motion_rad: float = 0.0) -> None:
        """Computes the inertia at the present joint positions; it is used until the next call.

        Args:
            least_motion_rad: The inertia is kept if no joint has moved further since it was computed last [rad].

        Raises:
            WorldError: A joint moves no inertia.
        """
        body = self._body
        answer = self._core.refresh_inertia(body.state, self.state, least_motion_rad, _MAX_MODE_RAD)
        if answer == NO_MASS_MATRIX:
            links = ", ".join(f"'{link}'" for link in _find_impossible_inertias(body)) or "its links"
            raise WorldError(
                f"Bullet computes no mass matrix of '{body.name}', because it refuses the inertia of a link. Expected "
                "principal moments that are not negative, each at most the sum of the other two. Correct the inertia "
                f"of {links}.",
                body=body.name,
            )
        if answer == NOT_POSITIVE_DEFINITE:
            raise self._not_positive_definite()

    def _not_positive_definite(self) -> WorldError:
        inertias = np.diag(self.state.M)
        joint = self.joints[int(np.argmin(inertias))]
        return WorldError(
            f"The mass matrix of joints {list(self.joints)} of '{self._body.name}' is not positive definite. The "
            f"least inertia is {inertias.min():g} kg m^2, at '{joint}'. Expected more than 0 at each joint. Correct "
            "the inertia of the links that it moves.",
            body=self._body.name,
            joint=joint,
        )

    def _set_armatures(self, armatures: Mapping[str, float]) -> None:
        """Gives the core the armatures, and the axes of the joints along which each adds inertia."""
        body, joints = self._body, self.joints
        own = {name: armature for name, armature in armatures.items() if armature > 0.0}
        both = list(dict.fromkeys((*joints, *own))) if own else []
        moved = [moved_links(body, name) for name in joints] if own else []
        self.state.set_armatures(
            links=np.array([body.joint(name).index for name in both]),
            axes=np.array([body.joint(name).axis for name in both]),
            armature_axes=np.array([both.index(name) for name in own]),
            armatures=np.array(list(own.values())),
            moves=np.array([[body.joint(name).index in links for links in moved] for name in own]),
        )


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
