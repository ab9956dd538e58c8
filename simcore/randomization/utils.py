"""Parameters of live distributions; the module has the name that users of such layers know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unlatch.simcore.randomization.distribution import Distribution


def set_distribution_params(distribution: Distribution, parameters: Mapping[str, Any]) -> None:
    """Changes parameters of a distribution; they count from the next firing on.

    Args:
        distribution: The distribution.
        parameters: New values by name, such as `{"lower": 0.1, "upper": 0.2}`.

    Raises:
        ConfigError: A name is unknown, a value out of range, the number of components is another than before, or a rule
            that draws from it would be refused with them; the distribution then stays as it was.
    """
    distribution.set(parameters)


def get_distribution_params(distribution: Distribution, parameters: Sequence[str]) -> list[Any]:
    """Parameters of a distribution.

    Args:
        distribution: The distribution.
        parameters: Their names.

    Returns:
        Their values, in that order.

    Raises:
        ConfigError: A name is unknown.
    """
    return [distribution.get(name) for name in parameters]
