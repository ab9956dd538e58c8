"""Couples joints of a robot that a mechanism moves together: the fingers of a gripper, mimic joints."""

from __future__ import annotations

import pybullet as p

from unlatch.simcore.sim.bodies import Body


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
