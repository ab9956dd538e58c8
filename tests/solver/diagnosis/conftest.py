"""Two small arms that make causes exact: a gantry that cannot turn the hand, and a planar arm of four joints."""

import numpy as np
import pytest

from unlatch.solver.kinematics import ChainJoint, Kinematics
from unlatch.solver.scene import ArmModel

X, Y, Z = np.eye(3)
HEAD = np.array([0.1, 0.0, 0.0])
NO_BOX = np.array([[-9.0] * 3, [9.0] * 3])


def _joint(name, axis, low, high, *, before=(0.0, 0.0, 0.0), prismatic=False):
    T = np.eye(4)
    T[:3, 3] = before
    return ChainJoint(name, prismatic, T, np.array(axis, dtype=float), low, high, 1.0)


def _arm_of(joints, *, tip=(0.0, 0.0, 0.0), workspace=NO_BOX):
    T = np.eye(4)
    T[:3, 3] = tip
    kinematics = Kinematics(joints, T, base_link="base", tip_link="hand")
    n = kinematics.n_q
    return ArmModel(
        kinematics=kinematics,
        tool_keypoints={"tool_head": HEAD, "tool_tail": 0.5 * HEAD, "tool_side": HEAD + 0.04 * Y},
        q_lower=kinematics.lower,
        q_upper=kinematics.upper,
        max_velocity=np.ones(n),
        max_acceleration=np.ones(n),
        workspace=workspace,
        q_home=0.5 * (kinematics.lower + kinematics.upper),
        symmetric_gripper=False,
    )


@pytest.fixture(scope="session")
def gantry():
    """Slides x, y, z of 1 m each; the hand looks along x and cannot turn."""
    return _arm_of([_joint(name, axis, 0.0, 1.0, prismatic=True) for name, axis in zip("xyz", (X, Y, Z), strict=True)])


@pytest.fixture(scope="session")
def planar():
    """A turntable and three pitch joints; links 0.4, 0.3, 0.2 m and a tool of 0.1 m, all along x at zero."""
    return _planar_of()


def _planar_of(*, yaw=(-2.5, 2.5), elbow=(-2.5, 2.5), workspace=NO_BOX):
    return _arm_of(
        [
            _joint("yaw", Z, *yaw),
            _joint("shoulder", Y, -2.5, 2.5),
            _joint("elbow", Y, *elbow, before=(0.4, 0, 0)),
            _joint("wrist", Y, -2.5, 2.5, before=(0.3, 0, 0)),
        ],
        tip=(0.2, 0, 0),
        workspace=workspace,
    )


@pytest.fixture(scope="session")
def joint():
    """Makes a joint of a chain."""
    return _joint


@pytest.fixture(scope="session")
def arm_of():
    """Makes an arm of joints."""
    return _arm_of


@pytest.fixture(scope="session")
def planar_of():
    """Makes a planar arm with narrower joints or a workspace."""
    return _planar_of
