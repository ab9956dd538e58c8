"""The functions of Replicator by their names there: `from unlatch.simcore.randomization import replicator as dr`.

A script calls `dr.physics_view`, `dr.trigger`, `dr.gate`, `dr.orchestrator` and `dr.utils`, which are modules there and
classes of functions here. They act on the present set-up. `dr.distribution` has the distributions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

import numpy as np

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.randomization import distribution as distribution
from unlatch.simcore.randomization.distribution import Distribution
from unlatch.simcore.randomization.rule import SIMULATION_CONTEXT
from unlatch.simcore.randomization.setup import Setup
from unlatch.simcore.sim.views.articulation_view import ArticulationView
from unlatch.simcore.sim.views.attribute_view import AttributeView
from unlatch.simcore.sim.views.rigid_prim_view import RigidPrimView
from unlatch.simcore.sim.world import World

Value = Distribution | float | Sequence[float]
"""The distribution of an attribute; numbers are constants."""
_current: ContextVar[Setup | None] = ContextVar("randomization_setup", default=None)


def current() -> Setup:
    """Returns the present set-up; an empty one is created on first use."""
    setup = _current.get()
    return setup if setup is not None else new_setup()


def new_setup() -> Setup:
    """Starts an empty set-up for all following calls; the previous one does not change."""
    return use(Setup())


def use(setup: Setup) -> Setup:
    """Makes all following calls act on a set-up, and returns it."""
    _current.set(setup)
    return setup


class trigger:  # noqa: N801 - a module of Replicator
    """The frame of a simulation with several environments."""

    @staticmethod
    def on_rl_frame(num_envs: int) -> AbstractContextManager[None]:
        """Opens the frame in which gates and rules are made: `with trigger.on_rl_frame(num_envs=4):`.

        Raises:
            ConfigError: A view has another number of members, or there is a frame already.
        """
        return current().on_rl_frame(num_envs)


class gate:  # noqa: N801 - a module of Replicator
    """Gates: rules write at resets, or at an interval of steps."""

    @staticmethod
    def on_env_reset() -> AbstractContextManager[None]:
        """Rules inside write for every environment that is reset: `with gate.on_env_reset():`.

        Their values last until the environment's next reset; `additive` and `scaling` start from the default.

        Raises:
            ConfigError: It is outside `on_rl_frame` or inside another gate.
        """
        return current().on_env_reset()

    @staticmethod
    def on_interval(interval: int) -> AbstractContextManager[None]:
        """Rules inside write for every environment whose counter is a positive multiple of the interval [steps].

        At a reset the counter is 0, and the rules do not fire: they would overwrite the values of the reset in the same
        step. `additive` and `scaling` start from the value of the last `on_env_reset`, never from their own last draw.

        Raises:
            ConfigError: It is no whole number from 1, or it is outside `on_rl_frame` or inside another gate.
        """
        return current().on_interval(interval)


class physics_view:  # noqa: N801 - a module of Replicator
    """Registers views and randomizes their attributes; `docs/randomization.md` explains each attribute."""

    @staticmethod
    def register_simulation_context(simulation_context: World) -> None:
        """Registers the world."""
        current().register_simulation_context(simulation_context)

    @staticmethod
    def register_rigid_prim_view(rigid_prim_view: RigidPrimView) -> None:
        """Registers a view of rigid bodies; errors as `Setup.register_view`."""
        current().register_view(rigid_prim_view, RigidPrimView)

    @staticmethod
    def register_articulation_view(articulation_view: ArticulationView) -> None:
        """Registers a view of articulated bodies; errors as `Setup.register_view`."""
        current().register_view(articulation_view, ArticulationView)

    @staticmethod
    def randomize_simulation_context(operation: str = "direct", *, gravity: Value | None = None) -> None:
        """Randomizes the gravity (3,) in the world frame [m/s^2], under the open gate.

        Raises:
            ConfigError: No gate is open, or the operation or the distribution does not fit.
        """
        current().randomize(SIMULATION_CONTEXT, {"gravity": gravity}, operation=operation)

    @staticmethod
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

    @staticmethod
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

    @staticmethod
    def step_randomization(reset_inds: Any = None) -> None:
        """Counts one step and fires the rules with an open gate; call it once before every step of the simulation.

        `reset_inds` are the environments that are reset in this step: a list, array or tensor of numbers; None: none.

        Raises:
            ConfigError: `orchestrator.run` was not called, or there is no such environment.
        """
        current().step_randomization(reset_inds)


class orchestrator:  # noqa: N801 - a module of Replicator
    """Starts a set-up."""

    @staticmethod
    def run(rng: np.random.Generator | None = None) -> None:
        """Arms the set-up: the present values of the attributes become their defaults, and all counters are 0.

        The random generator is required, unlike in Replicator: there is no global seed.

        Raises:
            ConfigError: No random generator is given, or there was no `on_rl_frame`.
        """
        if not isinstance(rng, np.random.Generator):
            raise ConfigError(
                f"orchestrator.run() got {'no random generator' if rng is None else repr(rng)}. Expected "
                "orchestrator.run(np.random.default_rng(seed)): unlike in Replicator, there is no global seed.",
                key="rng",
            )
        current().run(rng)


class utils:  # noqa: N801 - a module of Replicator
    """Parameters of distributions that are in use."""

    @staticmethod
    def set_distribution_params(distribution: Distribution, parameters: Mapping[str, Any]) -> None:
        """Changes parameters of a distribution from the next firing on, as `Distribution.set`: `{"lower": 0.1}`."""
        distribution.set(parameters)

    @staticmethod
    def get_distribution_params(distribution: Distribution, parameters: Sequence[str]) -> list[Any]:
        """Returns the values of the named parameters of a distribution, as `Distribution.get`."""
        return [distribution.get(name) for name in parameters]


def _randomize(arguments: dict[str, Any], kind: type[AttributeView]) -> None:
    """Makes the rules of a call from its arguments by name: the options, and one argument per attribute."""
    options = {name: arguments.pop(name) for name in ("view_name", "operation", "num_buckets")}
    current().randomize(options.pop("view_name"), arguments, kind=kind, **options)
