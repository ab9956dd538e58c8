"""What one rule wrote in one step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Firing:
    """What one rule wrote in one step."""

    step: int
    """Which call of `step_randomization`, from 0."""
    rule: int
    """Place of the rule in `Setup.rules`."""
    envs: Array
    """(n,) members."""
    values: Array
    """(n, width) what was written."""
