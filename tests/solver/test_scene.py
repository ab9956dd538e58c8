"""The scene moves its link-frame things with the joint, and the arm model checks itself."""

from dataclasses import replace

import numpy as np
import pytest

from tests.solver.builders import CONTACT, HEAD, MOVE
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose, matrix_from_axis_angle
from unlatch.solver.path_solver import apply_motion, motion_poses
from unlatch.solver.setting import MotionReading


def test_link_things_turn_about_the_hinge_and_base_things_stay(door):
    closed, opened = door(), door(s=0.7)
    joint = closed.joint
    R = matrix_from_axis_angle(joint.axis, 0.7)
    wanted = R @ (closed.keypoints[HEAD] - joint.origin) + joint.origin
    np.testing.assert_allclose(opened.keypoints[HEAD], wanted, atol=1e-12)
    np.testing.assert_allclose(opened.keypoints["base_contact_point"], closed.keypoints["base_contact_point"])
    np.testing.assert_allclose(opened.axes["base_front_axis"], closed.axes["base_front_axis"])
    np.testing.assert_allclose(opened.R_base_link, R @ closed.R_base_link, atol=1e-12)
    assert opened.s == 0.7
    for name, point in opened.at(0.0).keypoints.items():  # there and back is the same scene
        np.testing.assert_allclose(point, closed.keypoints[name], atol=1e-15)


def test_axes_have_names_and_the_vertical_one_is_move_cross_contact(door, drawer):
    scene = drawer()
    wanted = np.cross(scene.axes[MOVE], scene.axes[CONTACT])
    np.testing.assert_allclose(scene.axis("object_link0_vertical_axis"), wanted, atol=1e-12)
    with pytest.raises(ConfigError, match=r"='link0_contct_axis' is not an axis .*Did you mean 'link0_contact_axis'"):
        door().axis("link0_contct_axis")


def test_turned_tool_exchanges_the_fingers_only(arm):
    (_, given), (_, turned) = arm.tool_variants()
    for name, signs in {"tool_head": [1, 1, 1], "tool_tail": [1, 1, 1], "tool_side": [1, -1, 1]}.items():
        np.testing.assert_allclose(turned[name], given[name] * signs, atol=1e-12)
    assert len(replace(arm, symmetric_gripper=False).tool_variants()) == 1


def test_arm_limits_that_are_none_are_refused(arm):
    with pytest.raises(ConfigError, match=r"arm.q_lower must hold 7 finite numbers \(one for each of panda_joint1"):
        replace(arm, q_lower=np.zeros(6))
    with pytest.raises(ConfigError, match="every lower bound must lie below its upper bound"):
        replace(arm, q_lower=arm.q_upper)


def test_pre_poses_go_back_in_the_ee_frame(drawer):
    T = Pose(matrix_from_axis_angle([0, 1, 0], 1.0), [0.5, 0, 0.3])
    track = motion_poses(T, [["translate_z", -0.1], ["translate_x", 0.05]], drawer(), MotionReading(), before_contact=2)
    for row, point in zip(track.keyframes, ([0, 0, -0.1], [0.05, 0, -0.1]), strict=True):
        np.testing.assert_allclose(track.dense[row].p, T @ np.array(point), atol=1e-12)
    np.testing.assert_allclose(track.s, 0.0)


def test_post_motions_lead_the_part(door, drawer):
    T = Pose.from_translation(drawer().keypoints[HEAD])
    pulled = motion_poses(T, [["move-backward", -0.1]], drawer(), MotionReading())
    assert pulled.s[-1] == pytest.approx(0.1, abs=1e-9)
    scene = door()
    T = Pose.from_translation(scene.keypoints[HEAD])
    turned = motion_poses(T, [["rotate", 0.4]], scene, MotionReading())
    assert turned.s[-1] == pytest.approx(0.4, abs=1e-9)
    np.testing.assert_allclose(turned.dense[-1].p, scene.at(0.4).keypoints[HEAD], atol=1e-12)
    assert apply_motion(T, ["move-up", 0.06], scene, MotionReading()).p[2] == pytest.approx(T.p[2] + 0.06)
