"""A Panda, two small arms that make causes exact, and settings that open and close."""

from pathlib import Path

import numpy as np
import pybullet_data
import pytest

from tests.solver.builders import CLOSE, OPEN, Y, Z, door_scene, drawer_scene, read_setting
from unlatch.solver.kinematics import ChainJoint, Kinematics
from unlatch.solver.scene import ArmModel

PANDA = Path(pybullet_data.getDataPath()) / "franka_panda" / "panda.urdf"
TOOL = np.array([0.1, 0.0, 0.0])
NO_BOX = np.array([[-9.0] * 3, [9.0] * 3])


@pytest.fixture(scope="session")
def panda():
    return Kinematics.from_urdf(PANDA, base_link="panda_link0", tip_link="panda_hand")


@pytest.fixture(scope="session")
def arm(panda):
    return ArmModel(
        kinematics=panda,
        tool_keypoints={
            "tool_head": np.array([0, 0, 0.1034]),
            "tool_tail": np.array([0, 0, 0.0584]),
            "tool_side": np.array([0, 0.04, 0.1034]),
        },
        q_lower=np.array([-2.86, -1.73, -2.86, -3.04, -2.86, 0.01, -2.86]),
        q_upper=np.array([2.86, 1.73, 2.86, -0.1, 2.86, 3.72, 2.86]),
        max_velocity=np.array([2.175] * 4 + [2.61] * 3),
        max_acceleration=np.array([15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0]),
        workspace=np.array([[-0.3, -0.85, -0.1], [0.9, 0.85, 1.1]]),
        q_home=np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]),
    )


@pytest.fixture(scope="session")
def open_setting():
    return read_setting(*OPEN, pre_actuation_motions=[["translate_z", -0.1]])


@pytest.fixture(scope="session")
def close_setting():
    return read_setting(*CLOSE, threshold=0.08, pre_actuation_motions=[["translate_z", -0.08]])


def _joint(name, axis, low, high, *, before=(0.0, 0.0, 0.0), prismatic=False):
    T = np.eye(4)
    T[:3, 3] = before
    return ChainJoint(name, prismatic, T, np.array(axis, dtype=float), low, high, 1.0)


def _arm_of(joints, *, tip=(0.0, 0.0, 0.0), workspace=NO_BOX):
    T = np.eye(4)
    T[:3, 3] = tip
    kinematics = Kinematics(joints, T, base_link="base", tip_link="hand")
    return ArmModel(
        kinematics=kinematics,
        tool_keypoints={"tool_head": TOOL, "tool_tail": 0.5 * TOOL, "tool_side": TOOL + 0.04 * Y},
        q_lower=kinematics.lower,
        q_upper=kinematics.upper,
        max_velocity=np.ones(kinematics.n_q),
        max_acceleration=np.ones(kinematics.n_q),
        workspace=workspace,
        q_home=0.5 * (kinematics.lower + kinematics.upper),
        symmetric_gripper=False,
    )


@pytest.fixture(scope="session")
def gantry():
    """Slides x, y, z of 1 m each; the hand looks along x and cannot turn."""
    return _arm_of([_joint(*each, 0.0, 1.0, prismatic=True) for each in zip("xyz", np.eye(3), strict=True)])


@pytest.fixture(scope="session")
def planar_of():
    """Makes an arm of a turntable and three pitch joints, with narrower joints or a workspace.

    Its links are 0.4, 0.3 and 0.2 m long and its tool 0.1 m, all along x at zero.
    """

    def make(*, yaw=(-2.5, 2.5), elbow=(-2.5, 2.5), workspace=NO_BOX):
        upper = [_joint("yaw", Z, *yaw), _joint("shoulder", Y, -2.5, 2.5)]
        lower = [_joint("elbow", Y, *elbow, before=(0.4, 0, 0)), _joint("wrist", Y, -2.5, 2.5, before=(0.3, 0, 0))]
        return _arm_of([*upper, *lower], tip=(0.2, 0, 0), workspace=workspace)

    return make


@pytest.fixture(scope="session")
def planar(planar_of):
    return planar_of()


@pytest.fixture
def door():
    """Makes a scene of a door."""
    return door_scene


@pytest.fixture
def drawer():
    """Makes a scene of a drawer."""
    return drawer_scene
