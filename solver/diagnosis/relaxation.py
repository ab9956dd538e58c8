"""Finds the changes that make a request feasible: of one constraint, one joint limit or one workspace face."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from unlatch.solver.diagnosis.diagnosis_text import format_amount
from unlatch.solver.diagnosis.elastic import FACES, HARD, METRE, Compromise, Weights, compromises, least_violated
from unlatch.solver.goal.verify import row_tolerances
from unlatch.solver.scene import ArmModel, Array
from unlatch.solver.terms.row import Row

_HOLDS = 1e-5
"""Tolerance of the other constraints, at the precision of the elastic solve [rad or m]."""
_PULLS = 1e-2
"""Smallest multiplier of a limiting bound: the decrease of the violation per unit of room behind the bound."""


@dataclass(frozen=True)
class Element:
    """One constraint, joint limit or workspace face that can be relaxed."""

    kind: str
    """`constraint`, `joint limit` or `workspace`."""
    index: int
    """Index of the row, the joint or the face."""
    name: str
    """Name of the constraint in the YAML file, of the joint, or of the face."""
    unit: str
    """`m` or `rad`."""


@dataclass(frozen=True)
class Relaxation:
    """The change of one element that makes all others feasible."""

    element: Element
    given: float
    """Present tolerance, joint limit or place of the face [unit]."""
    needed: float
    """A value that suffices, rounded away from `given` [unit]."""
    q: Array
    """(n,) joints at which all others hold then [rad]."""

    @property
    def words(self) -> str:
        """The change, with the names of the YAML file."""
        e = self.element
        needed = format_amount(self.needed, e.unit, digits=5)  # fewer digits would not be sufficient
        side = "upper" if self.needed > self.given else "lower"
        what = {
            "constraint": f"a tolerance of {needed} for '{e.name}'",
            "workspace": f"the workspace's {e.name} at {needed}",
            "joint limit": f"the {side} limit of {e.name} at {needed}",
        }[e.kind]
        return f"{what} instead of {self.given:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "kind": self.element.kind,
            "name": self.element.name,
            "unit": self.element.unit,
            "given": self.given,
            "needed": self.needed,
            "words": self.words,
        }


_Change: TypeAlias = tuple[float, tuple[Relaxation, ...]]
"""The sum of the changes of a group of elements, and their relaxations."""


def limiting_bounds(arm: ArmModel, end: Compromise) -> list[Element]:
    """Returns the joint limits and workspace faces that limit a compromise, the most important first.

    A bound limits it if room behind the bound would reduce the violation (by its multiplier).
    """
    found = []
    for i, pull in enumerate(end.pull_joints):
        if abs(pull) > _PULLS:
            joint = arm.kinematics.joints[i]
            found.append((abs(float(pull)), Element("joint limit", i, joint.name, "m" if joint.prismatic else "rad")))
    for i, pull in enumerate(end.pull_faces):
        if pull > _PULLS:
            found.append((float(pull) / METRE, Element("workspace", i, FACES[i], "m")))
    return [element for _, element in sorted(found, key=lambda pair: -pair[0])]


def describe_bounds(arm: ArmModel, end: Compromise) -> list[str]:
    """Returns `limiting_bounds` in words, with their values."""
    words = []
    for element in limiting_bounds(arm, end):
        if element.kind == "workspace":
            words.append(f"workspace {element.name} {_face_value(arm, element.index):.3f} m")
        else:
            upper = end.pull_joints[element.index] > 0.0
            limit = float((arm.q_upper if upper else arm.q_lower)[element.index])
            side = "upper" if upper else "lower"
            turned = f" ({math.degrees(limit):.1f} degrees)" if element.unit == "rad" else ""
            words.append(f"{element.name} at its {side} limit {limit:.3f} {element.unit}{turned}")
    return words


def relaxations(
    arm: ArmModel, problems: Sequence[tuple[Sequence[Row], Array]], elements: Sequence[Element]
) -> list[Relaxation]:
    """Returns for each element the change that, alone, makes all others feasible; omits elements without one.

    The smallest change is first, a metre counting as four radians. Each change is sufficient, as measured in plain
    NumPy; a smaller one may exist that no start reached.

    Args:
        arm: The arm.
        problems: For each set of tool keypoints its rows, and (B, n) joints to start from [rad]. Each element costs a
            solve for every start.
        elements: What may change.
    """
    found = sorted(_relax_groups(arm, problems, [(element,) for element in elements]), key=lambda item: item[0])
    return [alone for _, (alone,) in found]


def pair_relaxation(
    arm: ArmModel, problems: Sequence[tuple[Sequence[Row], Array]], pairs: Sequence[tuple[Element, ...]]
) -> list[Relaxation]:
    """Returns the changes of the pair whose changes make all others feasible with the smallest sum; empty if none does.

    The other arguments are those of `relaxations`.
    """
    found = _relax_groups(arm, problems, pairs)
    return list(min(found, key=lambda item: round(item[0], 7))[1]) if found else []


def _relax_groups(
    arm: ArmModel, problems: Sequence[tuple[Sequence[Row], Array]], groups: Sequence[tuple[Element, ...]]
) -> list[_Change]:
    """Returns the smallest change of each group that makes all other elements feasible, if there is one."""
    changes = []
    for elements in groups:
        best: _Change | None = None
        for rows, starts in problems:
            found = _relax(arm, rows, starts, elements)
            if found is not None and (best is None or found[0] < best[0] - 1e-7):
                best = found
        changes += [] if best is None else [best]
    return changes


def _relax(arm: ArmModel, rows: Sequence[Row], starts: Array, elements: tuple[Element, ...]) -> _Change | None:
    weights = Weights(np.full(len(rows), HARD), np.full(6, HARD), np.full(arm.n_q, HARD))
    kinds = {"constraint": weights.rows, "workspace": weights.faces, "joint limit": weights.joints}
    for element in elements:
        kinds[element.kind][element.index] = METRE if element.unit == "m" else 1.0
    ends = [end for end in compromises(arm, rows, starts, weights=weights) if _do_others_hold(end, elements)]
    if not ends:
        return None
    end = least_violated(ends, weights)
    found = tuple(_measure_relaxation(arm, rows, end, element) for element in elements)
    if any(abs(by) < _HOLDS for _, by in found):
        return None  # it already holds
    return end.cost(weights), tuple(relaxation for relaxation, _ in found)


def _measure_relaxation(
    arm: ArmModel, rows: Sequence[Row], end: Compromise, element: Element
) -> tuple[Relaxation, float]:
    """Returns the relaxation of an element at a compromise, and the change."""
    by = float(_violations(end)[element.kind][element.index])
    if element.kind == "constraint":
        given = float(row_tolerances(rows)[element.index])
        needed = given + by
    elif element.kind == "workspace":
        given = _face_value(arm, element.index)
        needed = given + (by if element.index % 2 else -by)
    else:
        given = float((arm.q_upper if by > 0.0 else arm.q_lower)[element.index])
        needed = given + by
    return Relaxation(element, given, _round_away(needed, given), end.q), by


def _do_others_hold(end: Compromise, elements: Sequence[Element]) -> bool:
    worst = 0.0
    for kind, out in _violations(end).items():
        others: Array = np.delete(out, [e.index for e in elements if e.kind == kind])
        worst = max(worst, float(np.abs(others).max(initial=0.0)))
    return worst <= _HOLDS


def _violations(end: Compromise) -> dict[str, Array]:
    """Returns the violation of each element, by kind."""
    return {"constraint": end.rows, "workspace": end.faces, "joint limit": end.joints}


def _round_away(needed: float, given: float) -> float:
    """Returns the number with five digits, rounded so that it is still sufficient."""
    step = 10.0 ** (math.floor(math.log10(abs(needed) + 1e-12)) - 4)
    away = math.copysign(1.0, needed - given)
    return round((math.floor(needed / step) if away < 0.0 else math.ceil(needed / step)) * step, 12)


def _face_value(arm: ArmModel, index: int) -> float:
    return float(arm.workspace[index % 2, index // 2])


def constraint_elements(rows: Sequence[Row], names: Sequence[str]) -> list[Element]:
    """Returns one element per row."""
    return [Element("constraint", i, name, row.unit) for i, (row, name) in enumerate(zip(rows, names, strict=True))]
