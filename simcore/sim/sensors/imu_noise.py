"""Noise of an inertial measurement unit: white noise, and a bias that performs a random walk."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from unlatch.simcore.errors import check_range

Array = np.ndarray

_MOST = 1000.0


@dataclass
class ImuNoise:
    """Strengths of noise, as in data sheets; all 0: no noise."""

    acceleration_noise_density: float = 0.0
    """White noise of the acceleration [m/s^2/sqrt(Hz)]: a reading over a time t has a standard deviation of this over
    sqrt(t)."""
    acceleration_bias_std: float = 0.0
    """Standard deviation of the acceleration's bias at episode start [m/s^2]."""
    acceleration_random_walk: float = 0.0
    """Random walk of that bias [m/s^3/sqrt(Hz)]: its standard deviation after a time t is this times sqrt(t)."""
    angular_noise_density: float = 0.0
    """White noise of the angular velocity [rad/s/sqrt(Hz)]."""
    angular_bias_std: float = 0.0
    """Standard deviation of the angular velocity's bias at episode start [rad/s]."""
    angular_random_walk: float = 0.0
    """Random walk of that bias [rad/s^2/sqrt(Hz)]."""

    def __post_init__(self) -> None:
        for item in fields(self):
            check_range(f"noise.{item.name}", getattr(self, item.name), 0.0, _MOST)

    @property
    def active(self) -> bool:
        """Whether there is any noise."""
        return any(getattr(self, item.name) > 0.0 for item in fields(self))

    def first_bias(self, rng: np.random.Generator) -> Array:
        """Returns biases (2, 3) at episode start: of the acceleration [m/s^2] and of the angular velocity [rad/s].

        Args:
            rng: Random generator.
        """
        return rng.normal(size=(2, 3)) * [[self.acceleration_bias_std], [self.angular_bias_std]]

    def reading(self, bias: Array, dt_s: float, rng: np.random.Generator) -> tuple[Array, Array]:
        """Returns the errors of one reading, and the biases after it, each (2, 3) as in `first_bias`.

        Args:
            bias: (2, 3) biases before the reading.
            dt_s: Time since the previous reading [s].
            rng: Random generator.
        """
        wandered, white = rng.normal(size=(2, 2, 3))
        bias = bias + wandered * [[self.acceleration_random_walk], [self.angular_random_walk]] * np.sqrt(dt_s)
        noise = white * [[self.acceleration_noise_density], [self.angular_noise_density]] / np.sqrt(dt_s)
        return bias + noise, bias
