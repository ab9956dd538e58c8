"""What is refused: views that are not there, calls out of order, rules that do not fit."""

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


def ball(**values: Any) -> None:
    dr.physics_view.randomize_rigid_prim_view(view_name="ball", **values)


def test_a_view_must_be_registered_before_it_is_randomized(stage: Make) -> None:
    stage(1)
    with (
        dr.trigger.on_rl_frame(num_envs=1),
        dr.gate.on_env_reset(),
        pytest.raises(ConfigError, match=r"View 'bal' is not registered\. Did you mean 'ball'\? Registered: ball, "),
    ):
        dr.physics_view.randomize_rigid_prim_view(view_name="bal", mass=1.0)


def test_all_views_have_as_many_members_as_there_are_environments(stage: Make) -> None:
    stage(2)
    with (
        pytest.raises(ConfigError, match=r"View 'ball' has 2 members, on_rl_frame has num_envs=3"),
        dr.trigger.on_rl_frame(num_envs=3),
    ):
        pass


def test_a_view_is_registered_by_the_call_of_its_kind_and_once(stage: Make) -> None:
    made = stage(1)
    with pytest.raises(ConfigError, match=r"is a ArticulationView\. Expected a RigidPrimView"):
        dr.physics_view.register_rigid_prim_view(made.rig)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"A view named 'ball' is registered already"):
        dr.physics_view.register_rigid_prim_view(made.ball)


def test_a_view_is_randomized_by_the_call_of_its_kind(stage: Make) -> None:
    stage(1)
    with (
        dr.trigger.on_rl_frame(num_envs=1),
        dr.gate.on_env_reset(),
        pytest.raises(ConfigError, match=r"View 'rig' is a ArticulationView, expected a RigidPrimView"),
    ):
        dr.physics_view.randomize_rigid_prim_view(view_name="rig", position=(0, 0, 0))


def test_the_context_must_be_registered(stage: Make) -> None:
    stage(1)
    dr.new_setup()
    with (
        dr.trigger.on_rl_frame(num_envs=1),
        dr.gate.on_env_reset(),
        pytest.raises(ConfigError, match=r"No simulation context is registered"),
    ):
        dr.physics_view.randomize_simulation_context(gravity=(0, 0, -1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dr.physics_view.step_randomization([0]), r"before orchestrator\.run\(\)"),
        (lambda: dr.orchestrator.run(np.random.default_rng(0)), r"on_rl_frame was not entered"),
        (
            lambda: dr.orchestrator.run(),
            r"run\(\) got no random generator\. Expected orchestrator\.run\(np\.random\.default_rng\(seed\)\)",
        ),
        (lambda: dr.orchestrator.run(7), r"orchestrator\.run\(\) got 7\. Expected"),  # type: ignore[arg-type]
        (lambda: ball(mass=1.0), r"'ball' is randomized outside of a gate"),
        (lambda: dr.gate.on_env_reset().__enter__(), r"on_env_reset\(\) is outside on_rl_frame"),
        (lambda: dr.gate.on_interval(2).__enter__(), r"on_interval\(2\) is outside on_rl_frame"),
        (lambda: dr.trigger.on_rl_frame(0).__enter__(), r"num_envs=0 is out of range"),
    ],
)
def test_calls_in_the_wrong_order_are_refused(stage: Make, call: Callable[[], Any], message: str) -> None:
    stage(1)
    with pytest.raises(ConfigError, match=message):
        call()


def test_a_rule_made_after_run_needs_another_run(stage: Make) -> None:
    stage(1)
    with dr.trigger.on_rl_frame(num_envs=1):
        dr.orchestrator.run(np.random.default_rng(0))
        with dr.gate.on_env_reset():
            ball(mass=1.0)
    with pytest.raises(ConfigError, match=r"before orchestrator\.run\(\)"):
        dr.physics_view.step_randomization([0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ball(mass=1.0, operation="add"),
            r"operation='add' is not a known operation\. Did you mean 'additive'",
        ),
        (lambda: ball(position=(1, 2)), r"ball\.position: constant has shape \(2,\)\. Expected \(3,\), or one number"),
        (lambda: ball(mass=-1.0), r"ball\.mass: .* under direct goes down to -1\. Expected 1e-06 or more \[kg\]"),
        (
            lambda: ball(mass=dr.distribution.uniform(-1, 1), operation="scaling"),
            r"goes down to -1\. Expected 0 or more",
        ),
        (lambda: ball(mass=1.0, num_buckets=4), r"num_buckets=4 of 'ball' has no effect"),
        (lambda: ball(material_properties=(1, 1, 0), num_buckets=0), r"num_buckets=0 is out of range"),
        (lambda: dr.gate.on_interval(2).__enter__(), r"on_interval\(2\) is inside on_env_reset\(\)"),
        (lambda: [ball(mass=1.0), ball(mass=2.0)], r"ball\.mass is randomized on_env_reset twice"),
        (
            lambda: dr.physics_view.randomize_articulation_view("rig", joint_positions=[0.0] * 7),
            r"rig\.joint_positions: constant has shape \(7,\)\. Expected \(2,\), or one number for all "
            r"\(one per joint: rail, shaft\) \[rad or m\]",
        ),
        (
            lambda: dr.physics_view.randomize_articulation_view("rig", material_properties=[0.0] * 4),
            r"Expected \(9,\) or \(3,\)",
        ),
    ],
)
def test_rules_that_do_not_fit_are_refused(stage: Make, call: Callable[[], Any], message: str) -> None:
    stage(1)
    with dr.trigger.on_rl_frame(num_envs=1), dr.gate.on_env_reset(), pytest.raises(ConfigError, match=message):
        call()


@pytest.mark.parametrize("interval", [0, -1, 1.5, True, None])
def test_an_interval_is_a_whole_number_from_one(stage: Make, interval: Any) -> None:
    stage(1)
    with dr.trigger.on_rl_frame(num_envs=1), pytest.raises(ConfigError, match=r"interval=.* is out of range"):
        dr.gate.on_interval(interval).__enter__()
