"""Rules: how and when attributes of views are randomized."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.randomization.distribution import Distribution
from unlatch.simcore.sim.views.attribute_view import ViewAttribute

Array = np.ndarray


@dataclass(frozen=True)
class Firing:
    """The values that one rule wrote in one step."""

    step: int
    """Index of the call of `step_randomization`."""
    rule: int
    """Index of the rule in `Setup.rules`."""
    envs: Array
    """(n,) members."""
    values: Array
    """(n, width) written values."""


SIMULATION_CONTEXT = "simulation_context"
"""Name of the world's own view."""


class Operation(Enum):
    """How a draw changes an attribute."""

    direct = "direct"
    """The draw is the value."""
    additive = "additive"
    """The draw is added to the start value."""
    scaling = "scaling"
    """The draw is multiplied with the start value."""


@dataclass(frozen=True)
class Gate:
    """When a rule fires."""

    interval: int | None
    """Steps between firings since an environment's last reset; None: at its resets."""

    @property
    def on_reset(self) -> bool:
        """Whether it fires at resets."""
        return self.interval is None

    def __str__(self) -> str:
        return "on_env_reset()" if self.interval is None else f"on_interval({self.interval})"


class AttributeSlot:
    """One attribute of one view, with its default and its value of the last reset."""

    def __init__(self, view: str, attribute: ViewAttribute, count: int) -> None:
        self.view = view
        self.attribute = attribute
        self.count = count
        self.defaults = np.zeros((count, attribute.width))
        """(N, width) values when the set-up was armed."""
        self.last_reset = self.defaults
        """(N, width) values that the last `on_env_reset` wrote; the defaults before."""
        self.expiring: Array = np.zeros(count, dtype=bool)
        """(N,) bool: members whose value ends with the next step."""

    def arm(self) -> None:
        """Takes the present values as the defaults."""
        values = [self.attribute.read(env) for env in range(self.count)]
        self.defaults = np.array(values, dtype=float).reshape(self.count, self.attribute.width)
        self.last_reset = self.defaults.copy()
        self.expiring[:] = False

    def restore_expired(self) -> None:
        """Restores the value of the last reset where a value acted for one step only."""
        for env in np.flatnonzero(self.expiring):
            self.attribute.write(int(env), self.last_reset[env])
        self.expiring[:] = False

    def write(self, envs: Array, values: Array, *, on_reset: bool) -> None:
        """Writes rows of values (n, width) to members (n,)."""
        for env, row in zip(envs.tolist(), values, strict=True):
            self.attribute.write(env, row)
        if on_reset:
            self.last_reset[envs] = values
            self.expiring[envs] = False
        elif self.attribute.lasts_one_step:
            self.expiring[envs] = True


class Rule:
    """Draws values and writes them when its gate is open."""

    def __init__(
        self,
        slot: AttributeSlot,
        gate: Gate,
        operation: Operation,
        distribution: Distribution,
        *,
        num_buckets: int | None = None,
    ) -> None:
        """Makes a rule.

        Raises:
            ConfigError: The distribution does not fit the attribute.
        """
        self.slot = slot
        self.gate = gate
        self.operation = operation
        self.distribution = distribution
        self.num_buckets = num_buckets
        self.counts: Array = np.zeros(slot.count, dtype=int)
        """(N,) number of draws of each member."""
        self.envs: Array = np.zeros(0, dtype=int)
        """(n,) members of the last firing; none if it did not fire in the last step."""
        self.values = np.zeros((0, slot.attribute.width))
        """(n, width) its written values."""
        self.drawn: Array = self.values
        """(n, w) its draws before operation and bounds."""
        self._check_distribution()
        distribution.watch(self._check_distribution)

    @property
    def key(self) -> str:
        """Its view, attribute and gate as text: `ball.mass on_env_reset()`."""
        return f"{self.slot.view}.{self.slot.attribute.name} {self.gate}"

    def _check_distribution(self) -> None:
        attribute, width = self.slot.attribute, self.distribution.width
        if width is not None and width not in attribute.widths:
            expected = " or ".join(f"({w},)" for w in attribute.widths)
            raise ConfigError(
                f"{self.slot.view}.{attribute.name}: {self.distribution.type} has shape ({width},). Expected "
                f"{expected}, or one number for all ({attribute.components}) [{attribute.unit}]. Give one value for "
                "each.",
                key=attribute.name,
                expected=attribute.widths,
            )
        least = attribute.least
        if least is None or self.operation is Operation.additive:
            return
        lower = self.distribution.lowest()
        floor = least if self.operation is Operation.direct else 0.0
        if np.any(lower < floor):
            raise ConfigError(
                f"{self.slot.view}.{attribute.name}: {self.distribution!r} under {self.operation.name} goes down to "
                f"{float(np.min(lower)):g}. Expected {floor:g} or more [{attribute.unit}]. Raise it.",
                key=attribute.name,
                least=floor,
            )

    def draw(self, rng: np.random.Generator, envs: Array) -> Array:
        """Draws values (n, width) to write to members (n,)."""
        attribute = self.slot.attribute
        width = self.distribution.width or (attribute.repeat or attribute.width)
        drawn = self.distribution.sample(rng, self.counts[envs], width)
        self.counts[envs] += 1
        if self.num_buckets is not None:
            drawn = self.distribution.bucketed(drawn, self.num_buckets)
        self.drawn = drawn
        if width != attribute.width:
            drawn = np.tile(drawn, (1, attribute.width // width))
        if self.operation is not Operation.direct:
            start = (self.slot.defaults if self.gate.on_reset else self.slot.last_reset)[envs]
            drawn = start + drawn if self.operation is Operation.additive else start * drawn
        return attribute.bounded(drawn)

    def apply(self, envs: Array, values: Array) -> None:
        """Writes values (n, width) to members (n,)."""
        self.slot.write(envs, values, on_reset=self.gate.on_reset)
        self.envs, self.values = envs, values

    def to_dict(self) -> dict[str, Any]:
        """Returns the rule as plain values."""
        return {
            "view": self.slot.view,
            "attribute": self.slot.attribute.name,
            "gate": "on_env_reset" if self.gate.on_reset else "on_interval",
            "interval": self.gate.interval,
            "operation": self.operation.name,
            "distribution": self.distribution.to_dict(),
            "num_buckets": self.num_buckets,
        }
