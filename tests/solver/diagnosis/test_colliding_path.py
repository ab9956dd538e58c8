"""What is in the way, of which piece of the motion, how deep and where."""

import numpy as np
import pytest

from unlatch.solver.failed_paths import CollidingPath
from unlatch.solver.motion import Clearance
from unlatch.solver.path_solver import PathSolution
from unlatch.solver.plan import PlanBudget, PlanRequest
from unlatch.solver.planner import plan_keyframes

WHERE = (0.41, -0.2, 0.55)


@pytest.fixture
def refused(arm, door, open_setting, toy_checker):
    def make(hit, **more):
        request = PlanRequest(
            arm=arm,
            scene=door(s=0.05),
            setting=open_setting,
            q_current=arm.q_home,
            follow_to=0.8,
            budget=PlanBudget(goal_waves=1, motion_queries=200, searches=1),
            **more,
        )
        checker = toy_checker(lambda *state: (*hit(*state), -0.0125, WHERE) if hit(*state) else None)
        result = plan_keyframes(request, checker, np.random.default_rng(0))
        assert not result.found
        return result.diagnosis

    return make


def is_told(diagnosis, pair):
    assert diagnosis.evidence["pair"] == list(pair)
    assert diagnosis.evidence["distance_m"] == -0.0125
    assert diagnosis.evidence["where"] == list(WHERE)
    assert "12.5 mm deep at [0.410, -0.200, 0.550] m (world frame)" in diagnosis.message
    assert all(name in diagnosis.message for name in pair)


@pytest.mark.slow
def test_a_wall_about_the_arm_blocks_the_transit(arm, refused):
    pair = ("panda_link3", "cage")
    diagnosis = refused(lambda q, *_: pair if 0.1 < np.linalg.norm(q - arm.q_home) < 0.35 else None)
    assert (diagnosis.code, diagnosis.evidence["stage"]) == ("motion_blocked", "transit")
    is_told(diagnosis, pair)


def test_a_colliding_start_is_reported(arm, refused):
    pair = ("panda_link4", "lamp")
    diagnosis = refused(lambda q, *_: pair if np.linalg.norm(q - arm.q_home) < 0.05 else None)
    assert diagnosis.evidence["stage"] == "transit"
    assert "the start of the motion collides" in diagnosis.message
    is_told(diagnosis, pair)


@pytest.fixture
def from_handle(arm, door):
    """The distance between the fingertips and the place of the handle at a joint position [m]."""

    def distance(q, s):
        head = door(s=s).keypoints["articulated_object_head"]
        return np.linalg.norm(arm.kinematics.pose(q) @ arm.tool_keypoints["tool_head"] - head)

    return distance


def test_a_thing_at_the_handle_blocks_contact(from_handle, refused):
    pair = ("panda_hand", "vase")
    diagnosis = refused(lambda q, *_: pair if from_handle(q, 0.05) < 0.01 else None)
    assert (diagnosis.code, diagnosis.evidence["stage"]) == ("plan_infeasible", "contact")
    is_told(diagnosis, pair)


@pytest.mark.slow
def test_a_thing_before_the_handle_blocks_the_approach(from_handle, refused):
    pair = ("panda_hand", "curtain")
    diagnosis = refused(lambda q, s, *_: pair if s == 0.05 and 0.04 < from_handle(q, 0.05) < 0.09 else None)
    assert (diagnosis.code, diagnosis.evidence["stage"]) == ("motion_blocked", "approach")
    is_told(diagnosis, pair)


@pytest.mark.slow
def test_a_thing_behind_the_open_door_blocks_the_retreat(from_handle, refused):
    pair = ("panda_link6", "lamp")
    diagnosis = refused(lambda q, s, *_: pair if s > 0.79 and from_handle(q, 0.8) > 0.01 else None)
    assert (diagnosis.code, diagnosis.evidence["stage"]) == ("path_infeasible", "retreat")
    is_told(diagnosis, pair)


@pytest.mark.slow
def test_an_obstacle_in_the_path_of_the_part_is_reported(refused):
    pair = ("panda_link6", "box/body")
    diagnosis = refused(lambda q, s, *_: pair if s > 0.5 else None)
    assert (diagnosis.code, diagnosis.evidence["stage"]) == ("path_infeasible", "follow")
    assert diagnosis.evidence["s"] > 0.5
    is_told(diagnosis, pair)


def test_the_opening_at_which_a_thing_is_met_is_the_first_one(gantry, drawer, toy_checker):
    checker = toy_checker(lambda q, s, *_: ("hand", "shelf", -0.002, WHERE) if s > 0.5 else None)
    clearance = Clearance(checker, contact_links=(), s0=0.0, gripper_m=0.08, held_gripper_m=0.03)
    s = np.linspace(0.0, 0.8, 25)
    path = PathSolution(True, np.zeros((25, 3)), s, 0.8, "", 0.1, 1.0)
    hit = clearance.check_follow(path.q, s)
    found = CollidingPath(clearance, drawer(), path, hit).explain()
    assert found.evidence["s"] == pytest.approx(0.5, abs=0.034)
    assert found.evidence["s"] > 0.5 >= found.evidence["reached_s"]
    assert (
        f"led from 0.000 to {found.evidence['reached_s']:.3f} of 0.800 m only, then hand meets shelf" in found.message
    )
