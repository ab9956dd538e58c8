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


def chain_of(name):
    path, base, tip = ROBOTS[name]
    urdf = f"{pybullet_data.getDataPath()}/{path}"
    return urdf, Kinematics.from_urdf(urdf, base_link=base, tip_link=tip)


@pytest.mark.property
@pytest.mark.parametrize("name", ROBOTS)
def test_tip_pose_equals_bullets_link_pose(name):
    urdf, kinematics = chain_of(name)
    client = pybullet.connect(pybullet.DIRECT)
    body = pybullet.loadURDF(urdf, useFixedBase=True, physicsClientId=client)
    infos = [pybullet.getJointInfo(body, i, physicsClientId=client) for i in range(pybullet.getNumJoints(body, client))]
    joints, links = ([info[field].decode() for info in infos] for field in (1, 12))

    def pose(link):
        if link not in links:
            return Pose.identity()
        state = pybullet.getLinkState(body, links.index(link), computeForwardKinematics=True, physicsClientId=client)
        return Pose(matrix_from_quat_xyzw(state[5]), state[4])

    rng = np.random.default_rng(5)
    for _ in range(40):
        q = rng.uniform(kinematics.lower, kinematics.upper)
        for joint, value in zip(kinematics.joint_names, q, strict=True):
            pybullet.resetJointState(body, joints.index(joint), value, physicsClientId=client)
        got, wanted = kinematics.pose(q), pose(kinematics.base_link).inverse() @ pose(kinematics.tip_link)
        assert got.is_close(wanted, atol_m=1e-6, atol_rad=1e-6), f"{got} {wanted} at q={q}"
    pybullet.disconnect(client)


@pytest.mark.property
@pytest.mark.parametrize("name", ROBOTS)
def test_symbolic_form_and_jacobian_are_those_of_the_numbers(name):
    _, kinematics = chain_of(name)
    rng, step = np.random.default_rng(6), 1e-6
    symbol = ca.SX.sym("q", kinematics.n_q)
    symbolic = ca.Function("fk", [symbol], kinematics.expressions(symbol)[:2])
    for _ in range(10):
        q = rng.uniform(kinematics.lower, kinematics.upper)
        T, J = kinematics.fk(q), kinematics.jacobian(q)
        R, p = (value.toarray() for value in symbolic(q))
        np.testing.assert_allclose(R, T[:3, :3], atol=1e-13)
        np.testing.assert_allclose(p.ravel(), T[:3, 3], atol=1e-13)
        for i, e in enumerate(step * np.eye(kinematics.n_q)):
            slope = (kinematics.fk(q + e) - kinematics.fk(q - e)) / (2 * step)
            W = slope[:3, :3] @ T[:3, :3].T
            np.testing.assert_allclose(J[:3, i], slope[:3, 3], atol=1e-8)
            np.testing.assert_allclose(J[3:, i], [W[2, 1], W[0, 2], W[1, 0]], atol=1e-8)


@pytest.mark.parametrize(
    ("base", "tip", "match"),
    [
        ("panda_link0", "hand", r"Link 'hand' is not in .*Links: panda_link0, "),
        ("panda_link5", "panda_link2", "is not connected to 'panda_link5'"),
    ],
)
def test_links_that_are_no_chain_are_refused(base, tip, match):
    with pytest.raises(FrameNotFoundError, match=match):
        Kinematics.from_urdf(chain_of("panda")[0], base_link=base, tip_link=tip)


JOINT = "<joint name='j' type='{}'><parent link='a'/><child link='b'/></joint>"
TWO = f"<robot><link name='a'/><link name='b'/>{JOINT}</robot>"


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("<robot><link name='a'>", "not well-formed"),
        ("<!DOCTYPE x [<!ENTITY e 'e'>]><robot name='r'/>", "DOCTYPE or an ENTITY"),
        ("<model/>", "the root element is <model>"),
        (TWO.format("fixed"), "no moving joint"),
        (TWO.format("revolute"), "has no <limit>"),
    ],
)
def test_bad_model_is_one_error_that_says_what(tmp_path, text, match):
    (tmp_path / "robot.urdf").write_text(text)
    with pytest.raises(AssetError, match=match):
        Kinematics.from_urdf(tmp_path / "robot.urdf", base_link="a", tip_link="b")


def test_prismatic_and_continuous_joints(tmp_path):
    (tmp_path / "robot.urdf").write_text(
        "<robot><link name='a'/><link name='b'/><link name='c'/>"
        "<joint name='slide' type='prismatic'><parent link='a'/><child link='b'/><axis xyz='0 0 2'/>"
        "<limit lower='0' upper='1' velocity='0.5'/></joint>"
        "<joint name='turn' type='continuous'><parent link='b'/><child link='c'/><origin xyz='1 0 0'/>"
        "<axis xyz='0 0 1'/></joint></robot>"
    )
    kinematics = Kinematics.from_urdf(tmp_path / "robot.urdf", base_link="a", tip_link="c")
    T = kinematics.fk(np.array([0.25, np.pi / 2]))
    np.testing.assert_allclose(T[:3, [3, 0]].T, [[1, 0, 0.25], [0, 1, 0]], atol=1e-12)
    np.testing.assert_allclose(kinematics.jacobian(np.zeros(2))[:3, 0], [0, 0, 1])


def test_a_pose_that_is_asked_for_again_is_the_same_and_not_shared(panda):
    q = np.linspace(-0.5, 0.4, 7)
    first, again = panda.fk(q), panda.fk(q)
    first[:] = 0.0
    np.testing.assert_array_equal(panda.fk(q), again)
    assert not np.allclose(panda.fk(q + 0.1), again)
