"""Timed paths keep the limits between any two samples, rest at both ends, and touch a part slowly."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.optimize import linprog

from tests.solver.builders import assert_inside, setting_of
from unlatch.simcore.errors import SolverError
from unlatch.solver.path_solver import PathSolution
from unlatch.solver.plan import PlanRequest
from unlatch.solver.timing import (
    DEVIATION_RAD,
    PART_RISE_HZ,
    SLIDER_SPEED_M_S,
    TOUCH_SPEED_M_S,
    Spline,
    join_motions,
    time_path,
    time_segments,
)

DT = 1 / 30


def assert_inside_limits(q, velocity, acceleration):
    speed = np.diff(q, axis=0) / DT
    assert (np.abs(speed) / velocity).max() <= 1.0 + 1e-6
    # at rest before the first and after the last sample
    change = np.diff(np.vstack([0 * q[:1], speed, 0 * q[:1]]), axis=0) / DT
    assert (np.abs(change) / acceleration).max() <= 1.0 + 1e-6


def steps(arm, rows):
    return arm.q_home + np.vstack([np.zeros(7), rows])


@pytest.mark.property
@pytest.mark.parametrize("scale", [1.0, 0.5])
@pytest.mark.parametrize("waypoints", [2, 3, *(pytest.param(n, marks=pytest.mark.slow) for n in (12, 25))])
def test_limits_hold_and_ends_are_reached(arm, waypoints, scale):
    rng = np.random.default_rng(waypoints)
    for _ in range(4):
        q = arm.q_home + np.cumsum(rng.normal(scale=0.25, size=(waypoints, 7)) + 0.02, axis=0)
        samples, extra = time_path(q, arm, dt=DT, speed_scale=scale)
        assert extra is None
        np.testing.assert_allclose(samples[[0, -1]], q[[0, -1]], atol=1e-9)
        assert_inside_limits(samples, scale * arm.max_velocity, scale**2 * arm.max_acceleration)


def test_a_further_coordinate_keeps_its_own_limit_and_stays_on_the_path(arm):
    s, reach = np.linspace(0.0, 0.9, 25), np.linspace(-0.6, 0.6, 7)
    q = arm.q_home + np.outer(np.sin(s), reach)
    samples, coordinate = time_path(q, arm, dt=DT, extra=s, extra_velocity=0.5, extra_acceleration=1.5)
    assert coordinate[0] == 0.0
    assert coordinate[-1] == pytest.approx(0.9)
    assert np.all(np.diff(coordinate) >= -1e-9)
    assert np.abs(np.diff(coordinate)).max() / DT <= 0.5 * (1 + 1e-6)
    np.testing.assert_allclose(samples, arm.q_home + np.outer(np.sin(coordinate), reach), atol=1e-4)


def test_half_the_speed_or_a_slower_arm_takes_longer(arm):
    q = steps(arm, np.ones((1, 7)))
    fast, slow = (len(time_path(q, arm, dt=DT, speed_scale=k)[0]) for k in (1.0, 0.5))
    assert 1.9 < slow / fast < 2.1
    q = arm.q_home + np.linspace(0.0, 1.0, 8)[:, None] * np.array([0.9, 0.5] * 3 + [0.9])
    slow_arm = replace(arm, max_velocity=0.2 * arm.max_velocity)
    assert len(time_path(q, slow_arm, dt=DT)[0]) > 2 * len(time_path(q, arm, dt=DT)[0])


@pytest.mark.parametrize("length_rad", [1e-4, 2e-3, 0.02])
def test_a_very_short_path_of_many_waypoints_has_a_timing(arm, length_rad):
    share = np.linspace(0.0, 1.0, 25)[:, None]
    path = arm.q_home + length_rad * np.hstack([share, share**2, np.sin(share), 0.5 * share, share, share, share])
    slider = 0.4 * length_rad * share[:, 0]
    samples, coordinate = time_path(path, arm, dt=DT, extra=slider, extra_velocity=0.15, extra_acceleration=0.45)
    np.testing.assert_allclose(samples[[0, -1]], path[[0, -1]], atol=1e-12)
    assert len(samples) * DT < 0.5
    assert coordinate[-1] == pytest.approx(slider[-1])


def test_a_straight_line_stays_straight_and_no_motion_is_two_samples(arm):
    way = np.linspace(-0.8, 0.8, 7)
    samples, _ = time_path(steps(arm, way), arm, dt=DT)
    np.testing.assert_allclose(
        samples, arm.q_home + np.outer((samples - arm.q_home) @ way / (way @ way), way), atol=1e-12
    )
    still, _ = time_path(steps(arm, np.zeros(7)), arm, dt=DT)
    np.testing.assert_array_equal(still, [arm.q_home, arm.q_home])


@pytest.mark.parametrize("count", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_a_timed_path_stays_near_its_straight_lines_and_inside_the_limits_where_it_bends(count, arm):
    rng = np.random.default_rng(0)
    for _ in range(count):
        # joint 4 runs into its limit and stays there: a spline would swing out of it
        q = np.clip(arm.q_home + np.cumsum(rng.normal(scale=0.12, size=(6, 7)), axis=0), arm.q_lower, arm.q_upper)
        q[:, 3] = np.maximum(arm.q_lower[3], -2.6 - 0.25 * np.arange(6))
        samples, _ = time_path(q, arm, dt=DT)
        assert_inside(arm, samples)
        fine = np.vstack([np.linspace(a, b, 400) for a, b in pairwise(q)])
        off = [np.abs(fine - sample).max(axis=1).min() for sample in samples]
        assert max(off) <= DEVIATION_RAD + 1e-3  # the fine rows are up to 1e-3 apart
        assert_inside_limits(samples, arm.max_velocity, arm.max_acceleration)


def test_a_speed_scale_of_zero_is_refused(arm):
    with pytest.raises(SolverError, match=r"speed_scale=0.0 must lie in \(0, 1\]"):
        time_path(steps(arm, np.zeros(7)), arm, dt=DT, speed_scale=0.0)


@pytest.mark.parametrize("count", [9, 25])
def test_a_sharp_corner_that_must_not_be_cut_is_passed_slowly_and_the_rest_is_not(arm, count):
    there = np.array([-0.0127, 0.0069, -0.0243, -0.0028, 0.0017, -0.0311, 0.0464])
    on = np.array([0.0413, 0.0072, -0.0575, -0.0495, 0.0285, 0.0022, 0.0218])
    q = steps(arm, np.cumsum([there] * 2 + [on] * count, axis=0))
    velocity, acceleration = np.array([0.9] * 4 + [2.4] * 3), np.array([1.8] * 4 + [3.6] * 3)
    slow_arm = replace(arm, max_velocity=velocity, max_acceleration=acceleration)
    samples, _ = time_path(q, slow_arm, dt=DT, deviation_rad=2e-4)
    assert_inside_limits(samples, velocity, acceleration)
    apart = len(time_path(q[:3], slow_arm, dt=DT)[0]) + len(time_path(q[2:], slow_arm, dt=DT)[0])
    assert len(samples) < 1.2 * apart


def test_a_path_on_which_the_timing_crawled_takes_no_longer_than_its_steps(arm):
    """A way round a door's lever: 32 waypoints, the last six close together; on a coarse grid it took 37 s."""
    q = np.loadtxt(Path(__file__).with_name("crawling_path.csv"), delimiter=",")
    samples, _ = time_path(q, arm, dt=DT)
    assert_inside_limits(samples, arm.max_velocity, arm.max_acceleration)
    least = (np.abs(np.diff(q, axis=0)) / arm.max_velocity).max(axis=1).sum() / DT
    assert least < len(samples) < 2.0 * least


