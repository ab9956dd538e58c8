"""Finds the changes that make a request feasible: of one constraint, one joint limit or one workspace face."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unlatch.solver.diagnosis.elastic import FACES, HARD, METRE, Compromise, Weights, compromises, least_violated
from unlatch.solver.goal.verify import row_tolerances
from unlatch.solver.scene import ArmModel, Array
from unlatch.solver.terms.row import Row

_HOLDS = 1e-5
"""Tolerance of the other constraints, at the precision of the elastic solve [rad or m]."""
_PULLS = 1e-2
"""Smallest multiplier of a limiting bound: the share of the violation that room behind it would remove."""


@dataclass(frozen=True)
class Element:
    """One constraint, joint limit or workspace face that can be relaxed."""

    kind: str
    """`constraint`, `joint limit` or `workspace`."""
    index: int
    """Place among the rows, the joints, or the faces."""
    name: str
    """Its name in the YAML, of the joint, or of the face."""
    unit: str
    """`m` or `rad`."""


@dataclass(frozen=True)
class Relaxation:
    """The change of one element that makes all others feasible."""

    element: Element
    given: float
    """Its present tolerance, limit or place [unit]."""
    needed: float
    """A sufficient value, rounded away from `given` [unit]."""
    q: Array
    """(n,) joints at which all others hold then [rad]."""

    @property
    def words(self) -> str:
        """The change in the words of the YAML."""
        e = self.element
        if e.kind == "constraint":
            return f"a tolerance of {_format_needed(self.needed, e.unit)} for '{e.name}' instead of {self.given:.4g}"
        if e.kind == "workspace":
            return f"the workspace's {e.name} at {_format_needed(self.needed, 'm')} instead of {self.given:.4g}"
        side = "upper" if self.needed > self.given else "lower"
        return f"the {side} limit of {e.name} at {_format_needed(self.needed, e.unit)} instead of {self.given:.4g}"

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


def amount(value: float, unit: str) -> str:
    """Returns a number with its unit; an angle in degrees too."""
    return f"{value:.4g} rad ({math.degrees(value):.1f} degrees)" if unit == "rad" else f"{value:.4g} {unit}"


def _format_needed(value: float, unit: str) -> str:
    """Returns the number with all digits of a relaxation: fewer would not be sufficient."""
    return f"{value:.5g} rad ({math.degrees(value):.1f} degrees)" if unit == "rad" else f"{value:.5g} {unit}"


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
    """Returns for each element the change that, alone, makes all others feasible; omits elements without one. Each
    element costs a solve for every start (B, n) of every set of tool keypoints. The smallest change is first, a metre
    counting as four radians. Each is sufficient, as measured in plain NumPy; a smaller one may exist that no start
    reached.
    """
    found = [
        item for item in (_least_relaxation(arm, problems, (element,)) for element in elements) if item is not None
    ]
    found.sort(key=lambda item: item[0])
    return [alone for _, (alone,) in found]


def joint_relaxation(
    arm: ArmModel, problems: Sequence[tuple[Sequence[Row], Array]], pairs: Sequence[tuple[Element, ...]]
) -> list[Relaxation]:
    """Returns the set of elements with the smallest joint change that suffices; empty if none does. The arguments are
    those of `relaxations`.
    """
    found = [item for item in (_least_relaxation(arm, problems, elements) for elements in pairs) if item is not None]
    return list(min(found, key=lambda item: round(item[0], 7))[1]) if found else []


def _least_relaxation(
    arm: ArmModel, problems: Sequence[tuple[Sequence[Row], Array]], elements: tuple[Element, ...]
) -> tuple[float, tuple[Relaxation, ...]] | None:
    best: tuple[float, tuple[Relaxation, ...]] | None = None
    for rows, starts in problems:
        found = _relax(arm, rows, starts, elements)
        if found is not None and (best is None or found[0] < best[0] - 1e-7):
            best = found
    return best


def _relax(
    arm: ArmModel, rows: Sequence[Row], starts: Array, elements: tuple[Element, ...]
) -> tuple[float, tuple[Relaxation, ...]] | None:
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
