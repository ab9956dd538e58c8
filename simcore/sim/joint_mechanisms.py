"""Mechanisms of joints that Bullet lacks: the effort of a catch or a gasket near the closed stop, joints that move
together, and tendons with a spring and a damper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pybullet as p

from unlatch.simcore.errors import ConfigError, WorldError
from unlatch.simcore.ranges import NotNegative, check_ranges
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.world import World


@dataclass(frozen=True)
class ClosedStop:
    """Catch and gasket as efforts on the joint that closes at a stop.

    The effort by opening is that of `unlatch.simcore.closing_profile`; the core applies it in every physics step.
    """

    closed: float
    """Joint position at the stop [rad or m]."""
    sign: float
    """+1 if the joint's position grows as the part opens, else -1."""
    catch_effort: float = 0.0
    """Effort that must be exceeded to leave the stop [N m or N]."""
    enter_share: float = 0.0
    """Effort that must be exceeded to get in again, as a share of `catch_effort`."""
    catch_reach: float = 0.0
    """Opening at which the effort of the catch changes its direction [rad or m]."""
    gasket_effort: float = 0.0
    """Effort of the gasket at the stop [N m or N]; positive pulls the part closed."""
    gasket_reach: float = 0.0
    """Opening from which the gasket has no effect [rad or m]."""
    drawing_speed: float = math.inf
    """Speed up to which they draw the part closed, and above which they brake it [rad/s or m/s]."""

    @cached_property
    def reach(self) -> float:
        """Opening beyond which neither acts [rad or m]."""
        of_catch = self.catch_reach * (2.0 if self.enter_share else 1.0) if self.catch_effort else 0.0
        return max(of_catch, self.gasket_reach if self.gasket_effort else 0.0)

    def with_catch_effort(self, value: float) -> ClosedStop:
        """Returns a copy with another effort to leave the stop; the effort to get in changes in proportion.

        Raises:
            WorldError: The joint has no catch.
        """
        if value != self.catch_effort and self.catch_reach == 0.0:
            raise WorldError(_nothing_to_change("catch", value))
        return replace(self, catch_effort=value)

    def with_gasket_effort(self, value: float) -> ClosedStop:
        """Returns a copy with another effort of the gasket.

        Raises:
            WorldError: The joint has no gasket.
        """
        if value != self.gasket_effort and self.gasket_reach == 0.0:
            raise WorldError(_nothing_to_change("gasket", value))
        return replace(self, gasket_effort=value)


def _nothing_to_change(what: str, value: float) -> str:
    return (
        f"An effort of {value:g} is set for the {what} of a joint without one. Name `{what}` in `closing_forces` of "
        "the part's annotation, with a reach, or give this joint 0."
    )


def couple_joints(
    body: Body, first: str, second: str, *, ratio: float = 1.0, offset: float = 0.0, max_force_n: float
) -> None:
    """Couples two joints of a robot, as the mechanism of a gripper or a mimic joint does.

    A gear constraint between two links of the robot holds `q_first = ratio * q_second + offset`. It joins nothing
    outside the robot.

    Args:
        body: The robot.
        first: A joint.
        second: The other one.
        ratio: How far the first moves while the second moves by one.
        offset: Position of the first where the second is at 0 [rad or m].
        max_force_n: Largest force of the coupling [N, or N m between joints that turn].
    """
    a, b = body.joint(first), body.joint(second)
    constraint = p.createConstraint(
        body.body_id,
        a.index,
        body.body_id,
        b.index,
        jointType=p.JOINT_GEAR,
        jointAxis=[1, 0, 0],
        parentFramePosition=[0, 0, 0],
        childFramePosition=[0, 0, 0],
        physicsClientId=body.client,
    )
    target = {"relativePositionTarget": offset} if offset else {}
    p.changeConstraint(
        constraint, gearRatio=-ratio, erp=0.1, maxForce=max_force_n, physicsClientId=body.client, **target
    )


Array = np.ndarray