@pytest.mark.parametrize("count", [3, 4, 6, 8])
def test_a_path_that_turns_sharply_before_its_end_has_a_timing(arm, count):
    along, back = np.array([-67, -24, -3, -53, 8, 38, -3]), np.array([4, 4, 0, -3, -9, -2, 14])
    shares = [*np.ones(count), 1.0, 0.5, 0.25, 0.25]
    q = steps(arm, 1e-3 * np.cumsum([*np.outer(shares, along), back], axis=0))
    samples, _ = time_path(q, arm, dt=DT)
    np.testing.assert_allclose(samples[[0, -1]], q[[0, -1]], atol=1e-9)
    assert_inside_limits(samples, arm.max_velocity, arm.max_acceleration)


@pytest.mark.property
def test_tiny_steps_among_others_take_no_time(arm):
    """On the coarse grid, some of these paths stood still for a month, which was sampled."""
    rng = np.random.default_rng(2)
    for _ in range(150):
        sizes = rng.choice([1e-6, 1e-4, 0.05], size=(int(rng.integers(4, 30)), 1))
        q = arm.q_home + np.cumsum(rng.normal(size=(len(sizes), 7)) * sizes, axis=0)
        samples, _ = time_path(q, arm, dt=DT)
        least = (np.abs(np.diff(q, axis=0)) / arm.max_velocity).max(axis=1).sum()
        assert len(samples) * DT < 10.0 * least + 1.0


