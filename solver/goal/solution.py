"""The result of a goal solve: the joints, and the residual of each constraint."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from unlatch.simcore.errors import NoSolutionError

Array = np.ndarray


@dataclass(frozen=True)
class ConstraintResidual:
    """One constraint at a solution, in its own unit."""

    name: str
    type: str
    value: float
    """Distance from the target [unit]."""
    tolerance: float
    """Largest allowed distance [unit]."""
    unit: str
    """`m` or `rad`."""
    satisfied: bool
    """Whether the value is at most 1e-6 beyond the tolerance."""

    @property
    def excess(self) -> float:
        """Amount of the value beyond the tolerance, 0 if it holds [unit]."""
        return max(0.0, self.value - self.tolerance)

    def __str__(self) -> str:
        mark = "ok" if self.satisfied else f"OUT by {self.excess:.4g}"
        kind = "" if self.name == self.type else f" ({self.type})"
        return f"{self.name}{kind}: {self.value:.3g} of {self.tolerance:.3g} {self.unit}, {mark}"


@dataclass(frozen=True, repr=False)
class Solution:
    """A goal configuration, or the best compromise with its violations."""

    found: bool
    """Whether every constraint, joint limit and the workspace box holds."""
    residuals: tuple[ConstraintResidual, ...]
    """One per constraint, at the goal or at the best compromise."""
    cost: float
    """Cost of the solution; lower is nearer to the reference joints."""
    starts_tried: int
    build_ms: float
    solve_ms: float
    status: str
    """`solved`, or why it is not solved."""
    tool_variant: str = "+"
    """`+` for the tool keypoints as given, `-` for those turned by pi about the approach axis."""
    active_bounds: tuple[str, ...] = ()
    """Joint limits and workspace faces that the configuration lies on, in words."""
    configuration: Array | None = field(default=None)
    """(n,) joints at the goal or at the best compromise [rad]; diagnosis and pictures only, see `q`."""

    @property
    def q(self) -> Array:
        """(n,) joint positions of the goal [rad].

        Raises:
            NoSolutionError: No solution was found; the error carries the residuals and the status.
        """
        if not self.found or self.configuration is None:
            raise NoSolutionError(
                f"No solution was found, so there are no joints to read: {self.status}; {self._describe_unmet()}. "
                "Test `found` first; `residuals` holds the violations.",
                residuals=self.residuals,
                status=self.status,
            )
        return self.configuration

    def _describe_unmet(self) -> str:
        out = [str(r) for r in self.residuals if not r.satisfied]
        return "; ".join(out) if out else "no constraint is out"

    def to_dict(self) -> dict[str, Any]:
        """Returns plain values for a record or a report; `q` of a goal, or `compromise_q` if there is none."""
        joints = None if self.configuration is None else self.configuration.tolist()
        return {
            "found": self.found,
            "q": joints if self.found else None,
            "compromise_q": None if self.found else joints,
            "residuals": [asdict(residual) for residual in self.residuals],
            "cost": self.cost if math.isfinite(self.cost) else None,
            "starts_tried": self.starts_tried,
            "build_ms": self.build_ms,
            "solve_ms": self.solve_ms,
            "status": self.status,
            "tool_variant": self.tool_variant,
            "active_bounds": list(self.active_bounds),
        }

    def __repr__(self) -> str:
        joints = np.round(self.configuration, 3).tolist() if self.found and self.configuration is not None else None
        lines = [
            f"Solution(found={self.found}, status={self.status!r}, q={joints}, cost={self.cost:.4g}, "
            f"starts_tried={self.starts_tried}, solve_ms={self.solve_ms:.2f})"
        ]
        lines += [f"  {residual}" for residual in self.residuals]
        lines += [f"  at bound: {bound}" for bound in self.active_bounds]
        return "\n".join(lines)
