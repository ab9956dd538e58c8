"""Operations, shapes and live changes, attribute by attribute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from unlatch import randomization as dr
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose

pytestmark = pytest.mark.integration
Stage = Any
Make = Callable[[int], Stage]


def ball(**values: Any) -> None:
    dr.physics_view.randomize_rigid_prim_view(view_name="ball", **values)


def test_a_view_that_is_registered_inside_the_frame_has_as_many_members(stage: Make) -> None:
    made, setup = stage(2), dr.Setup()
    with setup.on_rl_frame(num_envs=3), pytest.raises(ConfigError, match="has 2 members"):
        setup.register_view(made.ball)


def test_a_set_up_that_wrote_a_record_draws_again(stage: Make) -> None:
    made, setup = stage(1), dr.Setup(keep_firings=True)
    setup.register_view(made.ball)
    with setup.on_rl_frame(1), setup.on_env_reset():
        setup.randomize("ball", {"mass": 3.0})
    setup.run_recorded([dr.Firing(0, 0, np.zeros(1, dtype=int), np.array([[7.0]]))])
    setup.step_randomization([0])
    assert made.masses() == [7.0]
    setup.run(np.random.default_rng(0))
    setup.step_randomization([0])
    assert made.masses() == [3.0]


@pytest.mark.parametrize(("operation", "expected"), [("direct", 0.3), ("additive", 0.7), ("scaling", 0.12)])
def test_operations_of_an_articulation(stage: Make, operation: str, expected: float) -> None:
    made = stage(1)
    made.rig.attribute("joint_positions").write(0, np.array([0.4, 0.4]))
    with made.rules(), dr.gate.on_env_reset():
        dr.physics_view.randomize_articulation_view("rig", operation, joint_positions=(0.3, 0.3))
    for _ in range(2):  # from the default at every reset
        dr.physics_view.step_randomization([0])
        assert made.rig.get("joint_positions")[0] == pytest.approx([expected] * 2)


def test_gravity_starts_from_the_default_and_then_from_the_last_reset(stage: Make) -> None:
    made, change = stage(2), dr.physics_view.randomize_simulation_context
    with made.rules():
        with dr.gate.on_env_reset():
            change("additive", gravity=dr.distribution.sequence([(0, 0, -1), (0, 0, -2)]))
        with dr.gate.on_interval(1):
            change("scaling", gravity=(1, 1, 0.5))
    seen = []
    for inds in ([0, 1], [], [0, 1], []):
        dr.physics_view.step_randomization(inds)
        seen.append(made.world.gravity_m_s2[2])
    assert seen == pytest.approx([-10.81, -5.405, -11.81, -5.905])


def test_orientations_are_added_angle_by_angle(stage: Make) -> None:
    made = stage(1)
    made.ball.attribute("orientation").write(0, np.array([0.1, -0.2, 0.3]))
    with made.rules(), dr.gate.on_env_reset():
        ball(operation="additive", orientation=(0.2, 0.1, -0.5))
    dr.physics_view.step_randomization([0])
    wanted = Pose.from_rpy((0.0, 0.0, 0.0), (0.3, -0.1, -0.2)).R
    np.testing.assert_allclose(made.ball.bodies[0].root_pose().R, wanted, atol=1e-6)


def test_buckets_are_of_the_material_alone(stage: Make) -> None:
    made, uniform = stage(4), dr.distribution.uniform
    with made.rules(), dr.gate.on_env_reset():
        ball(num_buckets=3, material_properties=uniform((0.2, 0.2, 0.0), (0.6, 0.6, 0.4)), mass=uniform(1.0, 2.0))
    dr.physics_view.step_randomization([0, 1, 2, 3])
    assert set(made.ball.get("material_properties")[:, 0].round(9)) <= {0.2, 0.4, 0.6}
    assert not set(np.round(made.masses(), 9)) & {1.0, 1.5, 2.0}


@pytest.mark.parametrize(
    ("live", "change"),
    [
        (dr.distribution.normal(2.0, 0.0), {"mean": 5.0}),
        (dr.distribution.choice([2.0]), {"choices": [5.0]}),
        (dr.distribution.sequence([2.0]), {"items": [5.0]}),
        (dr.distribution.log_uniform(2.0, 2.0), {"lower": 5.0, "upper": 5.0}),
        (dr.distribution.combine([dr.distribution.uniform(2.0, 2.0)]), {"distributions": [5.0]}),
    ],
)
def test_a_change_of_any_distribution_counts_from_the_next_reset(stage: Make, live: Any, change: dict) -> None:
    made = stage(1)
    with made.rules(), dr.gate.on_env_reset():
        ball(mass=live)
    dr.physics_view.step_randomization([0])
    dr.utils.set_distribution_params(live, change)
    assert made.masses() == pytest.approx([2.0])
    dr.physics_view.step_randomization([0])
    assert made.masses() == pytest.approx([5.0])


def test_a_changed_part_of_a_combined_distribution_counts_from_the_next_firing(stage: Make) -> None:
    made, part = stage(1), dr.distribution.log_uniform(2.0, 3.0)
    with made.rules(), dr.gate.on_interval(interval=2):
        ball(position=dr.distribution.combine([0.5, part, 1.0]))
    seen = []
    for step in range(5):
        if step == 2:
            dr.utils.set_distribution_params(part, {"lower": 20.0, "upper": 30.0})
        dr.physics_view.step_randomization()
        seen.append(made.ball.get("position")[0])
    assert 2.0 <= seen[1][1] <= 3.0
    assert np.array_equal(seen[1], seen[2])
    assert 20.0 <= seen[3][1] <= 30.0
    assert seen[3][[0, 2]] == pytest.approx([0.5, 1.0])


@pytest.mark.parametrize(
    ("operation", "live", "change", "message"),
    [
        (
            "direct",
            dr.distribution.uniform(1.0, 2.0),
            {"lower": -1.0},
            r"uniform\(lower=-1\.0, upper=2\.0\) under direct",
        ),
        (
            "direct",
            dr.distribution.normal(1.0, 2.0),
            {"mean": -1.0},
            r"normal.* goes down to -1\. Expected 1e-06 or more",
        ),
        ("scaling", dr.distribution.choice([1.0]), {"choices": [2.0, -3.0]}, r"goes down to -3\. Expected 0 or more"),
        ("scaling", dr.distribution.sequence([1.0]), {"items": [-1.0]}, r"under scaling goes down to -1"),
        ("direct", dr.distribution.combine([1.0]), {"distributions": [-1.0]}, r"combine.* goes down to -1"),
    ],
)
def test_a_change_that_rules_refuse_is_undone(
    stage: Make, operation: str, live: Any, change: dict, message: str
) -> None:
    made = stage(1)
    with made.rules(), dr.gate.on_interval(1):
        ball(operation=operation, mass=live)
    before = live.to_dict()
    with pytest.raises(ConfigError, match=rf"ball\.mass: .*{message}"):
        dr.utils.set_distribution_params(live, change)
    assert live.to_dict() == before
    for _ in range(20):
        dr.physics_view.step_randomization()
        assert made.masses()[0] >= 1e-6


def test_a_change_of_a_part_is_judged_by_the_rules_of_the_whole(stage: Make) -> None:
    stage(1)
    part, late = dr.distribution.normal(1.0, 1.0), dr.distribution.uniform(1.0, 2.0)
    whole = dr.distribution.combine([part, 1.0, 1.0])
    with dr.trigger.on_rl_frame(num_envs=1), dr.gate.on_env_reset():
        ball(inertia=whole)
    for given in (part, late):
        with pytest.raises(ConfigError, match=r"ball\.inertia: combine.* goes down to -2\. Expected 1e-09 or more"):
            dr.utils.set_distribution_params(given, {given.parameters[0]: -2.0})
        assert float(given.get(given.parameters[0])) == 1.0
        dr.utils.set_distribution_params(whole, {"distributions": [late, 1.0, 1.0]})


def test_a_deleted_set_up_does_not_check_changes(stage: Make) -> None:
    made, live = stage(1), dr.distribution.uniform(1.0, 2.0)
    with dr.trigger.on_rl_frame(num_envs=1), dr.gate.on_env_reset():
        ball(mass=live)
    made.register()
    with dr.trigger.on_rl_frame(num_envs=1), dr.gate.on_env_reset():
        ball(position=live)
    dr.utils.set_distribution_params(live, {"lower": -1.0})


@pytest.mark.parametrize("inertia_first", [True, False])
def test_the_drawn_inertia_does_not_depend_on_earlier_masses(stage: Make, inertia_first: bool) -> None:
    made = stage(2)
    drawn = [(0.01, 0.02, 0.03), (0.04, 0.05, 0.06), (0.02, 0.03, 0.04)]
    rules = [{"inertia": dr.distribution.sequence(drawn)}, {"mass": dr.distribution.sequence([2.0, 7.0, 0.5])}]
    with made.rules(), dr.gate.on_env_reset():
        for values in rules if inertia_first else reversed(rules):
            ball(**values)
    for mass, moments in zip((2.0, 7.0, 0.5), drawn, strict=True):
        dr.physics_view.step_randomization([0, 1])
        assert made.masses() == [mass] * 2
        assert made.ball.get("inertia") == pytest.approx(np.array([moments] * 2))


def test_inertia_of_a_reset_does_not_depend_on_masses_of_intervals_before_it(stage: Make) -> None:
    made = stage(1)
    with made.rules():
        with dr.gate.on_env_reset():
            dr.physics_view.randomize_articulation_view("rig", body_inertias=0.05)
        with dr.gate.on_interval(1):
            dr.physics_view.randomize_articulation_view("rig", "scaling", body_masses=dr.distribution.uniform(0.5, 2.0))
    for inds in ([0], [], [], [0], []):
        dr.physics_view.step_randomization(inds)
        assert made.rig.get("body_inertias")[0][3:] == pytest.approx([0.05] * 6)


def test_an_effort_of_an_interval_pushes_for_one_step_and_one_of_a_reset_until_the_next(stage: Make) -> None:
    made = stage(1)
    with made.rules():
        with dr.gate.on_env_reset():
            dr.physics_view.randomize_articulation_view("rig", joint_efforts=[4.8, 0.0])
        with dr.gate.on_interval(interval=2):
            dr.physics_view.randomize_articulation_view("rig", "additive", joint_efforts=[48.0, 0.0])
    speeds = [0.0]
    for step in range(6):
        dr.physics_view.step_randomization([0] if step == 0 else [])
        made.world.step()
        speeds.append(float(made.rig.get("joint_velocities")[0][0]))
    # the sled of 2 kg gains 4.8 N / 2 kg / 240 Hz in every step, and eleven times that in those of the interval
    assert np.diff(speeds) == pytest.approx([0.01, 0.01, 0.11, 0.01, 0.11, 0.01], rel=0.02)
