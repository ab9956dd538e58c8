"""Why there is no plan, in the words of the YAML."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simcore.geometry import angle_between
from solver.reader import triangle_excess
from solver.scene import PlanningScene
from solver.solution import Solution
from solver.terms.row import AxisRow, PointRow, Row
from solver.terms.term import Term

Array = np.ndarray


@dataclass(frozen=True)
class Diagnosis:
    """One reason, with its numbers."""

    code: str
    """Failure code of the design: `plan_infeasible`, `path_infeasible` or `motion_blocked`."""
    message: str
    """One sentence or two: what, where, by how much."""
    evidence: dict[str, Any] = field(default_factory=dict)
    """The same as numbers and names, plain values only."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"code": self.code, "message": self.message, "evidence": self.evidence}


def contradictions(terms: Sequence[Term], tool: Mapping[str, Array], scene: PlanningScene) -> list[tuple[str, float]]:
    """Pairs of constraints that no pose of the hand satisfies, found without solving.

    Two angles on one tool axis, or to one target from two tool axes, obey the triangle inequality; two points of the
    tool keep their distance.

    Args:
        terms: Constraints.
        tool: Tool keypoints, ee frame.
        scene: The object.

    Returns:
        A sentence and by how much it is out (rad or m), for each pair.
    """
    rows = [term.row(tool, scene) for term in terms]
    found = []
    for i in range(len(rows)):
        for j in range(i + 1, len(rows)):
            message, out = _contradiction(terms[i], rows[i], terms[j], rows[j])
            if out > 1e-6:
                found.append((message, out))
    return found


def _contradiction(first: Term, a: Row, second: Term, b: Row) -> tuple[str, float]:
    if isinstance(a, AxisRow) and isinstance(b, AxisRow):
        return _axes(first, a, second, b)
    if isinstance(a, PointRow) and isinstance(b, PointRow):
        wanted = float(np.linalg.norm(a.target - b.target))
        is_apart = float(np.linalg.norm(a.x_ee - b.x_ee))
        slack = math.sqrt(3.0) * (a.tolerance + b.tolerance)
        out = abs(wanted - is_apart) - slack
        return (
            f"'{first.label}' and '{second.label}' contradict each other: their targets are {wanted:.4f} m apart, the "
            f"two tool keypoints {is_apart:.4f} m (out by {out:.4f} m beyond both tolerances)",
            out,
        )
    return "", 0.0


def _axes(first: Term, a: AxisRow, second: Term, b: AxisRow) -> tuple[str, float]:
    tool = angle_between(a.x_ee, b.x_ee)
    target = angle_between(a.target, b.target)
    for same, other, word in ((tool, target, "the targets"), (target, tool, "the tool axes")):
        if min(same, math.pi - same) > 1e-6:
            continue
        between = other if same < 1.0 else math.pi - other
        out = triangle_excess((a.lower, a.upper), (b.lower, b.upper), between)
        if out > 1e-6:
            return (
                f"'{first.label}' ({math.degrees(a.lower):.1f} to {math.degrees(a.upper):.1f} degrees) and "
                f"'{second.label}' ({math.degrees(b.lower):.1f} to {math.degrees(b.upper):.1f} degrees) contradict "
                f"each other: {word} are {math.degrees(other):.1f} degrees apart on this object (out by {out:.4g} rad)",
                out,
            )
    return "", 0.0


def goal_diagnosis(terms: Sequence[Term], tool: Mapping[str, Array], scene: PlanningScene, best: Solution) -> Diagnosis:
    """Why no goal was found: a contradiction, or what is out by how much at the best compromise.

    Args:
        terms: Constraints.
        tool: Tool keypoints, ee frame.
        scene: The object.
        best: The best compromise of the solve.
    """
    pairs = contradictions(terms, tool, scene)
    evidence: dict[str, Any] = {
        "stage": "goal",
        "starts_tried": best.starts_tried,
        "constraints": {r.name: {"out_by": r.excess, "value": r.value, "unit": r.unit} for r in best.residuals},
        "active_bounds": list(best.active_bounds),
    }
    if pairs:
        evidence["contradictions"] = [{"message": message, "out_by": out} for message, out in pairs]
        return Diagnosis("plan_infeasible", f"No grasp exists: {pairs[0][0]}.", evidence)
    out = [f"'{r.name}' is out by {r.excess:.4g} {r.unit}" for r in best.residuals if not r.satisfied]
    bounds = f"; active: {', '.join(best.active_bounds)}" if best.active_bounds else ""
    what = ", ".join(out) if out else "the hand lies outside the workspace box"
    return Diagnosis(
        "plan_infeasible",
        f"No arm configuration meets all constraints ({best.starts_tried} starts); "
        f"at the best compromise {what}{bounds}.",
        evidence,
    )
