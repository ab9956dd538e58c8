"""Rates of a world, checked to divide each other; no engine is imported to read a configuration."""

from __future__ import annotations

import math
from dataclasses import dataclass

from unlatch.simcore.errors import ConfigError

MAX_HZ = 100_000
"""Highest rate that is simulated [Hz]."""
MAX_GRAVITY_M_S2 = 100.0
"""Largest gravity that is simulated, up or down [m/s^2]."""


@dataclass
class WorldCfg:
    """Rates and solver settings of a world."""

    physics_hz: int = 240
    """Physics steps per second."""
    control_hz: int = 60
    """Control steps per second; a divisor of `physics_hz`."""
    record_hz: int = 30
    """Record frames and actions per second; a divisor of `control_hz`."""
    solver_iterations: int = 300
    """Iterations of Bullet's contact solver in a step at most; it stops earlier where it has settled."""
    gravity_m_s2: float = -9.81
    """Gravity along world z [m/s^2]."""

    def __post_init__(self) -> None:
        for key in ("physics_hz", "control_hz", "record_hz"):
            if not 1 <= getattr(self, key) <= MAX_HZ:
                raise ConfigError(
                    f"world.{key}={getattr(self, key)} is out of range. Expected 1 to {MAX_HZ}. Change it.",
                    key=f"world.{key}",
                )
        for fast, slow in (("physics_hz", "control_hz"), ("control_hz", "record_hz")):
            a, b = getattr(self, fast), getattr(self, slow)
            if a % b != 0:
                raise ConfigError(
                    f"world.{slow}={b} does not divide world.{fast}={a}. "
                    f"Choose {slow} so that {fast} is a whole multiple of it.",
                    key=f"world.{slow}",
                )
        if not abs(self.gravity_m_s2) <= MAX_GRAVITY_M_S2:
            raise ConfigError(
                f"world.gravity_m_s2={self.gravity_m_s2:g} is out of range. Expected {-MAX_GRAVITY_M_S2:g} to "
                f"{MAX_GRAVITY_M_S2:g}. Change it.",
                key="world.gravity_m_s2",
            )
        if not 1 <= self.solver_iterations <= 10_000:
            raise ConfigError(
                f"world.solver_iterations={self.solver_iterations} is out of range. Expected 1 to 10000.",
                key="world.solver_iterations",
            )

    @property
    def control_steps(self) -> int:
        """Control steps in a record frame."""
        return self.control_hz // self.record_hz

    @property
    def physics_steps(self) -> int:
        """Physics steps in a control step."""
        return self.physics_hz // self.control_hz

    def frames(self, seconds: float) -> int:
        """Record frames that last at least so long [s]: what takes time is stated in seconds, whatever the rate."""
        return math.ceil(seconds * self.record_hz - 1e-9)  # 0.1 s at 30 Hz are 3 frames, whatever 0.1 * 30 rounds to