@pytest.fixture
def pushes(arm, drawer):
    """Times a segment of a motion of the hand that pushes a drawer from 0.197 m on, with closed and open fingers."""

    def turn(share):
        return arm.q_home + np.outer(0.4 * share, np.eye(7)[0])

    def make(kind, end):
        share = np.linspace(0.0, 1.0, 15)
        path = PathSolution(True, turn(share), 0.197 + share * (end - 0.197), end, "", 1.0, 0.4)
        motions = {"transit": turn(np.array([-0.5, -0.2])), "approach": turn(np.linspace(-0.2, 0.0, 5)), "follow": path}
        where = {"arm": arm, "scene": drawer(s=0.197), "q_current": arm.q_home, "frame_s": DT}
        requests = (PlanRequest(setting=setting_of(), closed_gripper=closed, **where) for closed in (True, False))
        timed = (time_segments(each, **motions, retreat=None, is_clear=lambda q, _: True) for each in requests)
        return [next(segment for segment in found if segment.kind == kind) for found in timed]

    return make


def hand_speeds(arm, q):
    R, p = arm.kinematics.fk_batch(q)
    return np.linalg.norm(np.diff(R @ arm.tool_keypoints["tool_head"] + p, axis=0), axis=1) / DT


@pytest.mark.parametrize("end", [0.0, -0.003])
def test_a_push_onto_a_stop_arrives_slowly_and_is_faster_nowhere(arm, pushes, end):
    slow, fast = pushes("follow", end)
    last = [hand_speeds(arm, each.q)[0.5 * (each.s[1:] + each.s[:-1]) < 0.012].max() for each in (slow, fast)]
    assert last[0] < 1.1 * TOUCH_SPEED_M_S
    assert last[1] > 1.5 * TOUCH_SPEED_M_S
    assert np.abs(np.diff(slow.s)).max() <= np.abs(np.diff(fast.s)).max() + 1e-9
    assert np.abs(np.diff(slow.s, 2)).max() / DT**2 < 1.1 * PART_RISE_HZ * SLIDER_SPEED_M_S
    np.testing.assert_array_equal(slow.q[[0, -1]], fast.q[[0, -1]])
    assert 0 < len(slow.q) - len(fast.q) < 0.6 / DT


def test_a_push_that_ends_inside_the_range_of_the_part_is_not_slowed(pushes):
    slow, fast = pushes("follow", 0.1)
    np.testing.assert_array_equal(slow.q, fast.q)


def test_closed_fingers_approach_slowly_in_the_end(arm, pushes):
    slow, fast = pushes("approach", -0.003)
    left_m = np.cumsum(hand_speeds(arm, slow.q)[::-1])[::-1] * DT
    assert hand_speeds(arm, slow.q)[left_m < 0.012].max() < 1.1 * TOUCH_SPEED_M_S
    np.testing.assert_array_equal(slow.q[[0, -1]], fast.q[[0, -1]])
    assert 0 < len(slow.q) - len(fast.q) < 0.5 / DT


