"""Parameters of live distributions; the module is named as in Replicator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unlatch.simcore.randomization.distribution import Distribution


def set_distribution_params(distribution: Distribution, parameters: Mapping[str, Any]) -> None:
    """Changes parameters of a distribution from the next firing on: `{"lower": 0.1, "upper": 0.2}`.

    Raises:
        ConfigError: A name is unknown, a value is out of range, the number of components changes, or a rule
            of the distribution refuses them; then the distribution does not change.
    """
    distribution.set(parameters)


def get_distribution_params(distribution: Distribution, parameters: Sequence[str]) -> list[Any]:
    """Returns the values of the named parameters of a distribution.

    Raises:
        ConfigError: A name is unknown.
    """
    return [distribution.get(name) for name in parameters]
