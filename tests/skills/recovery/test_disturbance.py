"""The noise that pushes executed targets off the plan: its size, its memory, where it is zero, and the arm's limits."""

import numpy as np
import pytest

from unlatch.robots.arm_control import ArmAction
from unlatch.robots.catalog import load_robot
from unlatch.robots.models import model_path
from unlatch.simcore.geometry import Pose
from unlatch.skills.commands import Phase
from unlatch.skills.config import DisturbCfg
from unlatch.skills.recovery import Disturbance, SmoothNoise
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.scene import ArmModel

PANDA = load_robot("franka_panda").arms[0]
FRAME_S = 1.0 / 30.0
STRETCHES = ((Phase.transit, 60), (Phase.approach, 30), (Phase.grasp, 20), (Phase.follow, 60), (Phase.retreat, 40))


def make_arm():
    return ArmModel(
        kinematics=Kinematics.from_urdf(model_path("franka_panda"), base_link=PANDA.base_link, tip_link=PANDA.ee_link),
        tool_keypoints={},
        q_lower=np.array(PANDA.lower),
        q_upper=np.array(PANDA.upper),
        max_velocity=np.array(PANDA.max_velocity),
        max_acceleration=np.array(PANDA.max_acceleration),
        workspace=np.array(PANDA.workspace),
        q_home=np.array(PANDA.home),
    )


class PlannedPhases:
    """Stands in for the executor: a plan of phases, one frame after the other."""

    def __init__(self):
        self.phases = [phase for phase, frames in STRETCHES for _ in range(frames)]
        self.frame = 0
        self.offset = None

    @property
    def phase(self):
        return self.phases[self.frame - 1]

    def remaining(self):
        return [(phase, 1) for phase in self.phases[self.frame :]]


def disturbed_plan(cfg, seed=0):
    arm = make_arm()
    disturbance = Disturbance(cfg, arm, frame_s=FRAME_S, rng=np.random.default_rng(seed))
    plan = PlannedPhases()
    time = np.linspace(0.0, 1.0, len(plan.phases))[:, None]
    planned = arm.q_home + 0.8 * (3 * time**2 - 2 * time**3) * np.array([1.0, -1.0, 1.0, 0.5, 1.0, -0.5, 1.0])
    executed, q = [], planned[0]
    for row in planned:
        plan.frame += 1
        q = disturbance.disturb(ArmAction(row, 0.08, Pose.identity()), plan, q_target=q).joint_targets
        executed.append(q)
    return planned, np.array(executed), plan.phases


def test_noise_has_its_standard_deviation_and_correlation_time():
    noise = SmoothNoise(4000, correlation_s=0.5, dt=FRAME_S, rng=np.random.default_rng(1))
    values = np.array([noise.step() for _ in range(200)])[100:]
    assert values[-1].std() == pytest.approx(1.0, abs=0.05)
    correlation = [float((values[0] * later).mean()) for later in values[:60]]
    assert FRAME_S * (sum(correlation) - 0.5) == pytest.approx(0.5, abs=0.06)


@pytest.mark.slow
def test_targets_leave_the_plan_in_free_motion_and_less_while_the_part_is_led():
    cfg = DisturbCfg(free_rad=0.03, follow_rad=0.004)
    off = {phase: [] for phase, _ in STRETCHES}
    for seed in range(30):
        planned, executed, phases = disturbed_plan(cfg, seed)
        for phase, row in zip(phases, executed - planned, strict=True):
            off[phase].append(row)
    spread = {phase: float(np.sqrt(np.mean(np.square(rows)))) for phase, rows in off.items()}
    assert 0.015 < spread[Phase.transit] < 0.03
    assert 0.002 < spread[Phase.follow] < 0.004
    assert spread[Phase.grasp] == 0.0


def test_targets_are_on_the_plan_where_the_hand_meets_and_leaves_the_part():
    planned, executed, _ = disturbed_plan(DisturbCfg(free_rad=0.03, follow_rad=0.004))
    ends = np.cumsum([0, *(frames for _, frames in STRETCHES)])
    for boundary in (0, *ends[2:5], ends[5] - 1):  # no boundary between transit and approach
        np.testing.assert_array_equal(executed[boundary], planned[boundary])


def test_disturbed_targets_keep_the_limits_of_the_arm_even_with_wild_noise():
    arm = make_arm()
    _, executed, _ = disturbed_plan(DisturbCfg(free_rad=0.2, follow_rad=0.05, correlation_s=0.05, fade_s=0.0))
    speed = np.diff(executed, axis=0) / FRAME_S
    assert np.all(np.abs(speed) <= arm.max_velocity * (1 + 1e-9))
    assert np.all(np.abs(np.diff(speed, axis=0)) / FRAME_S <= arm.max_acceleration * (1 + 1e-6))


def test_a_seed_gives_the_same_noise_again():
    cfg = DisturbCfg(free_rad=0.03)
    np.testing.assert_array_equal(disturbed_plan(cfg, 3)[1], disturbed_plan(cfg, 3)[1])
    assert not np.array_equal(disturbed_plan(cfg, 3)[1], disturbed_plan(cfg, 4)[1])
