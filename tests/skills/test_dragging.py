"""How hard fingertips press on a face to drag a part by friction."""

from dataclasses import replace

import numpy as np
import pytest

from tests.skills.builders import ARM, panda
from unlatch.skills.dragging import LEAST_PRESS_N, choose_press, press_torques, slide_on_face
from unlatch.skills.gripping import SAFETY_FACTOR
from unlatch.solver.setting import PlannerSettingCfg

PANDA = ARM.gripper
FRICTION = PANDA.friction * 0.8


def test_the_friction_of_the_press_carries_the_load_with_the_safety_factor():
    assert FRICTION * choose_press(PANDA, 12.0).force_n == pytest.approx(SAFETY_FACTOR * 12.0)
    assert choose_press(PANDA, 0.5).force_n == LEAST_PRESS_N
    slippery = replace(PANDA, friction=0.9)
    assert choose_press(slippery, 12.0).force_n > choose_press(PANDA, 12.0).force_n


def test_a_press_is_within_half_of_what_a_finger_bears_and_drags_its_load():
    most_n = 0.5 * PANDA.finger_force_limit_n
    for load_n in np.linspace(0.0, 100.0, 21):
        press = choose_press(PANDA, load_n)
        assert press.force_n <= most_n
        assert press.is_enough == (FRICTION * most_n >= 1.3 * load_n), load_n
        assert not press.is_enough or FRICTION * press.force_n >= 1.3 * load_n - 1e-9


def test_the_torques_of_a_press_do_the_work_of_its_force():
    arm = panda()
    q, force = np.array([0.3, -0.5, 0.2, -2.0, 0.4, 1.8, 0.5]), np.array([10.0, -20.0, 30.0])
    torques, tip = press_torques(arm, q[None], force[None])[0], arm.tool_keypoints["tool_tip"]
    for torque, e in zip(torques, 1e-6 * np.eye(7), strict=True):
        moved = (arm.kinematics.pose(q + e) @ tip - arm.kinematics.pose(q - e) @ tip) / 2e-6
        assert torque == pytest.approx(force @ moved, abs=1e-5)


def test_sliding_counts_along_the_face_only():
    setting = PlannerSettingCfg(success_threshold=0.1, approach_width_m=0.0, press_direction=[0.0, 0.0, -2.0])
    assert slide_on_face(setting, np.array([0.003, 0.004, 0.02])) == pytest.approx(0.005)
