"""Where a path of the part or of the hand ends, and what stops it there, known by construction."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.solver.builders import CONTACT, HEAD, ToyChecker, X
from unlatch.solver.failed_paths import CollidingPath, FailedPartPath, FailedPosePath
from unlatch.solver.motion import Clearance, StageFailure
from unlatch.solver.path_solver import PathSolution, PathSolver, step_back
from unlatch.solver.plan import PlanBudget, PlanRequest
from unlatch.solver.plan_log import PlanLog
from unlatch.solver.planner import plan_keyframes
from unlatch.solver.scene import Slide, Slip, SlipMode
from unlatch.solver.waypoints import Grasp

TOOL = np.array([0.1, 0.0, 0.0])
FIXED = Slip(SlipMode.fixed)
WHERE = (0.41, -0.2, 0.55)


def failed_path(arm, scene, goal, target, slip=FIXED):
    """A path of which nothing but the goal is known to hold."""
    s = np.linspace(scene.s, target, 9)
    q = np.repeat(np.array(goal, dtype=float)[None], len(s), axis=0)
    path = PathSolution(False, q, s, float(scene.s), "fails", 0.0, 0.0)
    return FailedPartPath(arm, scene, path, Grasp(slip, X, TOOL), target)


def straight(x):
    """Joints of the planar arm with the tool at (x, 0, 0) looking along x, elbow bent upwards."""
    wrist = x - 0.3
    elbow = math.acos((wrist**2 - 0.25) / 0.24)
    shoulder = -math.atan2(0.3 * math.sin(elbow), 0.4 + 0.3 * math.cos(elbow))
    return [0.0, shoulder, elbow, -shoulder - elbow]


LONGEST = math.sqrt(0.25 + 0.24 * math.cos(1.0)) + 0.3
# the arm; its joints at the goal; where the drawer is led; where it ends, and what stops it there
ENDS = {
    # the drawer comes towards the arm: from x = 0.6 the slide has 0.6 m
    "a slide": ("gantry", {}, [0.6, 0.5, 0.5], 1.0, 0.6, ["x at its lower limit 0.000 m"]),
    "the workspace": (
        "gantry",
        {"workspace": np.array([[0.2, -9, -9], [9.0, 9, 9]])},
        [0.6, 0.5, 0.5],
        1.0,
        0.4,
        ["workspace x_min 0.200 m"],
    ),
    "the reach": (
        "planar_of",
        {},
        straight(0.7),
        -0.5,
        -0.3,
        ["the arm's reach, with no joint limit or workspace face in the way"],
    ),
    "a joint": (
        "planar_of",
        {"elbow": (1.0, 2.2)},
        straight(0.7),
        -0.5,
        0.7 - LONGEST,
        ["elbow at its lower limit 1.000 rad (57.3 degrees)"],
    ),
}


@pytest.mark.parametrize("case", ENDS)
def test_a_drawer_ends_where_something_of_the_arm_ends(request, drawer, case):
    fixture, changes, goal, target, end, stopped_by = ENDS[case]
    made = request.getfixturevalue(fixture)
    arm = made(**changes) if callable(made) else replace(made, **changes)
    found = failed_path(arm, drawer(), goal, target).explain()
    assert found.evidence["reached_s"] == pytest.approx(end, abs={"gantry": 2e-3, "planar_of": 3e-3}[fixture])
    assert found.evidence["stopped_by"] == stopped_by
    assert f"stopped by {stopped_by[0]}" in found.message
    assert f"of {target:.3f} m only (hand fixed on the part)" in found.message


@pytest.fixture
def wide(gantry):
    return replace(gantry, q_lower=np.full(3, -3.0), q_upper=np.full(3, 3.0))


def test_a_door_ends_where_the_hand_may_lean_no_further(wide, door):
    found = failed_path(wide, door(), [0.5, 0.2, 0.2], 1.2, Slip(SlipMode.bar, limit_rad=0.6)).explain()
    assert found.evidence["reached_s"] == pytest.approx(0.6, abs=6e-3)
    assert found.evidence["what"] == "the part"
    assert found.evidence["stopped_by_kinds"] == ["slip"]
    assert "stopped by the limit of slip, the hand leaning 0.6 rad (34.4 degrees) from straight in" in found.message
    assert "(0.0 to 34." in found.message


def test_a_door_that_a_stiff_hand_cannot_follow_ends_at_once(wide, door):
    found = failed_path(wide, door(), [0.5, 0.2, 0.2], 1.2).explain()
    assert found.evidence["reached_s"] < 0.01
    assert found.evidence["stopped_by_kinds"] == ["reach"]


def test_a_drawer_goes_on_in_sliding_fingers_until_they_may_slide_no_further(gantry, drawer):
    # the line on which the fingers may slide lies along the way of the drawer
    across = replace(drawer(), axes={**drawer().axes, CONTACT: X})
    slip = Slip(SlipMode.fixed, slide=Slide.edge, slide_m=0.15)
    found = failed_path(gantry, across, [0.6, 0.5, 0.5], 1.0, slip).explain()
    # 0.6 m of the slide and 0.15 m along the line
    assert found.evidence["reached_s"] == pytest.approx(0.75, abs=2e-3)
    assert "the limit of sliding, 0.15 m to either side" in found.evidence["stopped_by"]
    assert "x at its lower limit 0.000 m" in found.evidence["stopped_by"]
    assert found.evidence["slip"] == "fixed, sliding edge"


def test_a_path_that_fails_by_chance_gets_no_false_end(gantry, drawer):
    assert "stopped_by" not in failed_path(gantry, drawer(), [0.6, 0.5, 0.5], 0.3).explain().evidence


def test_a_step_back_ends_where_a_slide_ends(gantry):
    start = np.array([0.15, 0.5, 0.5])
    poses = step_back(gantry.kinematics.pose(start), 0.3, X)
    path = PathSolver(gantry).follow_poses(start, poses)
    assert not path.found
    found = FailedPosePath(gantry, path, poses, "retreat", "the hand cannot step back at the end").explain()
    assert found.stage == "retreat"
    assert found.evidence["reached_m"] == pytest.approx(0.15, abs=2e-3)
    assert found.evidence["stopped_by"] == ["x at its lower limit 0.000 m"]
    assert "of 0.300 m far, stopped by x at its lower limit" in found.message


def test_the_path_that_came_furthest_is_explained(gantry, drawer):
    log = PlanLog()
    for start in (0.6, 0.8):
        case = failed_path(gantry, drawer(), [start, 0.5, 0.5], 1.0)
        log.add_failed_path(replace(case, path=replace(case.path, reached_s=start - 0.3)))
    pair = {"pair": ["a", "b"], "distance_m": -0.01, "where": [0, 0, 0]}
    log.fail(StageFailure("contact", "at contact a meets b", pair))
    diagnosis = log.diagnosis()
    assert diagnosis.code == "path_infeasible"
    assert diagnosis.evidence["reached_s"] == pytest.approx(0.8, abs=3e-3)
    assert diagnosis.evidence["ended_at"] == {"path": 2, "contact: a and b": 1}


# where something is: by joints off home [rad], fingertips off the handle's place [m] and position of the part
OBSTACLES = {
    "a wall about the arm": (lambda off, _, s: 0.1 < off < 0.35, "motion_blocked", "transit", "no way around"),
    "a thing at the start": (
        lambda off, _, s: off < 0.05,
        "motion_blocked",
        "transit",
        "the start of the motion colli",
    ),
    "a thing at the handle": (lambda _, away, s: away < 0.01, "plan_infeasible", "contact", "at contact"),
    "a thing before the handle": (
        lambda _, away, s: s == 0.05 and 0.04 < away < 0.09,
        "motion_blocked",
        "approach",
        "",
    ),
    "a thing behind the open door": (lambda _, away, s: s > 0.79 and away > 0.01, "path_infeasible", "retreat", ""),
    "a thing in the path of the part": (lambda _, away, s: s > 0.5, "path_infeasible", "follow", ""),
}
SLOW = ("a wall about the arm", "a thing before the handle", "a thing behind the open door")


@pytest.mark.parametrize(
    "case", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in OBSTACLES]
)
def test_what_is_in_the_way_is_said_of_which_piece_of_the_motion_how_deep_and_where(arm, door, open_setting, case):
    is_there, code, stage, words = OBSTACLES[case]
    pair = ("panda_link3", "cage")

    def hit(q, s, gripper, allowed):
        tool = arm.kinematics.pose(q) @ arm.tool_keypoints["tool_head"]
        handle = door(s=0.8 if s is not None and s > 0.79 else 0.05).keypoints[HEAD]
        there = is_there(np.linalg.norm(q - arm.q_home), np.linalg.norm(tool - handle), s)
        return (*pair, -0.0125, WHERE) if there else None

    budget = PlanBudget(goal_waves=1, motion_queries=200, searches=1)
    where = {"arm": arm, "scene": door(s=0.05), "q_current": arm.q_home}
    request = PlanRequest(setting=open_setting, follow_to=0.8, budget=budget, **where)
    result = plan_keyframes(request, ToyChecker(hit), np.random.default_rng(0))
    assert not result.found
    diagnosis = result.diagnosis
    assert (diagnosis.code, diagnosis.evidence["stage"]) == (code, stage)
    assert stage != "follow" or diagnosis.evidence["s"] > 0.5
    assert words in diagnosis.message
    assert diagnosis.evidence["pair"] == list(pair)
    assert diagnosis.evidence["distance_m"] == -0.0125
    assert diagnosis.evidence["where"] == list(WHERE)
    assert "12.5 mm deep at [0.410, -0.200, 0.550] m (world frame)" in diagnosis.message
    assert all(name in diagnosis.message for name in pair)


def test_the_opening_at_which_a_thing_is_met_is_the_first_one(drawer):
    checker = ToyChecker(lambda q, s, *_: ("hand", "shelf", -0.002, WHERE) if s > 0.5 else None)
    clearance = Clearance(checker, contact_links=(), s0=0.0, gripper_m=0.08, held_gripper_m=0.03)
    s = np.linspace(0.0, 0.8, 25)
    path = PathSolution(True, np.zeros((25, 3)), s, 0.8, "", 0.1, 1.0)
    found = CollidingPath(clearance, drawer(), path, clearance.check_follow(path.q, s)).explain()
    assert found.evidence["s"] == pytest.approx(0.5, abs=0.034)
    reached = found.evidence["reached_s"]
    assert found.evidence["s"] > 0.5 >= reached
    assert f"led from 0.000 to {reached:.3f} of 0.800 m only, then hand meets shelf" in found.message


def test_a_search_that_ended_before_any_motion_says_so():
    log = PlanLog()
    log.counts["goals"] = 3
    assert log.diagnosis().message.startswith("No motion was found: the search ended before one was tried. Make ")
