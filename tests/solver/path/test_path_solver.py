"""Articulated paths: the contact point stays on the part, what is held is held, limits and steps are kept."""

import math

import numpy as np
import pytest

from unlatch.simcore.geometry import Pose, angle_between
from unlatch.solver.goal_solver import GoalSolver
from unlatch.solver.path_solver import PathSolver, step_back
from unlatch.solver.scene import Slide, Slip, SlipMode, inward_direction, slide_line
from unlatch.solver.solution import row_excess
from unlatch.solver.waypoints import Grasp

HEAD = np.array([0, 0, 0.1034])


@pytest.fixture
def goals(arm, door, open_setting):
    found = GoalSolver(arm).solve_all(open_setting.constraint_list, door(), q_reference=arm.q_home)
    return np.array([s.q for s in found[:8]])


def follow(arm, scene, goals, mode, to=0.6, limit=1.3):
    solver = PathSolver(arm)
    inward = inward_direction(scene, np.zeros(3))
    s = np.linspace(scene.s, to, 25)
    slip = Slip(mode, limit_rad=limit)
    return solver.follow(goals, scene, s_values=s, slip=slip, inward=inward, contact_ee=HEAD), s, inward


@pytest.mark.parametrize("mode", list(SlipMode))
def test_contact_point_stays_on_the_part_and_limits_hold(mode, arm, door, goals):
    scene = door()
    paths, s, inward = follow(arm, scene, goals, mode)
    found = [p for p in paths if p.found]
    assert found, [p.reason for p in paths]
    for path in found:
        T0 = arm.kinematics.pose(path.q[0])
        for q, position in zip(path.q, s, strict=True):
            R, t = scene.joint.motion(position - scene.s)
            T = arm.kinematics.pose(q)
            wanted = R @ (T0 @ HEAD) + t
            assert np.abs(T @ HEAD - wanted).max() <= 2e-4
            if mode is SlipMode.fixed:
                assert Pose(R @ T0.R, wanted).is_close(Pose(T.R, wanted), atol_rad=4e-3, atol_m=1e-9)
            else:
                assert angle_between(T.R[:, 2], R @ inward) <= 1.3 + 2e-3
            if mode is SlipMode.side:
                assert angle_between(T.R[:, 1], R @ T0.R[:, 1]) <= 2e-3
            if mode is SlipMode.bar:
                bar = scene.axes["link0_contact_axis"]
                assert angle_between(T.R @ (T0.R.T @ bar), R @ bar) <= 2e-3
            if mode is SlipMode.gimbal:
                bar = scene.axes["link0_contact_axis"]
                assert abs(angle_between(T.R[:, 1], R @ bar) - angle_between(T0.R[:, 1], bar)) <= 2e-3
        assert np.all(path.q >= arm.q_lower)
        assert np.all(path.q <= arm.q_upper)
        assert np.abs(np.diff(path.q, axis=0)).max() <= 0.3
        assert path.margin_rad == pytest.approx(min((path.q - arm.q_lower).min(), (arm.q_upper - path.q).min()))


def test_a_free_grasp_goes_at_least_as_far_as_a_fixed_one(arm, door, goals):
    fixed, _, _ = follow(arm, door(), goals, SlipMode.fixed, to=1.2)
    free, _, _ = follow(arm, door(), goals, SlipMode.gimbal, to=1.2)
    assert sum(p.found for p in free) >= sum(p.found for p in fixed)


def test_the_end_of_a_path_out_of_reach_is_named(arm, drawer, open_setting):
    scene = drawer(x=0.95)
    found = GoalSolver(arm).solve_all(open_setting.constraint_list, scene, q_reference=arm.q_home)
    goals = np.array([s.q for s in found[:4]])
    paths, _, _ = follow(arm, scene, goals, SlipMode.bar, to=-0.6)
    for path in paths:
        assert not path.found
        assert -0.6 < path.reached_s <= 0.0
        assert path.reason
        assert math.isfinite(path.margin_rad)


def test_stepping_back_keeps_the_pose(arm, goals):
    T = arm.kinematics.pose(goals[0])
    poses = step_back(T, 0.1, arm.approach_axis())
    path = PathSolver(arm).follow_poses(goals[0], poses)
    assert path.found, path.reason
    end = arm.kinematics.pose(path.q[-1])
    assert end.is_close(Pose(T.R, T.p - 0.1 * T.R[:, 2]), atol_m=5e-4, atol_rad=4e-3)


def test_inward_direction_points_into_the_front(door, drawer):
    for scene in (door(yaw=0.3, hinge=-1.0), drawer(yaw=-0.2)):
        front = scene.axes.get("base_front_axis", scene.axes.get("link0_move_axis"))
        np.testing.assert_allclose(inward_direction(scene, np.zeros(3)), -front, atol=1e-12)


def test_inward_direction_points_over_the_edge_if_every_hand_comes_from_there(door, drawer):
    for scene in (door(yaw=0.3, hinge=-1.0), drawer(yaw=-0.2)):
        inward, bar = inward_direction(scene, np.zeros(3)), scene.axes["link0_contact_axis"]
        over_edge = np.cross(bar, inward)
        for sign in (-1.0, 1.0):
            leaning = np.array([np.cos(lean) * sign * over_edge + np.sin(lean) * bar for lean in (-0.6, 0.0, 0.6)])
            np.testing.assert_allclose(inward_direction(scene, leaning), sign * over_edge, atol=1e-12)
            np.testing.assert_allclose(inward_direction(scene, np.vstack([leaning, inward])), inward, atol=1e-12)


