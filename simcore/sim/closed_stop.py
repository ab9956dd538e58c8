"""The closed stop of a joint: the efforts of a catch and of a gasket, at every physics step."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from unlatch.simcore.closing_profile import catch_force, gasket_force
from unlatch.simcore.errors import WorldError


@dataclass(frozen=True)
class ClosedStop:
    """Catch and gasket as efforts on the joint that closes at a stop."""

    closed: float
    """Joint position at the stop [rad or m]."""
    sign: float
    """+1 if the joint's position grows as the part opens, else -1."""
    catch_effort: float = 0.0
    """Effort that must be exceeded to leave the stop [N m or N]."""
    enter_share: float = 0.0
    """Effort that must be exceeded to get in again, as a share of `catch_effort`."""
    catch_reach: float = 0.0
    """Opening at which the effort of the catch changes its direction [rad or m]."""
    gasket_effort: float = 0.0
    """Effort of the gasket at the stop [N m or N]; positive pulls the part closed."""
    gasket_reach: float = 0.0
    """Opening from which the gasket has no effect [rad or m]."""
    drawing_speed: float = math.inf
    """Speed up to which they draw the part closed, and above which they brake it [rad/s or m/s]."""

    @cached_property
    def reach(self) -> float:
        """Opening beyond which neither acts [rad or m]."""
        of_catch = self.catch_reach * (2.0 if self.enter_share else 1.0) if self.catch_effort else 0.0
        return max(of_catch, self.gasket_reach if self.gasket_effort else 0.0)

    def effort(self, q: float) -> float:
        """Returns the effort on the joint at a position, in the direction of its axis [N m or N]."""
        opening = self.sign * (q - self.closed)
        if opening >= self.reach:
            return 0.0
        enter = self.enter_share * self.catch_effort
        total = catch_force(opening, leave=self.catch_effort, enter=enter, reach=self.catch_reach)
        total += gasket_force(opening, pull=self.gasket_effort, reach=self.gasket_reach)
        return -self.sign * total

    def brakes(self, effort: float, speed: float) -> bool:
        """Returns whether the part closes faster than an effort of the catch or the gasket draws it closed.

        Args:
            effort: What `effort` returns at the present position [N m or N].
            speed: Speed of the joint [rad/s or m/s].
        """
        return effort * self.sign < 0.0 and -self.sign * speed > self.drawing_speed

    def with_catch_effort(self, value: float) -> ClosedStop:
        """Returns a copy with another effort to leave the stop; the effort to get in changes in proportion.

        Raises:
            WorldError: The joint has no catch.
        """
        if value != self.catch_effort and self.catch_reach == 0.0:
            raise WorldError(_nothing_to_change("catch", value))
        return replace(self, catch_effort=value)

    def with_gasket_effort(self, value: float) -> ClosedStop:
        """Returns a copy with another effort of the gasket.

        Raises:
            WorldError: The joint has no gasket.
        """
        if value != self.gasket_effort and self.gasket_reach == 0.0:
            raise WorldError(_nothing_to_change("gasket", value))
        return replace(self, gasket_effort=value)


def _nothing_to_change(what: str, value: float) -> str:
    return (
        f"An effort of {value:g} is set for the {what} of a joint without one. Name `{what}` in `closing_forces` of "
        "the part's annotation, with a reach, or give this joint 0."
    )
