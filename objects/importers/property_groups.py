"""Physical properties that a conversion adds: mass, rigid body and collision; lengths in metres, angles in radians."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, TypeVar

from unlatch.simcore.errors import ConfigError

Choice = TypeVar("Choice", bound=Enum)


@dataclass
class MassPropertiesCfg:
    """Mass of a body; if both are given, the mass wins."""

    mass: float | None = None
    """Mass [kg], above 0."""
    density: float | None = None
    """Density [kg/m^3], above 0."""

    def __post_init__(self) -> None:
        for name in ("mass", "density"):
            check_number(f"mass_props.{name}", getattr(self, name), above=0.0)


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
    """Whether it moves only by being placed: forces and contacts do not move it."""

    def __post_init__(self) -> None:
        for name in ("linear_damping", "angular_damping"):
            check_number(f"rigid_props.{name}", getattr(self, name), least=0.0)
        for name in ("max_linear_velocity", "max_angular_velocity"):
            check_number(f"rigid_props.{name}", getattr(self, name), above=0.0)


@dataclass
class CollisionPropertiesCfg:
    """How a collider meets others; None leaves a value to the engine."""

    collision_enabled: bool | None = None
    """False: nothing collides with it."""
    contact_offset: float | None = None
    """Distance at which contacts begin [m]; above `rest_offset`."""
    rest_offset: float | None = None
    """Distance at which two colliders come to rest [m]; below 0, they overlap."""

    def __post_init__(self) -> None:
        check_number("collision_props.contact_offset", self.contact_offset, least=0.0)
        check_number("collision_props.rest_offset", self.rest_offset)
        contact, rest = self.contact_offset, self.rest_offset
        if contact is not None and rest is not None and rest >= contact:
            raise ConfigError(
                f"collision_props.rest_offset={rest:g} is not below collision_props.contact_offset={contact:g}. "
                "Lower it.",
                key="collision_props.rest_offset",
            )


def check_number(key: str, value: float | None, *, above: float | None = None, least: float | None = None) -> None:
    """Checks that a number, if there is one, is finite, larger than `above` and not smaller than `least`.

    Raises:
        ConfigError: It is none, not finite, or out of its range.
    """
    if value is None:
        return
    wanted = f"above {above:g}" if above is not None else f"{least:g} or more" if least is not None else "finite"
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ConfigError(f"{key}={value} is not a finite number. Expected a number, {wanted}.", key=key)
    if (above is not None and value <= above) or (least is not None and value < least):
        raise ConfigError(f"{key}={value:g} is out of range. Expected {wanted}. Change it.", key=key)


def read_choice(key: str, value: object, kind: type[Choice]) -> Choice:
    """Returns a member of an enum from the member itself or its value.

    Raises:
        ConfigError: It is none of them.
    """
    try:
        return kind(value)
    except ValueError as exc:
        members = ", ".join(member.value for member in kind)
        raise ConfigError(f"{key}='{value}' is unknown. Expected one of {members}.", key=key) from exc


def given_values(group: Any) -> dict[str, Any]:
    """Returns the fields of a group that are not None, by name; empty without a group."""
    if group is None:
        return {}
    values = {item.name: getattr(group, item.name) for item in fields(group)}
    return {name: value for name, value in values.items() if value is not None}
