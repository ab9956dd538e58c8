"""Physical properties that a conversion adds: mass, rigid body and collision; lengths in metres, angles in radians."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any, TypeVar

from unlatch.simcore.errors import ConfigError, check_range

Choice = TypeVar("Choice", bound=Enum)


@dataclass
class MassPropertiesCfg:
    """Mass of a body; if both are given, the mass is used."""

    mass: float | None = None
    """Mass [kg], above 0."""
    density: float | None = None
    """Density [kg/m^3], above 0."""

    def __post_init__(self) -> None:
        for name in ("mass", "density"):
            check_number(f"mass_props.{name}", getattr(self, name), 0.0, above=True)


@dataclass
class RigidBodyPropertiesCfg:
    """How a free body moves; None leaves a value to the engine."""

    disable_gravity: bool | None = None
    """Whether gravity does not act on the body."""
    linear_damping: float | None = None
    """Rate at which the linear velocity decays [1/s]: after a second, exp(-damping) is left."""
    angular_damping: float | None = None
    """Rate at which the angular velocity decays [1/s]."""
    max_linear_velocity: float | None = None
    """[m/s]"""
    max_angular_velocity: float | None = None
    """[rad/s]"""
    kinematic: bool | None = None
    """Whether forces and contacts do not move the body: it moves only if its pose is written."""

    def __post_init__(self) -> None:
        for name in ("linear_damping", "angular_damping"):
            check_number(f"rigid_props.{name}", getattr(self, name), 0.0)
        for name in ("max_linear_velocity", "max_angular_velocity"):
            check_number(f"rigid_props.{name}", getattr(self, name), 0.0, above=True)


@dataclass
class CollisionPropertiesCfg:
    """Contact properties of a collider; None leaves a value to the engine."""

    collision_enabled: bool | None = None
    """False: nothing collides with it."""
    contact_offset: float | None = None
    """Distance at which contacts begin [m]; above `rest_offset`."""
    rest_offset: float | None = None
    """Distance at which two colliders come to rest [m]; below 0, they overlap."""

    def __post_init__(self) -> None:
        check_number("collision_props.contact_offset", self.contact_offset, 0.0)
        check_number("collision_props.rest_offset", self.rest_offset)
        contact, rest = self.contact_offset, self.rest_offset
        if contact is not None and rest is not None and rest >= contact:
            raise ConfigError(
                f"collision_props.rest_offset={rest:g} is not below collision_props.contact_offset={contact:g}. "
                "Lower it.",
                key="collision_props.rest_offset",
            )


def check_number(key: str, value: float | None, low: float = -math.inf, *, above: bool = False) -> None:
    """Checks that a value is a finite number in a range, see `check_range`; None passes.

    Raises:
        ConfigError: The value is not a number, not finite, or out of the range.
    """
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value is not None and not (is_number and math.isfinite(value)):
        raise ConfigError(f"{key}={value} is not a finite number.", key=key)
    check_range(key, value, low, above=above)


def read_choice(key: str, value: object, kind: type[Choice]) -> Choice:
    """Returns a member of an enum from the member itself or its value.

    Raises:
        ConfigError: There is no such member.
    """
    try:
        return kind(value)
    except ValueError as exc:
        members = ", ".join(member.value for member in kind)
        raise ConfigError(f"{key}='{value}' is unknown. Expected one of {members}.", key=key) from exc


def given_values(group: Any) -> dict[str, Any]:
    """Returns the fields of a group that are not None, by name; empty without a group."""
    return {} if group is None else {name: value for name, value in asdict(group).items() if value is not None}
