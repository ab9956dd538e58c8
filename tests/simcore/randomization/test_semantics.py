"""One test for every rule of how views, gates and operations work together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from unlatch import randomization as dr
from unlatch.simcore.errors import ConfigError

pytestmark = pytest.mark.integration
Stage = Any
Make = Callable[[int], Stage]


def sequence(*items: float) -> dr.distribution.Distribution:
    return dr.distribution.sequence(items)


def ball(**values: Any) -> None:
    dr.physics_view.randomize_rigid_prim_view(view_name="ball", **values)


def test_a_step_zeroes_the_counters_of_the_environments_that_are_reset_and_raises_the_others(stage: Make) -> None:
    with stage(3).rules(), dr.gate.on_env_reset():
        ball(mass=2.0)
    setup = dr.current()
    assert setup.counters.tolist() == [0, 0, 0]
    for inds, expected in (
        ([0, 1, 2], [0, 0, 0]),
        ([], [1, 1, 1]),
        ([1], [2, 0, 2]),
        (None, [3, 1, 3]),
        (np.array([0, 2]), [0, 2, 0]),
    ):
        dr.physics_view.step_randomization(inds)
        assert setup.counters.tolist() == expected


def test_on_interval_writes_when_the_counter_is_a_positive_multiple(stage: Make) -> None:
    made = stage(2)
    with made.rules(), dr.gate.on_interval(interval=3):
        ball(mass=sequence(10.0, 20.0, 30.0))
    seen = []
    for step in range(8):
        dr.physics_view.step_randomization([0, 1] if step == 0 else [1] if step == 4 else [])
        seen.append(made.masses())
    # counters of 0: 0 1 2 3 4 5 6 7, of 1: 0 1 2 3 0 1 2 3
    assert [row[0] for row in seen] == [1.0, 1.0, 1.0, 10.0, 10.0, 10.0, 20.0, 20.0]
    assert [row[1] for row in seen] == [1.0, 1.0, 1.0, 10.0, 10.0, 10.0, 10.0, 20.0]


def test_on_env_reset_writes_for_the_environments_that_are_reset(stage: Make) -> None:
    made = stage(2)
    with made.rules(), dr.gate.on_env_reset():
        ball(mass=sequence(10.0, 20.0))
    dr.physics_view.step_randomization([1])
    assert made.masses() == [1.0, 10.0]
    dr.physics_view.step_randomization()
    assert made.masses() == [1.0, 10.0]
    dr.physics_view.step_randomization([0, 1])
    assert made.masses() == [10.0, 20.0]


@pytest.mark.parametrize("form", [list, tuple, np.array, lambda x: np.array(x, dtype=np.int32), "tensor"])
def test_reset_inds_is_a_list_an_array_or_a_tensor(stage: Make, form: Any) -> None:
    class Tensor:  # as those of a learning framework that lie in main memory
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return np.array([1], dtype=dtype)

    made = stage(2)
    with made.rules(), dr.gate.on_env_reset():
        ball(mass=7.0)
    dr.physics_view.step_randomization(Tensor() if form == "tensor" else form([1]))
    assert made.masses() == [1.0, 7.0]


@pytest.mark.parametrize("inds", [[2], [-1], [0.5], [True, False], [[0]], ["a"]])
def test_reset_inds_outside_the_environments_are_refused(stage: Make, inds: Any) -> None:
    with stage(2).rules():
        pass
    with pytest.raises(ConfigError, match=r"do not name environments\. Expected whole numbers from 0 to 1"):
        dr.physics_view.step_randomization(inds)


def test_direct_sets_the_value(stage: Make) -> None:
    made = stage(1)
    with made.rules():
        with dr.gate.on_env_reset():
            ball(mass=sequence(4.0, 5.0))
        with dr.gate.on_interval(interval=1):
            ball(mass=6.0)
    for reset, expected in (([0], 4.0), ([], 6.0), ([0], 5.0), ([], 6.0)):
        dr.physics_view.step_randomization(reset)
        assert made.masses() == [expected]


@pytest.mark.parametrize(("operation", "expected"), [("additive", [3.0, 4.0]), ("scaling", [2.0, 3.0])])
def test_on_env_reset_starts_from_the_default(stage: Make, operation: str, expected: list[float]) -> None:
    made = stage(1)
    with made.rules(), dr.gate.on_env_reset():
        ball(operation=operation, mass=sequence(2.0, 3.0))
    for value in expected:
        dr.physics_view.step_randomization([0])
        assert made.masses() == [value]


@pytest.mark.parametrize(("operation", "expected"), [("additive", [6.0, 7.0, 11.0]), ("scaling", [8.0, 12.0, 18.0])])
def test_on_interval_starts_from_what_the_last_reset_wrote(stage: Make, operation: str, expected: list[float]) -> None:
    made = stage(1)
    with made.rules():
        with dr.gate.on_env_reset():
            ball(mass=sequence(4.0, 9.0))
        with dr.gate.on_interval(interval=1):
            ball(operation=operation, mass=sequence(2.0, 3.0, 2.0))
    seen = []
    for reset in ([0], [], [], [0], []):  # two firings after the first reset, one after the second
        dr.physics_view.step_randomization(reset)
        seen += made.masses()
    assert [seen[1], seen[2], seen[4]] == expected


@pytest.mark.parametrize(("operation", "expected"), [("additive", [3.0, 4.0]), ("scaling", [2.0, 3.0])])
def test_on_interval_without_a_reset_starts_from_the_default(
    stage: Make, operation: str, expected: list[float]
) -> None:
    made = stage(1)
    with made.rules(), dr.gate.on_interval(interval=1):
        ball(operation=operation, mass=sequence(2.0, 3.0))
    for value in expected:
        dr.physics_view.step_randomization()
        assert made.masses() == [value]


def test_a_reset_does_not_touch_attributes_that_no_reset_gate_writes(stage: Make) -> None:
    made = stage(1)
    with made.rules():
        with dr.gate.on_env_reset():
            ball(linear_velocity=(0, 0, 0))
        with dr.gate.on_interval(interval=1):
            ball(mass=5.0)
    dr.physics_view.step_randomization()
    dr.physics_view.step_randomization([0])
    assert made.masses() == [5.0]


def test_a_force_at_a_reset_lasts_until_the_next_one_and_one_at_an_interval_for_one_step(stage: Make) -> None:
    made = stage(1)
    with made.rules():
        with dr.gate.on_env_reset():
            ball(force=dr.distribution.sequence([(1, 0, 0), (2, 0, 0)]))
        with dr.gate.on_interval(interval=3):
            ball(operation="additive", force=(0, 5, 0))
    seen = []
    for step in range(7):
        dr.physics_view.step_randomization([0] if step in (0, 5) else [])
        seen.append(made.ball.get("force")[0].tolist())
    assert seen[:5] == [[1, 0, 0], [1, 0, 0], [1, 0, 0], [1, 5, 0], [1, 0, 0]]
    assert seen[5:] == [[2, 0, 0], [2, 0, 0]]


def test_gravity_is_one_for_all_environments_and_fires_when_any_does(stage: Make) -> None:
    made = stage(2)
    with made.rules(), dr.gate.on_interval(interval=2):
        dr.physics_view.randomize_simulation_context(
            operation="scaling", gravity=dr.distribution.sequence([(1, 1, 0.5), (1, 1, 2.0)])
        )
    seen = []
    for step in range(4):
        dr.physics_view.step_randomization([1] if step == 0 else [])  # counters 1 0, 2 1, 3 2, 4 3
        seen.append(made.world.gravity_m_s2[2])
    assert seen == pytest.approx([-9.81, -4.905, -19.62, -4.905])


def test_a_changed_distribution_counts_from_the_next_firing(stage: Make) -> None:
    made = stage(1)
    live = dr.distribution.uniform(2.0, 3.0)
    with made.rules(), dr.gate.on_interval(interval=2):
        ball(mass=live)
    seen = []
    for step in range(5):
        if step == 2:
            dr.utils.set_distribution_params(live, {"lower": 20.0, "upper": 30.0})
        dr.physics_view.step_randomization([])
        seen += made.masses()
    assert 2.0 <= seen[1] <= 3.0
    assert seen[2] == seen[1]
    assert 20.0 <= seen[3] <= 30.0


def test_one_number_applies_to_every_component(stage: Make) -> None:
    made = stage(1)
    with made.rules(), dr.gate.on_env_reset():
        dr.physics_view.randomize_articulation_view("rig", joint_positions=dr.distribution.uniform(0.1, 0.2))
    dr.physics_view.step_randomization([0])
    a, b = made.rig.get("joint_positions")[0]
    assert 0.1 <= a <= 0.2
    assert 0.1 <= b <= 0.2
    assert a != b


def test_a_material_of_three_values_is_that_of_all_links(stage: Make) -> None:
    made = stage(1)
    with made.rules(), dr.gate.on_env_reset():
        dr.physics_view.randomize_articulation_view(
            "rig", num_buckets=3, material_properties=dr.distribution.uniform((0.2, 0.2, 0.0), (0.6, 0.6, 0.4))
        )
    dr.physics_view.step_randomization([0])
    rows = made.rig.get("material_properties")[0].reshape(-1, 3)
    assert np.all(rows == rows[0])
    assert rows[0][0].round(9) in (0.2, 0.4, 0.6)
    assert rows[0][2].round(9) in (0.0, 0.2, 0.4)


def test_values_below_the_meaningful_range_are_raised(stage: Make) -> None:
    made = stage(1)
    with made.rules(), dr.gate.on_env_reset():
        ball(operation="additive", mass=-5.0)
    dr.physics_view.step_randomization([0])
    assert made.masses() == [1e-6]
    assert dr.current().rules[0].values.tolist() == [[1e-6]]


def test_environments_do_not_touch(stage: Make) -> None:
    made = stage(2)
    made.world.set_gravity((0, 0, 0))
    # the ball of one lies in that of the other, and the sled of one in both
    for body in (made.ball.bodies[1], made.rig.bodies[0]):
        body.set_root_pose(made.ball.bodies[0].root_pose())
    made.rig.bodies[0].ignore_collision(made.ball.bodies[0], "sled", made.ball.bodies[0].root_link)
    for _ in range(24):
        made.world.step()
    assert np.allclose(made.ball.get("velocity"), 0.0, atol=1e-12)
    assert np.allclose(made.rig.get("joint_velocities"), 0.0, atol=1e-12)


def test_bodies_of_one_environment_do_touch(stage: Make) -> None:
    made = stage(2)
    made.world.set_gravity((0, 0, 0))
    made.rig.bodies[1].set_root_pose(made.ball.bodies[1].root_pose())
    for _ in range(24):
        made.world.step()
    assert np.abs(made.ball.get("velocity")[1]).max() > 0.1


def drawn(seed: int, attributes: list[str], stage: Stage, steps: int = 6) -> dict[str, np.ndarray]:
    stage.register()
    with dr.trigger.on_rl_frame(num_envs=stage.ball.count), dr.gate.on_interval(interval=2):
        for name in attributes:
            ball(**{name: dr.distribution.uniform(1.0, 2.0)})
    dr.orchestrator.run(np.random.default_rng(seed))
    found: dict[str, list[np.ndarray]] = {name: [] for name in attributes}
    for _ in range(steps):
        dr.physics_view.step_randomization([])
        for rule in dr.current().rules:
            found[rule.slot.attribute.name].append(rule.values.copy())
    return {name: np.array(values[1::2]) for name, values in found.items()}


def test_the_same_generator_draws_the_same(stage: Make) -> None:
    made = stage(2)
    a, b, c = (drawn(seed, ["mass"], made)["mass"] for seed in (1, 1, 2))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


def test_an_additional_rule_does_not_change_the_draws_of_others(stage: Make) -> None:
    made = stage(2)
    alone = drawn(1, ["mass"], made)
    with_others = drawn(1, ["position", "mass", "inertia"], made)
    assert np.array_equal(alone["mass"], with_others["mass"])
    assert not np.array_equal(with_others["mass"][..., 0], with_others["inertia"][..., 0])


def test_recorded_firings_are_written_again(stage: Make) -> None:
    made = stage(2)

    def rules(setup: dr.Setup) -> None:
        made.world.set_gravity((0.0, 0.0, -9.81))
        for env in range(2):
            for name, value in (("mass", [1.0]), ("force", [0.0] * 3)):
                made.ball.attribute(name).write(env, np.array(value))
        setup.register_simulation_context(made.world)
        setup.register_view(made.ball)
        with setup.on_rl_frame(2):
            with setup.on_env_reset():
                setup.randomize("ball", {"mass": dr.distribution.uniform(1, 2), "force": dr.distribution.normal(0, 1)})
            with setup.on_interval(2):
                setup.randomize("ball", {"force": dr.distribution.normal(0, 1)}, operation="additive")
                setup.randomize("simulation_context", {"gravity": dr.distribution.uniform(-9, -8)})

    def run(setup: dr.Setup) -> list[np.ndarray]:
        seen = []
        for step in range(7):
            setup.step_randomization([0, 1] if step == 0 else [1] if step == 4 else [])
            row = [made.ball.get("mass").ravel(), made.ball.get("force").ravel(), made.world.gravity_m_s2]
            seen.append(np.concatenate(row))
        return seen

    first = dr.Setup(keep_firings=True)
    rules(first)
    first.run(np.random.default_rng(0))
    expected = run(first)
    again = dr.Setup(keep_firings=True)
    rules(again)
    again.run_recorded(first.firings)
    assert np.array_equal(run(again), expected)
    assert [f.step for f in again.firings] == [f.step for f in first.firings]
