"""Parameters of live distributions; the module is named as in Replicator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unlatch.simcore.randomization.distribution import Distribution


def set_distribution_params(distribution: Distribution, parameters: Mapping[str, Any]) -> None:
    """Changes parameters of a distribution from the next firing on, as `Distribution.set`: `{"lower": 0.1}`."""
    distribution.set(parameters)


def get_distribution_params(distribution: Distribution, parameters: Sequence[str]) -> list[Any]:
    """Returns the values of the named parameters of a distribution, as `Distribution.get`."""
    return [distribution.get(name) for name in parameters]