def test_a_hand_slides_on_the_front_from_wherever_it_comes(door, drawer):
    across = Slip(SlipMode.cone, slide=Slide.across)
    for scene in (door(yaw=0.3, hinge=-1.0), drawer(yaw=-0.2)):
        outside, bar = inward_direction(scene, np.zeros(3)), scene.axes["link0_contact_axis"]
        expected = np.cross(bar, outside)
        for lean in (-1.0, -0.3, 0.3, 1.0):
            from_inside = -np.cos(lean) * outside + np.sin(lean) * expected
            line = slide_line(scene, across, inward_direction(scene, from_inside))
            assert abs(line @ expected) == pytest.approx(1.0)


def rows_of(setting, arm, scene):
    return [term.row(arm.tool_keypoints, scene) for term in setting.constraint_list]


def solve_together(arm, guess, scene, setting, slip, s_values):
    """Solves goal, approach and path at once from a path that was followed step by step."""
    return PathSolver(arm).solve_together(
        guess,
        scene,
        rows=rows_of(setting, arm, scene),
        s_values=s_values,
        grasp=Grasp(slip, inward_direction(scene, np.zeros(3)), HEAD),
        retreats=np.array([T.p for T in step_back(Pose.identity(), 0.08, arm.approach_axis())]),
        q_now=arm.q_home,
    )


def test_a_path_lost_step_by_step_is_found_together_with_its_goal(arm, door, close_setting):
    slip, s_values = Slip(SlipMode.cone, limit_rad=0.8), np.linspace(1.0, -0.03, 25)
    coarse = PathSolver(arm, max_step_rad=0.8)
    lost, rescued = 0, []
    for yaw in (0.3, -0.3):
        scene = door(x=0.78, y=0.1, s=1.0, yaw=yaw)
        found = GoalSolver(arm).solve_all(close_setting.constraint_list, scene, q_reference=arm.q_home)
        goals = np.array([s.q for s in found[:24]])
        ask = {"slip": slip, "inward": inward_direction(scene, np.zeros(3)), "contact_ee": HEAD}
        for path in coarse.follow(goals, scene, s_values=np.linspace(1.0, -0.03, 9), **ask):
            if not path.found and lost < 4:
                lost += 1
                whole = solve_together(arm, path, scene, close_setting, slip, s_values)
                if whole.found:
                    rescued.append((scene, whole))
    assert lost > 0
    assert rescued
    for scene, path in rescued:
        goal = arm.kinematics.pose(path.q[0])
        assert row_excess(rows_of(close_setting, arm, scene), goal.R[None], goal.p[None]).max() <= 1e-6
        start = goal @ HEAD
        for q, s in zip(path.q, path.s, strict=True):
            R, t = scene.joint.motion(s - scene.s)
            assert np.abs(arm.kinematics.pose(q) @ HEAD - (R @ start + t)).max() <= 2e-4
        assert np.all(path.q >= arm.q_lower)
        assert np.all(path.q <= arm.q_upper)
        assert np.abs(np.diff(path.q, axis=0)).max() <= 0.3


@pytest.mark.parametrize("mode", list(SlipMode))
def test_every_slip_is_solved_with_its_goal_from_where_the_goal_is(mode, arm, door, open_setting, goals):
    scene, s_values = door(), np.linspace(0.0, 0.6, 25)
    slip = Slip(mode, limit_rad=1.3)
    guesses, _, _ = follow(arm, scene, goals, mode)
    solved = [solve_together(arm, guess, scene, open_setting, slip, s_values) for guess in guesses[:4]]
    assert any(path.found for path in solved), [path.reason for path in solved]


def assert_slides_only_along(line, path, scene, arm, *, at_most):
    start = arm.kinematics.pose(path.q[0]) @ HEAD
    slid = []
    for q, s in zip(path.q, path.s, strict=True):
        R, t = scene.joint.motion(s - scene.s)
        off = R.T @ (arm.kinematics.pose(q) @ HEAD - t) - start
        slid.append(abs(off @ line))
        assert np.linalg.norm(off - line * (off @ line)) <= 4e-4
    assert max(slid) <= at_most + 4e-4
    return max(slid)


@pytest.mark.slow
@pytest.mark.parametrize("slide", [Slide.edge, Slide.across])
def test_the_contact_slides_along_its_line_only_and_only_so_far(slide, arm, door, close_setting):
    scene, s_values = door(x=0.85, s=1.2, yaw=0.3), np.linspace(1.2, -0.03, 25)
    inward = inward_direction(scene, np.zeros(3))
    slip = Slip(SlipMode.cone, limit_rad=0.8, slide=slide, slide_m=0.04)
    goals = GoalSolver(arm).solve_all(close_setting.constraint_list, scene, q_reference=arm.q_home)
    starts = np.array([s.q for s in goals[:24]])
    line, solver = slide_line(scene, slip, inward), PathSolver(arm)
    paths = solver.follow(starts, scene, s_values=s_values, slip=slip, inward=inward, contact_ee=HEAD)
    stepwise = [path for path in paths if path.found]
    assert stepwise, [path.reason for path in paths]
    whole = [solve_together(arm, path, scene, close_setting, slip, s_values) for path in stepwise[:3]]
    assert any(path.found for path in whole), [path.reason for path in whole]
    for found in (stepwise, [path for path in whole if path.found]):
        assert max(assert_slides_only_along(line, path, scene, arm, at_most=0.04) for path in found) > 1e-3
