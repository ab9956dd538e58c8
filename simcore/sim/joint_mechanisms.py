"""Mechanisms of joints that Bullet lacks: the effort of a catch or a gasket near the closed stop, joints that move
together, and the configuration of tendons.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pybullet as p

from unlatch.simcore.errors import ConfigError, WorldError
from unlatch.simcore.ranges import NotNegative, check_ranges
from unlatch.simcore.sim.bodies import Body


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

    def with_effort(self, what: str, value: float) -> ClosedStop:
        """Returns a copy with another effort of its `catch` or `gasket`; that to get into a catch changes with it.

        Raises:
            WorldError: The joint has no such thing.
        """
        if value != getattr(self, f"{what}_effort") and getattr(self, f"{what}_reach") == 0.0:
            raise WorldError(
                f"An effort of {value:g} is set for the {what} of a joint without one. Name `{what}` in "
                "`closing_forces` of the part's annotation, with a reach, or give this joint 0."
            )
        changed: dict[str, Any] = {f"{what}_effort": value}
        return replace(self, **changed)


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
