"""How hard fingertips press on a face to drag a part by friction."""

from dataclasses import replace

import numpy as np
import pytest

from unlatch.robots.catalog import load_robot
from unlatch.robots.models import model_path
from unlatch.skills.dragging import LEAST_PRESS_N, choose_press, press_torques, slide_on_face
from unlatch.skills.gripping import SAFETY_FACTOR
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.scene import ArmModel
from unlatch.solver.setting import PlannerSettingCfg

ARM = load_robot("franka_panda").arms[0]
PANDA = ARM.gripper
FRICTION = PANDA.friction * 0.8


def test_the_friction_of_the_press_carries_the_load_with_the_safety_factor():
    assert FRICTION * choose_press(PANDA, 12.0).force_n == pytest.approx(SAFETY_FACTOR * 12.0)
    assert choose_press(PANDA, 0.5).force_n == LEAST_PRESS_N


def test_slippery_pads_press_harder():
    assert choose_press(replace(PANDA, friction=0.9), 12.0).force_n > choose_press(PANDA, 12.0).force_n


@pytest.mark.parametrize("load_n", np.linspace(0.0, 100.0, 21))
def test_a_press_is_within_half_of_what_a_finger_bears_and_drags_its_load(load_n):
    press = choose_press(PANDA, load_n)
    assert press.force_n <= 0.5 * PANDA.finger_force_limit_n
    assert press.is_enough == (FRICTION * 0.5 * PANDA.finger_force_limit_n >= 1.3 * load_n)
    if press.is_enough:
        assert FRICTION * press.force_n >= 1.3 * load_n - 1e-9


def test_the_torques_of_a_press_do_the_work_of_its_force():
    arm = ArmModel(
        kinematics=Kinematics.from_urdf(model_path("franka_panda"), base_link=ARM.base_link, tip_link=ARM.ee_link),
        tool_keypoints={name: np.array(point) for name, point in ARM.keypoints.items()},
        q_lower=np.array(ARM.lower),
        q_upper=np.array(ARM.upper),
        max_velocity=np.array(ARM.max_velocity),
        max_acceleration=np.array(ARM.max_acceleration),
        workspace=np.array(ARM.workspace),
        q_home=np.array(ARM.home),
    )
    q, force = np.array([0.3, -0.5, 0.2, -2.0, 0.4, 1.8, 0.5]), np.array([10.0, -20.0, 30.0])
    torques = press_torques(arm, q[None], force[None])[0]
    step = 1e-6
    for joint in range(7):
        ends = [arm.kinematics.pose(q + sign * step * np.eye(7)[joint]) for sign in (1.0, -1.0)]
        moved = (ends[0] @ arm.tool_keypoints["tool_tip"] - ends[1] @ arm.tool_keypoints["tool_tip"]) / (2.0 * step)
        assert torques[joint] == pytest.approx(force @ moved, abs=1e-5)


def test_sliding_counts_along_the_face_only():
    setting = PlannerSettingCfg(success_threshold=0.1, approach_width_m=0.0, press_direction=[0.0, 0.0, -2.0])
    assert slide_on_face(setting, np.array([0.003, 0.004, 0.02])) == pytest.approx(0.005)
