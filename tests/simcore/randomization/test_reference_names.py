"""Calls have the names, the arguments and the order of those that users of such layers know."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from unlatch import randomization as dr

VELOCITIES = ["linear_velocity", "angular_velocity", "velocity"]
TENDONS = [
    "stiffnesses", "dampings", "limit_stiffnesses", "lower_limits", "upper_limits", "rest_lengths", "offsets",
]  # fmt: skip
RIGID = [
    "position", "orientation", *VELOCITIES, "force", "mass", "inertia", "material_properties", "contact_offset",
    "rest_offset",
]  # fmt: skip
ARTICULATION = [
    "stiffness", "damping", "joint_friction", "catch_efforts", "gasket_efforts", "position",
    "orientation", *VELOCITIES, "joint_positions", "joint_velocities", "lower_dof_limits", "upper_dof_limits",
    "max_efforts", "joint_armatures",
    "joint_max_velocities", "joint_efforts", "body_masses", "body_inertias", "material_properties",
    *(f"tendon_{name}" for name in TENDONS),
]  # fmt: skip


def parameters(call: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(call).parameters.values())


@pytest.mark.parametrize(
    ("call", "positional", "attributes"),
    [
        (dr.physics_view.randomize_simulation_context, ["operation"], ["gravity"]),
        (dr.physics_view.randomize_rigid_prim_view, ["view_name", "operation", "num_buckets"], RIGID),
        (dr.physics_view.randomize_articulation_view, ["view_name", "operation", "num_buckets"], ARTICULATION),
    ],
)
def test_randomize_takes_view_operation_and_attributes_by_name(
    call: Callable[..., None], positional: list[str], attributes: list[str]
) -> None:
    found = parameters(call)
    assert [p.name for p in found] == [*positional, *attributes]
    defaults = {"view_name": inspect.Parameter.empty, "operation": "direct"}
    assert {p.name: p.default for p in found} == dict.fromkeys([*positional, *attributes]) | {
        name: value for name, value in defaults.items() if name in positional
    }
    assert all(p.kind is p.KEYWORD_ONLY for p in found[len(positional) :])
    assert inspect.signature(call).return_annotation == "None"


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (dr.trigger.on_rl_frame, ["num_envs"]),
        (dr.gate.on_env_reset, []),
        (dr.gate.on_interval, ["interval"]),
        (dr.physics_view.register_simulation_context, ["simulation_context"]),
        (dr.physics_view.register_rigid_prim_view, ["rigid_prim_view"]),
        (dr.physics_view.register_articulation_view, ["articulation_view"]),
        (dr.physics_view.step_randomization, ["reset_inds"]),
        (dr.utils.set_distribution_params, ["distribution", "parameters"]),
        (dr.utils.get_distribution_params, ["distribution", "parameters"]),
    ],
)
def test_signatures_of_the_other_calls(call: Callable[..., Any], names: list[str]) -> None:
    assert [p.name for p in parameters(call)] == names


def test_no_environment_is_reset_by_default() -> None:
    assert parameters(dr.physics_view.step_randomization)[0].default is None


def test_parameters_are_returned_in_the_requested_order() -> None:
    given = dr.distribution.uniform((1.0, 2.0), (3.0, 4.0))
    upper, lower = dr.utils.get_distribution_params(given, ["upper", "lower"])
    assert (upper.tolist(), lower.tolist()) == ([3.0, 4.0], [1.0, 2.0])
    assert dr.utils.get_distribution_params(given, []) == []