@dataclass
class TendonCfg:
    """One fixed tendon; a URDF cannot state it, so a view declares it.

    Its length is l = offset + sum of coefficient * joint position, and its tension

        f = stiffness (l - rest_length) + damping dl/dt + limit_stiffness (l - nearest limit, where l is beyond one)

    acts on each of its joints with the effort -coefficient * f, at every physics step.
    """

    joints: list[str] = field(default_factory=list)
    """Joints of the tendon."""
    coefficients: list[float] = field(default_factory=list)
    """Change of length by each joint [m/rad, or 1]."""
    rest_length: float = 0.0
    """Length at which the spring has no tension [m]."""
    stiffness: NotNegative = 0.0
    """Stiffness of the spring [N/m]."""
    damping: NotNegative = 0.0
    """Damping of the spring [N s/m]."""
    limit_stiffness: NotNegative = 0.0
    """Stiffness of the spring beyond a limit [N/m]."""
    lower_limit: float = -1e9
    """Least length [m]."""
    upper_limit: float = 1e9
    """Largest length [m]."""
    offset: float = 0.0
    """Length at joint positions of zero [m]."""

    def __post_init__(self) -> None:
        if not self.joints or len(self.joints) != len(self.coefficients):
            raise ConfigError(
                f"tendon.coefficients has {len(self.coefficients)} values for {len(self.joints)} joints. Expected at "
                "least one joint, and one coefficient a joint. Change one of them.",
                key="tendon.coefficients",
            )
        check_ranges(self, "tendon")


_VALUES = ("stiffness", "damping", "limit_stiffness", "lower_limit", "upper_limit", "rest_length", "offset")


class Tendons:
    """The tendons of one body; they act before every physics step until the world's next reset."""

    def __init__(self, world: World, body: Body, cfgs: Sequence[TendonCfg]) -> None:
        """Attaches tendons.

        Raises:
            WorldError: A joint of a tendon cannot move.
            FrameNotFoundError: A joint of a tendon does not exist.
        """
        self._body = body
        self._joints: list[Array] = []
        self._coefficients: list[Array] = []
        for cfg in cfgs:
            joints = [body.joint(name) for name in cfg.joints]
            for joint in joints:
                if not joint.movable:
                    raise WorldError(
                        f"A tendon of '{body.name}' runs over joint '{joint.name}', which is fixed. Name joints that "
                        "move.",
                        joint=joint.name,
                    )
            self._joints.append(np.array([joint.index for joint in joints]))
            self._coefficients.append(np.array(cfg.coefficients, dtype=float))
        self.values = {name: np.array([getattr(cfg, name) for cfg in cfgs], dtype=float) for name in _VALUES}
        """(T,) values by field of `TendonCfg`; they may be changed and act from the next step on."""
        if cfgs:
            world.call_before_step(self._apply_tensions)

    def __len__(self) -> int:
        return len(self._joints)

    def tension(self, index: int) -> float:
        """Returns the present tension of a tendon [N]."""
        states = p.getJointStates(self._body.body_id, self._joints[index].tolist(), physicsClientId=self._body.client)
        q, dq = np.array([state[:2] for state in states]).T
        coefficients = self._coefficients[index]
        values = {name: array[index] for name, array in self.values.items()}
        length = float(values["offset"] + coefficients @ q)
        beyond = min(0.0, length - values["lower_limit"]) + max(0.0, length - values["upper_limit"])
        return float(
            values["stiffness"] * (length - values["rest_length"])
            + values["damping"] * (coefficients @ dq)
            + values["limit_stiffness"] * beyond
        )

    def _apply_tensions(self) -> None:
        for index, joints in enumerate(self._joints):
            tension = self.tension(index)
            if tension == 0.0:
                continue
            for joint, coefficient in zip(joints, self._coefficients[index], strict=True):
                p.setJointMotorControl2(
                    self._body.body_id,
                    int(joint),
                    p.TORQUE_CONTROL,
                    force=float(-coefficient * tension),
                    physicsClientId=self._body.client,
                )
