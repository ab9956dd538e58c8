"""Timed paths keep the limits between any two samples, and rest at both ends."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from unlatch.simcore.errors import SolverError
from unlatch.solver.timing import DEVIATION_RAD, time_path

DT = 1 / 30


def assert_inside_limits(q, velocity, acceleration, dt=DT):
    speed = np.diff(q, axis=0) / dt
    assert (np.abs(speed) / velocity).max() <= 1.0 + 1e-6
    change = np.diff(np.vstack([0 * q[:1], speed, 0 * q[:1]]), axis=0) / dt
    # at rest before the first and after the last sample
    assert (np.abs(change) / acceleration).max() <= 1.0 + 1e-6


@pytest.mark.property
@pytest.mark.parametrize("scale", [1.0, 0.5])
@pytest.mark.parametrize("waypoints", [2, 3, 12, 25])
def test_limits_hold_and_ends_are_reached(arm, waypoints, scale):
    rng = np.random.default_rng(waypoints)
    for _ in range(4):
        q = arm.q_home + np.cumsum(rng.normal(scale=0.25, size=(waypoints, 7)) * [1.0] + 0.02, axis=0)
        samples, extra = time_path(q, arm, dt=DT, speed_scale=scale)
        assert extra is None
        np.testing.assert_allclose(samples[0], q[0], atol=1e-9)
        np.testing.assert_allclose(samples[-1], q[-1], atol=1e-9)
        assert_inside_limits(samples, scale * arm.max_velocity, scale**2 * arm.max_acceleration)


def test_a_further_coordinate_keeps_its_own_limit_and_stays_on_the_path(arm):
    s = np.linspace(0.0, 0.9, 25)
    q = arm.q_home + np.sin(s)[:, None] * np.linspace(-0.6, 0.6, 7)
    samples, coordinate = time_path(q, arm, dt=DT, extra=s, extra_velocity=0.5, extra_acceleration=1.5)
    assert coordinate[0] == 0.0
    assert coordinate[-1] == pytest.approx(0.9)
    assert np.all(np.diff(coordinate) >= -1e-9)
    assert np.abs(np.diff(coordinate)).max() / DT <= 0.5 * (1 + 1e-6)
    wanted = arm.q_home + np.sin(coordinate)[:, None] * np.linspace(-0.6, 0.6, 7)
    np.testing.assert_allclose(samples, wanted, atol=1e-4)


def test_half_the_speed_takes_about_twice_the_time(arm):
    q = np.vstack([arm.q_home, arm.q_home + 1.0])
    fast, slow = (len(time_path(q, arm, dt=DT, speed_scale=k)[0]) for k in (1.0, 0.5))
    assert 1.9 < slow / fast < 2.1


def test_a_straight_line_stays_straight(arm):
    end = arm.q_home + np.linspace(-0.8, 0.8, 7)
    samples, _ = time_path(np.vstack([arm.q_home, end]), arm, dt=DT)
    t = (samples - arm.q_home) @ (end - arm.q_home) / ((end - arm.q_home) @ (end - arm.q_home))
    np.testing.assert_allclose(samples, arm.q_home + t[:, None] * (end - arm.q_home), atol=1e-12)


def test_no_motion_is_two_samples(arm):
    samples, _ = time_path(np.vstack([arm.q_home, arm.q_home]), arm, dt=DT)
    np.testing.assert_array_equal(samples, [arm.q_home, arm.q_home])


def test_a_slower_joint_makes_a_longer_motion(arm):
    q = arm.q_home + np.linspace(0.0, 1.0, 8)[:, None] * np.array([0.9, 0.5] * 3 + [0.9])
    slow = replace(arm, max_velocity=0.2 * arm.max_velocity)
    assert len(time_path(q, slow, dt=DT)[0]) > 2 * len(time_path(q, arm, dt=DT)[0])


def test_a_timed_path_stays_near_its_straight_lines_and_inside_the_limits_where_it_bends(arm):
    rng = np.random.default_rng(0)
    for _ in range(10):
        # joint 4 runs into its limit and stays there: a spline would swing out of it
        q = arm.q_home + np.cumsum(rng.normal(scale=0.12, size=(6, 7)), axis=0)
        q = np.clip(q, arm.q_lower, arm.q_upper)
        q[:, 3] = np.maximum(arm.q_lower[3], -2.6 - 0.25 * np.arange(6))
        samples, _ = time_path(q, arm, dt=DT)
        assert np.all(samples >= arm.q_lower)
        assert np.all(samples <= arm.q_upper)
        fine = np.vstack([a + np.linspace(0, 1, 400)[:, None] * (b - a) for a, b in pairwise(q)])
        off = [np.abs(fine - sample).max(axis=1).min() for sample in samples]
        assert max(off) <= DEVIATION_RAD + 1e-3  # the fine rows are up to 1e-3 apart
        assert_inside_limits(samples, arm.max_velocity, arm.max_acceleration)


def test_a_speed_scale_of_zero_is_refused(arm):
    with pytest.raises(SolverError, match=r"speed_scale=0.0 must lie in \(0, 1\]"):
        time_path(np.vstack([arm.q_home, arm.q_home]), arm, dt=DT, speed_scale=0.0)


@pytest.mark.parametrize("count", [9, 25])
def test_a_sharp_corner_that_must_not_be_cut_is_passed_slowly_and_the_rest_is_not(arm, count):
    there = np.array([-0.0127, 0.0069, -0.0243, -0.0028, 0.0017, -0.0311, 0.0464])
    on = np.array([0.0413, 0.0072, -0.0575, -0.0495, 0.0285, 0.0022, 0.0218])
    steps = np.vstack([np.zeros((1, 7)), np.repeat([there], 2, axis=0), np.repeat([on], count, axis=0)])
    q = arm.q_home + np.cumsum(steps, axis=0)
    slow_arm = replace(
        arm, max_velocity=np.array([0.9] * 4 + [2.4] * 3), max_acceleration=np.array([1.8] * 4 + [3.6] * 3)
    )
    samples, _ = time_path(q, slow_arm, dt=DT, deviation_rad=2e-4)
    assert_inside_limits(samples, slow_arm.max_velocity, slow_arm.max_acceleration)
    apart = len(time_path(q[:3], slow_arm, dt=DT)[0]) + len(time_path(q[2:], slow_arm, dt=DT)[0])
    assert len(samples) < 1.2 * apart


def test_a_path_on_which_the_timing_crawled_takes_no_longer_than_its_steps(arm):
    """A way round a door's lever: 32 waypoints, the last six close together; on a coarse grid it took 37 s."""
    q = np.loadtxt(Path(__file__).with_name("crawling_path.csv"), delimiter=",")
    samples, _ = time_path(q, arm, dt=DT)
    assert_inside_limits(samples, arm.max_velocity, arm.max_acceleration)
    least = (np.abs(np.diff(q, axis=0)) / arm.max_velocity).max(axis=1).sum() / DT
    assert least < len(samples) < 2.0 * least
