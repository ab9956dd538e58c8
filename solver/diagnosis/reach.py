"""Finds constraints that the arm cannot meet even alone, and what prevents it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unlatch.solver.diagnosis.diagnosis_text import format_point
from unlatch.solver.diagnosis.elastic import FREE, HARD, METRE, Compromise, Weights, compromise, promising_starts
from unlatch.solver.diagnosis.relaxation import describe_bounds
from unlatch.solver.scene import ArmModel, Array
from unlatch.solver.terms.row import PointRow, Row

_ALONE_STARTS = 2
_OUT = 1e-4
"""Smallest violation that counts as out of reach [m]."""


@dataclass(frozen=True)
class Unreachable:
    """A constraint that cannot be met even alone."""

    name: str
    """Its name in the YAML."""
    out_by: float
    """Smallest violation if all other constraints are ignored [m or rad]."""
    unit: str
    """`m` or `rad`."""
    limited_by: str
    """`reach` (the arm is too short), `joint limits` or `workspace`."""
    bounds: tuple[str, ...]
    """The bounds that prevent it, in words."""
    message: str
    """What is out of reach, by how much, and why, without a full stop."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "constraint": self.name,
            "out_by": self.out_by,
            "unit": self.unit,
            "limited_by": self.limited_by,
            "bounds": list(self.bounds),
            "message": self.message,
        }


def find_unreachable(arm: ArmModel, rows: Sequence[Row], names: Sequence[str], end: Compromise) -> list[Unreachable]:
    """Returns the constraints that are violated at a compromise and that the arm cannot meet even alone."""
    found = []
    for k in np.flatnonzero(end.rows > _OUT).tolist():
        alone = _solve_alone(arm, rows, k, end.q)
        if alone.rows[k] > _OUT:
            found.append(_describe_unreachable(arm, rows, k, names[k], alone))
    return found


def _solve_alone(
    arm: ArmModel, rows: Sequence[Row], k: int, q: Array, *, faces: float = HARD, joints: float = HARD
) -> Compromise:
    unit_cost = np.full(len(rows), FREE)
    unit_cost[k] = METRE if rows[k].unit == "m" else 1.0
    weights = Weights(unit_cost, np.full(6, faces), np.full(arm.n_q, joints))
    starts = np.vstack([q[None], promising_starts(arm, rows, _ALONE_STARTS, weights=weights)])
    return compromise(arm, rows, starts, weights=weights)


def _describe_unreachable(arm: ArmModel, rows: Sequence[Row], k: int, name: str, alone: Compromise) -> Unreachable:
    row = rows[k]
    out, bounds = float(alone.rows[k]), tuple(describe_bounds(arm, alone))
    without_box = float(_solve_alone(arm, rows, k, alone.q, faces=FREE).rows[k])
    if without_box < 0.5 * out:
        limited, why = "workspace", "the workspace box is in the way"
    elif float(_solve_alone(arm, rows, k, alone.q, faces=FREE, joints=FREE).rows[k]) < 0.5 * out:
        limited, why = "joint limits", "joint limits are in the way"
    else:
        limited, why = "reach", "the arm is not long enough"
    if bounds and limited != "reach":
        why += f" ({', '.join(bounds)})"
    if isinstance(row, PointRow):
        far, length = _measure_reach(arm, row)
        where = format_point(row.target)
        if limited == "reach":
            why += f": its target {where} m (base frame) is {far:.3f} m from '{arm.kinematics.joint_names[0]}'"
            if far > length:
                why += f", and all links in one line are {length:.3f} m"
        else:
            why += f"; its target is {where} m (base frame)"
    return Unreachable(
        name=name,
        out_by=out,
        unit=row.unit,
        limited_by=limited,
        bounds=bounds,
        message=f"'{name}' alone is out of the arm's reach by {out:.4g} {row.unit}: {why}",
    )


def _measure_reach(arm: ArmModel, row: PointRow) -> tuple[float, float]:
    """Returns the distance of a target from the first joint, and an upper bound of the arm's reach [m]."""
    origin = arm.kinematics.joints[0].T_previous_joint[:3, 3]
    length = arm.kinematics.length_m + float(np.linalg.norm(row.x_ee))
    return float(np.linalg.norm(row.target - origin)), length
