"""The noise that pushes executed targets off the plan, within the arm's limits, and the push on a part."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.skills.builders import panda, part_of
from unlatch.robots.arm_control import ArmAction
from unlatch.simcore.geometry import Pose
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.commands import Phase
from unlatch.skills.config import DisturbCfg
from unlatch.skills.gripping import joint_load
from unlatch.skills.recovery import Disturbance, Nudge, SmoothNoise, StepBack

FRAME_S = 1.0 / 30.0
STRETCHES = ((Phase.transit, 60), (Phase.approach, 30), (Phase.grasp, 20), (Phase.follow, 60), (Phase.retreat, 40))
PHASES = [phase for phase, frames in STRETCHES for _ in range(frames)]


class PlannedPhases:
    """Stands in for the executor: a plan of phases, one frame after the other."""

    def __init__(self):
        self.frame = 0
        self.offset = None

    @property
    def phase(self):
        return PHASES[self.frame - 1]

    def remaining(self):
        return [(phase, 1) for phase in PHASES[self.frame :]]


def disturbed_plan(seed=0, **values):
    """The targets of a plan, and those that are executed."""
    arm, plan = panda(), PlannedPhases()
    disturbance = Disturbance(DisturbCfg(**values), arm, frame_s=FRAME_S, rng=np.random.default_rng(seed))
    time = np.linspace(0.0, 1.0, len(PHASES))[:, None]
    planned = arm.q_home + 0.8 * (3 * time**2 - 2 * time**3) * np.array([1.0, -1.0, 1.0, 0.5, 1.0, -0.5, 1.0])
    executed, q = [], planned[0]
    for row in planned:
        plan.frame += 1
        q = disturbance.disturb(ArmAction(row, 0.08, Pose.identity()), plan, q_target=q).joint_targets
        executed.append(q)
    return planned, np.array(executed)


def test_noise_has_its_standard_deviation_and_correlation_time():
    noise = SmoothNoise(4000, correlation_s=0.5, dt=FRAME_S, rng=np.random.default_rng(1))
    values = np.array([noise.step() for _ in range(200)])[100:]
    assert values[-1].std() == pytest.approx(1.0, abs=0.05)
    correlation = [float((values[0] * later).mean()) for later in values[:60]]
    assert FRAME_S * (sum(correlation) - 0.5) == pytest.approx(0.5, abs=0.06)


@pytest.mark.slow
def test_targets_leave_the_plan_in_free_motion_and_less_while_the_part_is_led():
    off = np.concatenate([np.subtract(*disturbed_plan(seed, free_rad=0.03, follow_rad=0.004)) for seed in range(10)])
    phases = np.array(PHASES * 10)
    transit, follow, grasp = (
        float(np.sqrt(np.mean(np.square(off[phases == phase])))) for phase in (Phase.transit, Phase.follow, Phase.grasp)
    )
    assert 0.015 < transit < 0.03
    assert 0.002 < follow < 0.004
    assert grasp == 0.0


def test_targets_are_on_the_plan_where_the_hand_meets_and_leaves_the_part():
    planned, executed = disturbed_plan(free_rad=0.03, follow_rad=0.004)
    ends = np.cumsum([0, *(frames for _, frames in STRETCHES)])
    rows = [0, *ends[2:5], ends[5] - 1]  # no boundary between transit and approach
    np.testing.assert_array_equal(executed[rows], planned[rows])


def test_disturbed_targets_keep_the_limits_of_the_arm_even_with_wild_noise():
    arm = panda()
    _, executed = disturbed_plan(free_rad=0.2, follow_rad=0.05, correlation_s=0.05, fade_s=0.0)
    speed = np.diff(executed, axis=0) / FRAME_S
    assert np.all(np.abs(speed) <= arm.max_velocity * (1 + 1e-9))
    assert np.all(np.abs(np.diff(speed, axis=0)) / FRAME_S <= arm.max_acceleration * (1 + 1e-6))


def test_a_seed_gives_the_same_noise_again():
    first, again, other = (disturbed_plan(seed, free_rad=0.03)[1] for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(("share", "signs"), [(0.0, {1.0}), (0.5, {-1.0, 1.0}), (1.0, {-1.0})])
def test_a_part_is_pushed_to_where_it_has_room_until_it_has_moved_or_is_fast(share, signs):
    asset, part = part_of("drawer")
    joint, span = asset.model.joints[part.joint], part.openness.span
    now = SimpleNamespace(s=joint.lower + share * (joint.upper - joint.lower), speed=0.0)

    def push(seed):
        limits = SimpleNamespace(lower=joint.lower, upper=joint.upper, prismatic=True)
        body = SimpleNamespace(joint=lambda _: limits, joint_states=lambda _: (None, [now.speed], None))
        executor = SimpleNamespace(remaining=lambda: [(Phase.transit, 20), (Phase.follow, 9)])
        context, thing = SimpleNamespace(frames=lambda s: round(30 * s)), SimpleNamespace(body=body, asset=asset)
        given = SimpleNamespace(part=part, object=thing, s=now.s, executor=executor, context=context)
        return given, Nudge(given, np.random.default_rng(seed))

    found = set()
    for seed in range(8):
        skill, nudge = push(seed)
        waited = next(frame for frame in range(12) if nudge.next_effort())
        effort = nudge.next_effort()
        assert 1 <= waited < 10  # a tenth to a half of the transit
        assert abs(effort) == pytest.approx(1.5 * joint_load(asset, part))
        sign = float(np.sign(effort))
        now.speed = sign * 1.0
        assert nudge.next_effort() == 0.0, "it is fast enough"
        now.speed = 0.0
        assert nudge.next_effort() == effort
        skill.s += sign * 0.12 * span
        assert [nudge.next_effort() for _ in range(3)] == [0.0] * 3, "it has moved"
        found.add(sign)
    assert found == signs


@pytest.mark.parametrize(("goal", "distance"), [(0.0, 0.0), (0.2, 0.02)])
def test_a_part_that_a_finger_pushed_towards_its_goal_is_where_its_plan_may_have_it(goal, distance):
    skill = SimpleNamespace(
        keyframe_plan=SimpleNamespace(found=True, keyframes=[SimpleNamespace(s=0.1)]),
        commands=[],
        executor=SimpleNamespace(index=0),
        phase=Phase.approach,
        s0=0.1,
        follow_to=goal,
        s=0.08,
        is_touched=False,
        _was_touched=False,
    )
    assert ArticulationSkill.distance_from_plan(skill) == pytest.approx(0.02), "nothing of the hand has touched it"
    skill.is_touched = True
    assert ArticulationSkill.distance_from_plan(skill) == 0.0
    skill.is_touched = False
    assert ArticulationSkill.distance_from_plan(skill) == pytest.approx(distance), "it glides ahead"


@pytest.mark.parametrize(("wall", "frames"), [(0.5, 8), (0.03, 4), (0.01, 2)])
def test_an_arm_that_a_policy_moved_brakes_harder_where_it_would_run_into_something(wall, frames):
    checker = SimpleNamespace(deepest_collision=lambda q, **_: "wall" if q[0] > wall else None)
    arm = SimpleNamespace(q_target=np.zeros(1), gripper_target_m=0.0)
    executor = SimpleNamespace(last_phase=Phase.transit, braking_path=lambda n: 0.005 * np.arange(1.0, n + 1)[:, None])
    context = SimpleNamespace(checker=checker, arm=arm, frames=lambda seconds: round(30 * seconds))
    step_back = StepBack.__new__(StepBack)
    step_back.context, step_back._stops = context, executor
    step_back._broken = SimpleNamespace(load_checker=lambda: None, object_name="it")
    step_back._brake_s = (0.27, 0.135, 0.0675)
    assert len(step_back._braking_path()) == frames
    step_back._brake_s = (0.27,)  # on a planned way, which is free
    assert len(step_back._braking_path()) == 8
