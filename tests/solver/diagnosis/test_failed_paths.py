"""Where a path of the part or of the hand ends, and what stops it there, known by construction."""

import math
from dataclasses import replace

import numpy as np
import pytest

from unlatch.solver.failed_paths import FailedPartPath, FailedPosePath
from unlatch.solver.motion import StageFailure
from unlatch.solver.path_solver import PathSolution, PathSolver, step_back
from unlatch.solver.plan_log import FurthestReached
from unlatch.solver.scene import Slide, Slip, SlipMode
from unlatch.solver.waypoints import Grasp

X, Y, Z = np.eye(3)
HEAD = np.array([0.1, 0.0, 0.0])


def failed_path(arm, scene, goal, target, slip, *, waypoints=8, contact=HEAD):
    """A path of which nothing but the goal is known to hold."""
    s = np.linspace(scene.s, target, waypoints + 1)
    q = np.repeat(np.array(goal, dtype=float)[None], len(s), axis=0)
    path = PathSolution(False, q, s, float(scene.s), "fails", 0.0, 0.0)
    return FailedPartPath(arm, scene, path, Grasp(slip, X, contact), target)


FIXED = Slip(SlipMode.fixed)


def test_a_drawer_ends_where_a_slide_ends(gantry, drawer):
    # the drawer comes towards the arm: from x = 0.6 the slide has 0.6 m
    found = failed_path(gantry, drawer(), [0.6, 0.5, 0.5], 1.0, FIXED).explain()
    assert found.evidence["reached_s"] == pytest.approx(0.6, abs=2e-3)
    assert found.evidence["stopped_by"] == ["x at its lower limit 0.000 m"]
    assert "the part can be led from 0.000 to 0.6" in found.message
    assert "of 1.000 m only (hand fixed on the part), stopped by x at its lower limit 0.000 m" in found.message


def test_a_drawer_ends_where_the_workspace_ends(gantry, drawer):
    arm = replace(gantry, workspace=np.array([[0.2, -9, -9], [9.0, 9, 9]]))
    found = failed_path(arm, drawer(), [0.6, 0.5, 0.5], 1.0, FIXED).explain()
    assert found.evidence["reached_s"] == pytest.approx(0.4, abs=2e-3)
    assert found.evidence["stopped_by"] == ["workspace x_min 0.200 m"]


def straight(arm, x):
    """Joints of the planar arm with the tool at (x, 0, 0) looking along x, elbow bent upwards."""
    wrist = x - 0.3
    elbow = math.acos((wrist**2 - 0.25) / 0.24)
    shoulder = -math.atan2(0.3 * math.sin(elbow), 0.4 + 0.3 * math.cos(elbow))
    return [0.0, shoulder, elbow, -shoulder - elbow]


def test_a_drawer_ends_where_the_arm_is_stretched_out(planar, drawer):
    found = failed_path(planar, drawer(), straight(planar, 0.7), -0.5, FIXED).explain()
    assert found.evidence["reached_s"] == pytest.approx(-0.3, abs=3e-3)
    assert found.evidence["stopped_by_kinds"] == ["reach"]
    assert "stopped by the arm's reach" in found.message


def test_a_drawer_ends_where_a_joint_ends(drawer, planar_of):
    arm = planar_of(elbow=(1.0, 2.2))
    found = failed_path(arm, drawer(), straight(arm, 0.7), -0.5, FIXED).explain()
    longest = math.sqrt(0.25 + 0.24 * math.cos(1.0)) + 0.3
    assert found.evidence["reached_s"] == pytest.approx(0.7 - longest, abs=3e-3)
    assert found.evidence["stopped_by"] == ["elbow at its lower limit 1.000 rad (57.3 degrees)"]


def test_a_door_ends_where_the_hand_may_lean_no_further(gantry, door):
    wide = replace(gantry, q_lower=np.full(3, -3.0), q_upper=np.full(3, 3.0))
    slip = Slip(SlipMode.bar, limit_rad=0.6)
    found = failed_path(wide, door(), [0.5, 0.2, 0.2], 1.2, slip).explain()
    assert found.evidence["reached_s"] == pytest.approx(0.6, abs=6e-3)
    assert found.evidence["stopped_by_kinds"] == ["slip"]
    assert "stopped by the limit of slip, the hand leaning 0.6 rad (34.4 degrees) from straight in" in found.message
    assert "(0.0 to 34." in found.message


def test_a_drawer_goes_on_in_sliding_fingers_until_they_may_slide_no_further(gantry, drawer):
    # the line on which the fingers may slide lies along the way of the drawer
    across = replace(drawer(), axes={**drawer().axes, "link0_contact_axis": X})
    slip = Slip(SlipMode.fixed, slide=Slide.edge, slide_m=0.15)
    found = failed_path(gantry, across, [0.6, 0.5, 0.5], 1.0, slip).explain()
    # 0.6 m of the slide and 0.15 m along the line
    assert found.evidence["reached_s"] == pytest.approx(0.75, abs=2e-3)
    assert "the limit of sliding, 0.15 m to either side" in found.evidence["stopped_by"]
    assert "x at its lower limit 0.000 m" in found.evidence["stopped_by"]
    assert found.evidence["slip"] == "fixed, sliding edge"


def test_a_door_that_a_stiff_hand_cannot_follow_ends_at_once(gantry, door):
    wide = replace(gantry, q_lower=np.full(3, -3.0), q_upper=np.full(3, 3.0))
    found = failed_path(wide, door(), [0.5, 0.2, 0.2], 1.2, FIXED).explain()
    assert found.evidence["reached_s"] < 0.01
    assert found.evidence["stopped_by_kinds"] == ["reach"]


def test_a_path_that_fails_by_chance_gets_no_false_end(gantry, drawer):
    found = failed_path(gantry, drawer(), [0.6, 0.5, 0.5], 0.3, FIXED).explain()
    assert "stopped_by" not in found.evidence


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
    furthest = FurthestReached()
    for start, slip in ((0.6, FIXED), (0.8, FIXED)):
        case = failed_path(gantry, drawer(), [start, 0.5, 0.5], 1.0, slip)
        furthest.add_failed_path(replace(case, path=replace(case.path, reached_s=start - 0.3)))
    furthest.add(
        StageFailure("contact", "at contact a meets b", {"pair": ["a", "b"], "distance_m": -0.01, "where": [0, 0, 0]})
    )
    diagnosis = furthest.diagnosis(2)
    assert diagnosis.code == "path_infeasible"
    assert diagnosis.evidence["reached_s"] == pytest.approx(0.8, abs=3e-3)
    assert diagnosis.evidence["ended_at"] == {"path": 2, "contact: a and b": 1}