def test_splines_are_those_of_scipy():
    rng = np.random.default_rng(8)
    knots, points = np.cumsum(rng.uniform(0.05, 0.5, 12)), rng.normal(size=(12, 8))
    at = np.linspace(knots[0], knots[-1], 100)
    for rests, ends in ((False, "natural"), (True, "clamped")):
        expected = CubicSpline(knots, points, bc_type=ends)
        for order in range(3):
            np.testing.assert_allclose(Spline(knots, points, rests=rests)(at, order), expected(at, order), atol=1e-9)


@pytest.mark.property
@pytest.mark.parametrize("seed", range(5))
def test_speeds_along_a_path_are_the_largest_of_a_linear_program(seed):
    rng = np.random.default_rng(seed)
    points = np.cumsum(rng.normal(scale=0.2, size=(6, 4)) + 0.05, axis=0)
    spline, velocity, acceleration = Spline(np.arange(6.0), points), rng.uniform(1, 3, 4), rng.uniform(2, 10, 4)
    grid = np.linspace(0.0, 5.0, 40)
    first, second = spline(grid, 1), spline(grid, 2)
    rows, most = [], []
    for i, step in enumerate(np.diff(grid)):
        for k in (i, i + 1):  # the acceleration between two grid points keeps the limits at both
            row = np.zeros((4, 40))
            row[:, i + 1], row[:, i] = first[k] / (2 * step), -first[k] / (2 * step)
            row[:, k] += second[k]
            rows += [row, -row]
            most += [acceleration, acceleration]
    bounds = [(0.0, float(((velocity / first[i]) ** 2).min()) if 0 < i < 39 else 0.0) for i in range(40)]
    squares = spline.fastest_speeds(grid, velocity, acceleration) ** 2
    for i in range(1, 39):  # the largest after those before, from which the path can still be followed to its end
        best = linprog(-np.eye(40)[i], A_ub=np.vstack(rows), b_ub=np.concatenate(most), bounds=bounds)
        assert squares[i] == pytest.approx(best.x[i], rel=1e-3)
        bounds[i] = (squares[i], squares[i])


def test_joined_motions_cut_the_corner_within_the_limits_and_keep_their_ends(arm):
    corner = arm.q_home + 0.3
    first, _ = time_path(np.stack([arm.q_home, corner]), arm, dt=DT, speed_scale=0.6)
    second, _ = time_path(np.stack([corner, corner - [0.0, 0.2, 0.0, 0.2, 0.0, 0.0, 0.0]]), arm, dt=DT, speed_scale=0.6)
    asked = []
    joined, overlap = join_motions(
        first, second, arm, frame_s=DT, most=8, is_clear=lambda q, _: asked.append(q) is None
    )
    assert 0 < overlap <= 8
    assert len(joined) == len(first) + len(second) - 1 - overlap
    np.testing.assert_allclose(joined[[0, -1]], [first[0], second[-1]], atol=1e-12)
    np.testing.assert_array_equal(joined[: len(first) - overlap], first[: len(first) - overlap])
    rates = np.diff(joined, axis=0) / DT
    assert np.all(np.abs(rates) <= arm.max_velocity)
    assert np.all(np.abs(np.diff(rates, axis=0)) / DT <= arm.max_acceleration)
    np.testing.assert_array_equal(asked[-1], joined[len(first) - 1 - overlap : len(first)])


def test_motions_whose_corner_cannot_be_cut_stop_between_them(arm):
    corner = arm.q_home + 0.3
    first, _ = time_path(np.stack([arm.q_home, corner]), arm, dt=DT)
    second, _ = time_path(np.stack([corner, arm.q_home]), arm, dt=DT)
    joined, overlap = join_motions(first, second, arm, frame_s=DT, most=8, is_clear=lambda q, _: False)
    assert overlap == 0
    np.testing.assert_array_equal(joined, np.concatenate([first, second]))
