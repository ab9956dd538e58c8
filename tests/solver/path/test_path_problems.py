"""Over problems that a seed draws: no joint limit is ever left, steps are kept, and the hand slips only as declared."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.path_scenes import MAX_STEP_RAD, panda, problems
from unlatch.simcore.geometry import angle_between
from unlatch.solver.goal_search import GoalRanker
from unlatch.solver.plan import PlanBudget
from unlatch.solver.planner import plan_keyframes
from unlatch.solver.scene import SlipMode, bar_axis, inward_direction, slide_line

pytestmark = [pytest.mark.property, pytest.mark.slow]

N = 60
_POINT_M = 1.5e-3
"""A timed sample lies between waypoints, which keep 2e-4."""
_ANGLE_RAD = 0.01


@pytest.fixture(scope="module")
def paths():
    """Every path of a plan that was found."""
    return []


@pytest.fixture(scope="module")
def planned(paths):
    arm, follow = panda(), GoalRanker.follow

    def kept(self, candidate, target_s):
        path = follow(self, candidate, target_s)
        if path is not None:
            paths.append(path)
        return path

    drawn = list(problems(arm, n=N, seed=7))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GoalRanker, "follow", kept)
        return arm, [(p, plan_keyframes(p.request, None, np.random.default_rng(0))) for p in drawn]


def test_most_problems_are_solved_and_the_others_say_why(planned):
    _, plans = planned
    lost = [(problem.kind, plan.diagnosis.message) for problem, plan in plans if not plan.found]
    assert len(lost) <= 0.1 * N, lost
    assert all(message for _, message in lost)


def test_no_joint_limit_is_ever_left(planned):
    arm, plans = planned
    for problem, plan in plans:
        for q in [k.q for k in plan.keyframes] + [s.q for s in plan.segments]:
            assert np.all(q >= arm.q_lower), problem.kind
            assert np.all(q <= arm.q_upper), problem.kind


def test_samples_keep_speed_and_acceleration_and_join(planned):
    arm, plans = planned
    for problem, plan in plans:
        for segment in plan.segments:
            dt, rest = problem.request.frame_s, np.zeros((1, arm.n_q))
            speed = np.diff(segment.q, axis=0) / dt
            change = np.diff(np.vstack([rest, speed, rest]), axis=0) / dt
            assert np.all(np.abs(speed) <= arm.max_velocity * (1 + 1e-9)), problem.kind
            assert np.all(np.abs(change) <= arm.max_acceleration * (1 + 1e-9)), problem.kind
        for before, after in zip(plan.segments[:-1], plan.segments[1:], strict=True):
            np.testing.assert_allclose(before.q[-1], after.q[0], atol=1e-8)


def test_the_contact_stays_on_the_part_and_the_hand_slips_only_as_declared(planned):
    arm, plans = planned
    tool, side = arm.tool_keypoints["tool_head"], np.array([0.0, 1.0, 0.0])
    modes = set()
    for problem, plan in plans:
        if not plan.found:
            continue
        scene, slip = problem.request.scene, plan.slip
        follow = next(s for s in plan.segments if s.kind == "follow")
        T0 = arm.kinematics.pose(follow.q[0])
        bar, inward = bar_axis(scene), inward_direction(scene, np.zeros(3))
        line = slide_line(scene, slip, inward)
        modes.add(slip.mode)
        for q, s in zip(follow.q, follow.s, strict=True):
            R, t = scene.joint.motion(s - scene.s)
            T = arm.kinematics.pose(q)
            R_part_hand, moved = R.T @ T.R, R.T @ (T @ tool - t) - T0 @ tool
            if line is not None:
                assert abs(moved @ line) <= slip.slide_m + _POINT_M
                moved = moved - line * (moved @ line)
            assert np.abs(moved).max() <= _POINT_M, problem.kind
            if slip.mode is SlipMode.fixed:
                cosine = 0.5 * (np.trace(R_part_hand.T @ T0.R) - 1.0)
                assert np.arccos(np.clip(cosine, -1.0, 1.0)) <= _ANGLE_RAD, problem.kind
                continue
            assert angle_between(R_part_hand[:, 2], inward) <= slip.limit_rad + _ANGLE_RAD, problem.kind
            if slip.mode is SlipMode.bar:
                assert angle_between(R_part_hand.T @ bar, T0.R.T @ bar) <= _ANGLE_RAD, problem.kind
            if slip.mode is SlipMode.side:
                assert angle_between(R_part_hand @ side, T0.R @ side) <= _ANGLE_RAD, problem.kind
            if slip.mode is SlipMode.gimbal:
                turned = angle_between(R_part_hand @ side, bar) - angle_between(T0.R @ side, bar)
                assert abs(turned) <= _ANGLE_RAD, problem.kind
    assert {SlipMode.fixed, SlipMode.bar, SlipMode.cone} <= modes


def test_waypoints_keep_the_step_bound_and_the_limits(planned, paths):
    arm, _ = planned
    assert len(paths) >= 0.9 * N
    for path in paths:
        assert np.abs(np.diff(path.q, axis=0)).max() <= MAX_STEP_RAD
        assert np.all(path.q >= arm.q_lower)
        assert np.all(path.q <= arm.q_upper)


@pytest.mark.heavy
def test_a_path_near_a_joint_limit_gets_more_room_where_that_can_be_had(planned):
    arm, _ = planned
    before, after = [], []
    for problem in problems(arm, n=120, seed=0):
        alone = replace(problem.request, budget=PlanBudget(rescues=0))
        stepwise = plan_keyframes(alone, None, np.random.default_rng(0))
        if stepwise.found and stepwise.margin_rad < 0.05:
            before.append(stepwise.margin_rad)
            after.append(plan_keyframes(problem.request, None, np.random.default_rng(0)).margin_rad)
    assert len(before) >= 3
    assert all(a >= b for a, b in zip(after, before, strict=True)), (before, after)
    assert max(after) > 0.05, (before, after)


def test_the_whole_program_never_loses_what_is_found_step_by_step(planned):
    _, plans = planned
    for problem, plan in plans[::5]:
        request = problem.request
        alone = replace(request, budget=PlanBudget(rescues=0))
        stepwise = plan_keyframes(alone, None, np.random.default_rng(0))
        assert not stepwise.found or plan.found, problem.kind
        if stepwise.found and plan.counts["rescues"] == 0:
            for a, b in zip(plan.segments, stepwise.segments, strict=True):
                np.testing.assert_array_equal(a.q, b.q)


def test_the_same_problem_gives_the_same_plan_also_by_the_program(planned):
    _, plans = planned
    chosen = [item for item in plans if item[1].counts["rescues"] > 0][:3] or plans[:1]
    for problem, plan in chosen:
        again = plan_keyframes(problem.request, None, np.random.default_rng(0))
        assert again.found == plan.found
        assert [s.q.tobytes() for s in again.segments] == [s.q.tobytes() for s in plan.segments]
