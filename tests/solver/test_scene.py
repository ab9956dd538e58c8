"""The scene moves its link-frame things with the joint, and the arm model checks itself."""

from dataclasses import replace

import numpy as np
import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose, matrix_from_axis_angle
from unlatch.solver.path_solver import apply_motion, post_poses, pre_poses
from unlatch.solver.setting import MotionReading


def test_link_things_turn_about_the_hinge_and_base_things_stay(door):
    closed, opened = door(), door(s=0.7)
    joint = closed.joint
    R = matrix_from_axis_angle(joint.axis, 0.7)
    wanted = R @ (closed.keypoints["articulated_object_head"] - joint.origin) + joint.origin
    np.testing.assert_allclose(opened.keypoints["articulated_object_head"], wanted, atol=1e-12)
    np.testing.assert_allclose(opened.keypoints["base_contact_point"], closed.keypoints["base_contact_point"])
    np.testing.assert_allclose(opened.axes["base_front_axis"], closed.axes["base_front_axis"])
    np.testing.assert_allclose(opened.R_base_link, R @ closed.R_base_link, atol=1e-12)
    assert opened.s == 0.7


def test_there_and_back_is_the_same_scene(drawer):
    scene = drawer(yaw=0.3)
    back = scene.at(0.2).at(0.0)
    for name, point in scene.keypoints.items():
        np.testing.assert_allclose(back.keypoints[name], point, atol=1e-15)


def test_an_opening_door_comes_towards_the_robot(door):
    for hinge in (1.0, -1.0):
        assert (
            door(hinge=hinge, s=0.5).keypoints["articulated_object_head"][0]
            < door(hinge=hinge).keypoints["articulated_object_head"][0]
        )


def test_unknown_axis_names_the_known_ones(door):
    with pytest.raises(ConfigError, match=r"='link0_contct_axis' is not an axis .*Did you mean 'link0_contact_axis'"):
        door().axis("link0_contct_axis")


def test_vertical_axis_is_move_cross_contact(drawer):
    scene = drawer()
    wanted = np.cross(scene.axes["link0_move_axis"], scene.axes["link0_contact_axis"])
    np.testing.assert_allclose(scene.axis("object_link0_vertical_axis"), wanted, atol=1e-12)


def test_turned_tool_exchanges_the_fingers_only(arm):
    (_, given), (_, turned) = arm.tool_variants()
    np.testing.assert_allclose(turned["tool_head"], given["tool_head"])
    np.testing.assert_allclose(turned["tool_tail"], given["tool_tail"], atol=1e-12)
    np.testing.assert_allclose(turned["tool_side"], given["tool_side"] * [1, -1, 1], atol=1e-12)
    assert len(replace(arm, symmetric_gripper=False).tool_variants()) == 1


def test_arm_limits_of_the_wrong_length_are_refused(arm):
    with pytest.raises(ConfigError, match=r"arm.q_lower must hold 7 finite numbers \(one for each of panda_joint1"):
        replace(arm, q_lower=np.zeros(6))
    with pytest.raises(ConfigError, match="every lower bound must lie below its upper bound"):
        replace(arm, q_lower=arm.q_upper)


def test_pre_poses_go_back_in_the_ee_frame(drawer):
    T = Pose(matrix_from_axis_angle([0, 1, 0], 1.0), [0.5, 0, 0.3])
    track = pre_poses(T, [["translate_z", -0.1], ["translate_x", 0.05]], drawer(), MotionReading())
    ends = [track.dense[i] for i in track.keyframes]
    np.testing.assert_allclose(ends[0].p, T @ np.array([0, 0, -0.1]), atol=1e-12)
    np.testing.assert_allclose(ends[1].p, T @ np.array([0.05, 0, -0.1]), atol=1e-12)
    np.testing.assert_allclose(track.s, 0.0)


def test_post_motions_lead_the_part(door, drawer):
    T = Pose.from_translation(drawer().keypoints["articulated_object_head"])
    pulled = post_poses(T, [["move-backward", -0.1]], drawer(), MotionReading())
    assert pulled.s[-1] == pytest.approx(0.1, abs=1e-9)
    scene = door()
    T = Pose.from_translation(scene.keypoints["articulated_object_head"])
    turned = post_poses(T, [["rotate", 0.4]], scene, MotionReading())
    assert turned.s[-1] == pytest.approx(0.4, abs=1e-9)
    head = scene.at(0.4).keypoints["articulated_object_head"]
    np.testing.assert_allclose(turned.dense[-1].p, head, atol=1e-12)
    assert apply_motion(T, ["move-up", 0.06], scene, MotionReading()).p[2] == pytest.approx(T.p[2] + 0.06)
