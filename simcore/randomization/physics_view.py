"""Registers views and randomizes their attributes; `docs/randomization.md` explains each attribute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unlatch.simcore.randomization import session
from unlatch.simcore.randomization.distribution import Distribution
from unlatch.simcore.randomization.rule import SIMULATION_CONTEXT
from unlatch.simcore.sim.views.articulation_view import ArticulationView
from unlatch.simcore.sim.views.attribute_view import AttributeView
from unlatch.simcore.sim.views.rigid_prim_view import RigidPrimView
from unlatch.simcore.sim.world import World

Value = Distribution | float | Sequence[float]
"""The distribution of an attribute; numbers are constants."""


def register_simulation_context(simulation_context: World) -> None:
    """Registers the world."""
    session.current().register_simulation_context(simulation_context)


def register_rigid_prim_view(rigid_prim_view: RigidPrimView) -> None:
    """Registers a view of rigid bodies; errors as `Setup.register_view`."""
    session.current().register_view(rigid_prim_view, RigidPrimView)


def register_articulation_view(articulation_view: ArticulationView) -> None:
    """Registers a view of articulated bodies; errors as `Setup.register_view`."""
    session.current().register_view(articulation_view, ArticulationView)


def randomize_simulation_context(operation: str = "direct", *, gravity: Value | None = None) -> None:
    """Randomizes the gravity (3,) in the world frame [m/s^2], under the open gate.

    Raises:
        ConfigError: No gate is open, or the operation or the distribution does not fit.
    """
    session.current().randomize(SIMULATION_CONTEXT, {"gravity": gravity}, operation=operation)


def randomize_rigid_prim_view(
    view_name: str,
    operation: str = "direct",
    num_buckets: int | None = None,
    *,
    position: Value | None = None,
    orientation: Value | None = None,
    linear_velocity: Value | None = None,
    angular_velocity: Value | None = None,
    velocity: Value | None = None,
    force: Value | None = None,
    mass: Value | None = None,
    inertia: Value | None = None,
    material_properties: Value | None = None,
    contact_offset: Value | None = None,
    rest_offset: Value | None = None,
) -> None:
    """Randomizes a view of rigid bodies, under the open gate.

    Args:
        view_name: Name of a registered RigidPrimView.
        operation: `direct`, `additive` or `scaling`.
        num_buckets: Number of evenly spaced values for `material_properties`.
        position: (3,) of the root in the frame of its environment [m].
        orientation: (3,) roll, pitch, yaw of the root [rad].
        linear_velocity: (3,) [m/s].
        angular_velocity: (3,) [rad/s].
        velocity: (6,) linear, then angular [m/s, rad/s].
        force: (3,) at the centre of mass [N].
        mass: (1,) [kg]; the inertia changes in proportion, unless it is set itself.
        inertia: (3,) principal moments [kg m^2].
        material_properties: (3,) static friction, dynamic friction, restitution.
        contact_offset: (1,) distance at which contact begins [m].
        rest_offset: (1,) distance at which it comes to rest [m].

    Raises:
        ConfigError: No gate is open, or a view, attribute, operation, bucket or distribution does not fit.
    """
    _randomize(locals(), RigidPrimView)


def randomize_articulation_view(
    view_name: str,
    operation: str = "direct",
    num_buckets: int | None = None,
    *,
    stiffness: Value | None = None,
    damping: Value | None = None,
    joint_friction: Value | None = None,
    catch_efforts: Value | None = None,
    gasket_efforts: Value | None = None,
    position: Value | None = None,
    orientation: Value | None = None,
    linear_velocity: Value | None = None,
    angular_velocity: Value | None = None,
    velocity: Value | None = None,
    joint_positions: Value | None = None,
    joint_velocities: Value | None = None,
    lower_dof_limits: Value | None = None,
    upper_dof_limits: Value | None = None,
    max_efforts: Value | None = None,
    joint_armatures: Value | None = None,
    joint_max_velocities: Value | None = None,
    joint_efforts: Value | None = None,
    body_masses: Value | None = None,
    body_inertias: Value | None = None,
    material_properties: Value | None = None,
    tendon_stiffnesses: Value | None = None,
    tendon_dampings: Value | None = None,
    tendon_limit_stiffnesses: Value | None = None,
    tendon_lower_limits: Value | None = None,
    tendon_upper_limits: Value | None = None,
    tendon_rest_lengths: Value | None = None,
    tendon_offsets: Value | None = None,
) -> None:
    """Randomizes a view of articulated bodies of D joints, K links and T tendons, under the open gate.

    Args:
        view_name: Name of a registered ArticulationView.
        operation: `direct`, `additive` or `scaling`.
        num_buckets: Number of evenly spaced values for `material_properties`.
        stiffness: (D,) [N m/rad or N/m].
        damping: (D,) [N m s/rad or N s/m].
        joint_friction: (D,) break-away effort [N m or N].
        catch_efforts: (D,) efforts that must be exceeded to leave a catch [N m or N]; those to get in change in
            proportion.
        gasket_efforts: (D,) efforts of gaskets at the closed stop [N m or N].
        position: (3,) of the root in the frame of its environment [m].
        orientation: (3,) roll, pitch, yaw of the root [rad].
        linear_velocity: (3,) [m/s].
        angular_velocity: (3,) [rad/s].
        velocity: (6,) linear, then angular [m/s, rad/s].
        joint_positions: (D,) [rad or m].
        joint_velocities: (D,) [rad/s or m/s].
        lower_dof_limits: (D,) [rad or m].
        upper_dof_limits: (D,) [rad or m].
        max_efforts: (D,) [N m or N].
        joint_armatures: (D,) [kg m^2 or kg].
        joint_max_velocities: (D,) [rad/s or m/s].
        joint_efforts: (D,) [N m or N].
        body_masses: (K,) [kg]; inertias change in proportion, unless they are set themselves.
        body_inertias: (K * 3,) principal moments [kg m^2].
        material_properties: (3,) for all links, or (K * 3,): static friction, dynamic friction, restitution.
        tendon_stiffnesses: (T,) [N/m].
        tendon_dampings: (T,) [N s/m].
        tendon_limit_stiffnesses: (T,) [N/m].
        tendon_lower_limits: (T,) [m].
        tendon_upper_limits: (T,) [m].
        tendon_rest_lengths: (T,) [m].
        tendon_offsets: (T,) [m].

    Raises:
        ConfigError: No gate is open, or a view, attribute, operation, bucket or distribution does not fit.
    """
    _randomize(locals(), ArticulationView)


def step_randomization(reset_inds: Any = None) -> None:
    """Counts one step and fires the rules with an open gate; call it once before every step of the simulation.

    `reset_inds` are the environments that are reset in this step: a list, array or tensor of numbers; None: none.

    Raises:
        ConfigError: `orchestrator.run` was not called, or there is no such environment.
    """
    session.current().step_randomization(reset_inds)


def _randomize(arguments: dict[str, Any], kind: type[AttributeView]) -> None:
    """Makes the rules of a call from its arguments by name: the options, and one argument per attribute."""
    options = {name: arguments.pop(name) for name in ("view_name", "operation", "num_buckets")}
    session.current().randomize(options.pop("view_name"), arguments, kind=kind, **options)
