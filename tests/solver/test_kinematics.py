"""The chain equals Bullet's link poses, and its derivatives equal finite differences."""

import casadi as ca
import numpy as np
import pybullet
import pybullet_data
import pytest

from unlatch.simcore.errors import AssetError, FrameNotFoundError
from unlatch.simcore.geometry import Pose, matrix_from_quat_xyzw
from unlatch.solver.kinematics import Kinematics

ROBOTS = {
    "panda": ("franka_panda/panda.urdf", "panda_link0", "panda_hand"),
    "xarm6": ("xarm/xarm6_robot.urdf", "link_base", "link6"),
}


@pytest.fixture(params=ROBOTS)
def robot(request):
    path, base, tip = ROBOTS[request.param]
    urdf = f"{pybullet_data.getDataPath()}/{path}"
    client = pybullet.connect(pybullet.DIRECT)
    body = pybullet.loadURDF(urdf, useFixedBase=True, physicsClientId=client)
    yield Kinematics.from_urdf(urdf, base_link=base, tip_link=tip), client, body
    pybullet.disconnect(client)


def bullet_names(client, body, field):
    """Names of the joints (field 1) or of their child links (field 12)."""
    joints = range(pybullet.getNumJoints(body, physicsClientId=client))
    return [pybullet.getJointInfo(body, i, physicsClientId=client)[field].decode() for i in joints]


def bullet_link_pose(client, body, link):
    names = bullet_names(client, body, 12)
    state = pybullet.getLinkState(body, names.index(link), computeForwardKinematics=True, physicsClientId=client)
    return Pose(matrix_from_quat_xyzw(state[5]), state[4])


@pytest.mark.property
def test_tip_pose_equals_bullets_link_pose(robot):
    kinematics, client, body = robot
    rng = np.random.default_rng(5)
    joints, links = bullet_names(client, body, 1), bullet_names(client, body, 12)
    for _ in range(40):
        q = rng.uniform(kinematics.lower, kinematics.upper)
        for name, value in zip(kinematics.joint_names, q, strict=True):
            pybullet.resetJointState(body, joints.index(name), value, physicsClientId=client)
        T_world_tip = bullet_link_pose(client, body, kinematics.tip_link)
        T_world_base = (
            bullet_link_pose(client, body, kinematics.base_link) if kinematics.base_link in links else Pose.identity()
        )
        got = kinematics.pose(q)
        wanted = T_world_base.inverse() @ T_world_tip
        assert got.is_close(wanted, atol_m=1e-6, atol_rad=1e-6), f"{got} {wanted} at q={q}"


@pytest.mark.property
def test_symbolic_form_equals_the_numbers(robot):
    kinematics = robot[0]
    rng = np.random.default_rng(6)
    symbol = ca.SX.sym("q", kinematics.n_q)
    symbolic = ca.Function("fk", [symbol], kinematics.expressions(symbol)[:2])
    for _ in range(10):
        q = rng.uniform(kinematics.lower, kinematics.upper)
        R, p = (value.toarray() for value in symbolic(q))
        T = kinematics.fk(q)
        np.testing.assert_allclose(R, T[:3, :3], atol=1e-13)
        np.testing.assert_allclose(p.ravel(), T[:3, 3], atol=1e-13)


@pytest.mark.property
def test_jacobian_equals_finite_differences(robot):
    kinematics = robot[0]
    rng = np.random.default_rng(7)
    step = 1e-6
    for _ in range(10):
        q = rng.uniform(kinematics.lower, kinematics.upper)
        J = kinematics.jacobian(q)
        for i in range(kinematics.n_q):
            e = step * np.eye(kinematics.n_q)[i]
            plus, minus = kinematics.fk(q + e), kinematics.fk(q - e)
            linear = (plus[:3, 3] - minus[:3, 3]) / (2 * step)
            W = (plus[:3, :3] - minus[:3, :3]) / (2 * step) @ kinematics.fk(q)[:3, :3].T
            np.testing.assert_allclose(J[:3, i], linear, atol=1e-8)
            np.testing.assert_allclose(J[3:, i], [W[2, 1], W[0, 2], W[1, 0]], atol=1e-8)


def test_unknown_link_is_named_with_the_known_ones():
    urdf = f"{pybullet_data.getDataPath()}/franka_panda/panda.urdf"
    with pytest.raises(FrameNotFoundError, match=r"Link 'hand' is not in .*Links: panda_link0, "):
        Kinematics.from_urdf(urdf, base_link="panda_link0", tip_link="hand")


def test_a_tip_above_the_base_is_refused():
    urdf = f"{pybullet_data.getDataPath()}/franka_panda/panda.urdf"
    with pytest.raises(FrameNotFoundError, match="is not connected to 'panda_link5'"):
        Kinematics.from_urdf(urdf, base_link="panda_link5", tip_link="panda_link2")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("<robot><link name='a'>", "not well-formed"),
        ("<!DOCTYPE x [<!ENTITY e 'e'>]><robot name='r'/>", "DOCTYPE or an ENTITY"),
        ("<model/>", "the root element is <model>"),
        (
            "<robot><link name='a'/><link name='b'/><joint name='j' type='fixed'><parent link='a'/><child link='b'/>"
            "</joint></robot>",
            "no moving joint",
        ),
        (
            "<robot><link name='a'/><link name='b'/><joint name='j' type='revolute'><parent link='a'/>"
            "<child link='b'/></joint></robot>",
            "has no <limit>",
        ),
    ],
)
def test_bad_model_is_one_error_that_says_what(tmp_path, text, match):
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    with pytest.raises(AssetError, match=match):
        Kinematics.from_urdf(path, base_link="a", tip_link="b")


def test_prismatic_and_continuous_joints(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(
        "<robot><link name='a'/><link name='b'/><link name='c'/>"
        "<joint name='slide' type='prismatic'><parent link='a'/><child link='b'/><axis xyz='0 0 2'/>"
        "<limit lower='0' upper='1' velocity='0.5'/></joint>"
        "<joint name='turn' type='continuous'><parent link='b'/><child link='c'/><origin xyz='1 0 0'/>"
        "<axis xyz='0 0 1'/></joint></robot>"
    )
    kinematics = Kinematics.from_urdf(path, base_link="a", tip_link="c")
    T = kinematics.fk(np.array([0.25, np.pi / 2]))
    np.testing.assert_allclose(T[:3, 3], [1, 0, 0.25], atol=1e-12)
    np.testing.assert_allclose(T[:3, 0], [0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(kinematics.jacobian(np.zeros(2))[:3, 0], [0, 0, 1])
