"""How many values each attribute takes, and what is said where another number is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unlatch import randomization as dr
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.sim.body_views import ArticulationView
from unlatch.simcore.sim.joint_mechanisms import TendonCfg

pytestmark = pytest.mark.integration
Stage = Any

D, K, T = 2, 3, 2
"""Joints, links with the root, tendons."""
ROOT = {"position": 3, "orientation": 3}
RIGID = ROOT | {
    "linear_velocity": 3, "angular_velocity": 3, "velocity": 6, "force": 3, "mass": 1, "inertia": 3,
    "material_properties": 3, "contact_offset": 1, "rest_offset": 1,
}  # fmt: skip
JOINTS = (
    "stiffness", "damping", "joint_friction", "catch_efforts", "gasket_efforts", "joint_positions",
    "joint_velocities", "lower_dof_limits", "upper_dof_limits", "max_efforts", "joint_armatures",
    "joint_max_velocities", "joint_efforts",
)  # fmt: skip
TENDONS = ("stiffnesses", "dampings", "limit_stiffnesses", "lower_limits", "upper_limits", "rest_lengths", "offsets")
ARTICULATION = (
    ROOT
    | dict.fromkeys(JOINTS, D)
    | {"body_masses": K, "body_inertias": 3 * K, "material_properties": 3 * K}
    | {f"tendon_{name}": T for name in TENDONS}
)
CASES = [("ball", *item) for item in RIGID.items()] + [("rig", *item) for item in ARTICULATION.items()]


def registered(stage: Stage, *, tendons: int = T) -> ArticulationView:
    dr.new_setup()
    dr.physics_view.register_simulation_context(stage.world)
    dr.physics_view.register_rigid_prim_view(stage.ball)
    made = [TendonCfg(joints=["rail"], coefficients=[1.0]), TendonCfg(joints=["shaft"], coefficients=[1.0])]
    rig = ArticulationView(stage.world, stage.rig.bodies, name="rig", tendons=made[:tendons])
    dr.physics_view.register_articulation_view(rig)
    return rig


def randomize(view: str, name: str, value: Any) -> None:
    call = dr.physics_view.randomize_rigid_prim_view if view == "ball" else dr.physics_view.randomize_articulation_view
    call(view, **{name: value})


def test_all_attributes_are_tested(shared_stage: Stage) -> None:
    assert dict(RIGID) == {name: each.width for name, each in shared_stage.ball.attributes.items()}
    rig = registered(shared_stage)
    assert dict(ARTICULATION) == {name: each.width for name, each in rig.attributes.items()}
    assert (rig.num_dof, rig.num_bodies) == (D, K)


@pytest.mark.parametrize(("view", "name", "width"), CASES)
def test_an_attribute_takes_its_width_and_no_other(shared_stage: Stage, view: str, name: str, width: int) -> None:
    registered(shared_stage)
    target = "all links" if name == "material_properties" and view == "rig" else ""
    with dr.trigger.on_rl_frame(num_envs=3), dr.gate.on_interval(1):
        for wrong in {width - 1, width + 1} - {0}:
            for values in ([0.5] * wrong, dr.distribution.uniform([0.1] * wrong, [0.2] * wrong)):
                with pytest.raises(ConfigError, match=rf"{view}\.{name}: \w+ has shape \({wrong},\)") as caught:
                    randomize(view, name, values)
                assert f"Expected ({width},)" in caught.value.message
                assert target in caught.value.message
                assert caught.value.values["expected"][0] == width
        row = [0.1 + 0.01 * place for place in range(width)]
        randomize(view, name, row)
        randomize(view, name, 0.5)  # one number stands for all
    dr.orchestrator.run(np.random.default_rng(0))
    rule, same = dr.current().rules
    assert rule.draw(np.random.default_rng(0), np.arange(3)) == pytest.approx(np.array([row] * 3))
    assert same.draw(np.random.default_rng(0), np.arange(3)) == pytest.approx(np.full((3, width), 0.5))


def test_gravity_has_three_values(shared_stage: Stage) -> None:
    registered(shared_stage)
    with dr.trigger.on_rl_frame(num_envs=3), dr.gate.on_interval(1):
        for wrong in (2, 4):
            with pytest.raises(ConfigError, match=rf"gravity: constant has shape \({wrong},\)\. Expected \(3,\)"):
                dr.physics_view.randomize_simulation_context(gravity=[0.0] * wrong)


def test_three_values_of_a_material_are_those_of_every_link(shared_stage: Stage) -> None:
    registered(shared_stage)
    with dr.trigger.on_rl_frame(num_envs=3), dr.gate.on_interval(1):
        randomize("rig", "material_properties", [0.3, 0.2, 0.1])
    (rule,) = dr.current().rules
    drawn = rule.draw(np.random.default_rng(0), np.arange(3))
    assert drawn == pytest.approx(np.array([[0.3, 0.2, 0.1] * K] * 3))


def test_without_tendons_there_is_nothing_to_write(shared_stage: Stage) -> None:
    registered(shared_stage, tendons=0)
    with dr.trigger.on_rl_frame(num_envs=3), dr.gate.on_interval(1):
        for name in TENDONS:
            with pytest.raises(ConfigError, match=rf"View 'rig' .* has no 'tendon_{name}': it declares no tendons"):
                randomize("rig", f"tendon_{name}", 1.0)
