"""The elastic solve: the compromise between constraints that cannot all hold, changes that would make them hold, and
constraints that the arm cannot meet even alone.

    min over q, t >= 0:   sum_k w_k t_k + e |q - q_start|^2
    s.t.  row k out of its tolerance by at most t_k, the ee origin out of face f of the workspace by at most t_f,
          joint j beyond its limits by at most t_j

The l1 sum is sparse and exact: constraints that can hold do hold, to the solver's precision, and the few that cannot
hold carry the whole violation. A sum of squares would spread it over all of them. This is the elastic mode of SNOPT
(Gill, Murray and Saunders, SIAM Review 47, 2005). A large weight makes a constraint hard: the l1 penalty is exact. A
metre counts as four radians.

There is one program per arm and kinds of rows; weights and bounds are parameters. IPOPT solves it, warm from the ends
of a goal solve. Effort is bounded by counts of solves and iterations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

from unlatch.solver.diagnosis import format_amount, format_point
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.scene import ArmModel, Array
from unlatch.solver.solution import row_excess, row_tolerances
from unlatch.solver.start_library import start_library_of
from unlatch.solver.term import AxisRow, ExpressionRow, PlaneRow, PointRow, Row, RowKind

METRE = 4.0
"""Weight of a metre relative to a radian."""
FREE = 0.0
"""Weight of an element that may be violated freely."""
HARD = 1e3
"""Weight of an element that must hold if possible."""
NEAR_START = 1e-5
"""Weight e of the distance from the start in a compromise; it only decides between equals [1/rad^2]."""
_TIP = 1e-9
"""Keeps the tip of a cone from dividing by zero."""
_FLAT = 1e-5
"""Curvature along slacks that cost nothing."""
_MAX_ITERATIONS = 80
_ON_BOUND = 1e-4
"""Largest distance from a limit or face that counts as on it [rad or m]."""
_NAMES = {PointRow: "point", AxisRow: "axis", PlaneRow: "plane"}
FACES = ("x_min", "x_max", "y_min", "y_max", "z_min", "z_max")


@dataclass(frozen=True)
class Weights:
    """Cost of a unit of violation, by element; `HARD` for elements that must hold, `FREE` for those that need not."""

    rows: Array
    """(K,) of each row [1/rad or 1/m]."""
    faces: Array
    """(6,) of the workspace faces x_min, x_max, y_min, ... [1/m]."""
    joints: Array
    """(n,) of the joint limits [1/rad]."""
    near_start: float = NEAR_START
    """Weight e of the squared distance from the start [1/rad^2]."""
    radius_rad: float = np.inf
    """Largest change of a joint from the start [rad]."""


@dataclass(frozen=True)
class Compromise:
    """The result of an elastic solve."""

    q: Array
    """(n,) joints [rad]."""
    rows: Array
    """(K,) violation of each row, in its unit."""
    faces: Array
    """(6,) distance of the ee origin beyond each face [m]."""
    joints: Array
    """(n,) distance of each joint beyond a limit: positive above the upper, negative below the lower [rad]."""
    pull_rows: Array
    """(K,) reduction of the weighted sum per unit of tolerance; 0 = the row does not matter."""
    pull_faces: Array
    """(6,) reduction of the weighted sum per metre of room behind each face; 0 = the face does not matter."""
    pull_joints: Array
    """(n,) the same per radian beyond a joint limit: positive at the upper, negative at the lower."""

    def cost(self, weights: Weights) -> float:
        """Returns the weighted sum of violations."""
        return float(weights.rows @ self.rows + weights.faces @ self.faces + weights.joints @ np.abs(self.joints))

    def largest_violation(self) -> float:
        """Returns the largest violation of a row, a face or a joint limit, metres and radians alike."""
        return float(np.concatenate([self.rows, self.faces, np.abs(self.joints)]).max(initial=0.0))


def elastic_rows(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Returns the rows without costs."""
    return tuple(row for row in rows if isinstance(row, AxisRow) or row.weight is None)


def default_weights(arm: ArmModel, rows: Sequence[Row]) -> Weights:
    """Returns the weights of a compromise: constraints and workspace may be violated, joint limits may not.

    A face costs twice as much as a constraint. So if either could be violated, the constraint is, and the face is
    reported as its cause.
    """
    return Weights(
        rows=np.array([METRE if row.unit == "m" else 1.0 for row in rows]),
        faces=np.full(6, 2.0 * METRE),
        joints=np.full(arm.n_q, HARD),
    )


def compromise(arm: ArmModel, rows: Sequence[Row], starts: Array, *, weights: Weights | None = None) -> Compromise:
    """Returns the least violated compromise between K constraints (no costs) that the starts (B, n) [rad] reach.

    Each start costs one solve of 5 to 20 ms. A joint stays inside its limits if its weight is `HARD`.
    """
    chosen = default_weights(arm, rows) if weights is None else weights
    return least_violated(compromises(arm, rows, starts, weights=chosen), chosen)


def compromises(arm: ArmModel, rows: Sequence[Row], starts: Array, *, weights: Weights) -> list[Compromise]:
    """Returns the compromise that each start reaches; see `compromise`."""
    kinematics = arm.kinematics
    kinds = tuple(row.kind if isinstance(row, ExpressionRow) else _NAMES[type(row)] for row in rows)
    program = kinematics.program((ElasticProgram, kinds), lambda: ElasticProgram(kinematics, kinds))
    return [program.solve(arm, rows, q, weights) for q in starts]


def least_violated(ends: Sequence[Compromise], weights: Weights) -> Compromise:
    """Returns the compromise of least weighted violation; the first of equals."""
    return min(ends, key=lambda end: round(end.cost(weights), 7))


def measure_compromise(arm: ArmModel, rows: Sequence[Row], q: Array, weights: Weights) -> Compromise:
    """Measures the violations at joints in plain NumPy; joints with hard limits are clipped first."""
    hard = weights.joints >= HARD
    q = np.where(hard, np.clip(q, arm.q_lower, arm.q_upper), q)
    R, p = arm.kinematics.fk_batch(q[None])
    beyond = np.maximum(0.0, np.stack([arm.workspace[0] - p[0], p[0] - arm.workspace[1]], axis=1).ravel())
    joints = np.maximum(0.0, q - arm.q_upper) - np.maximum(0.0, arm.q_lower - q)
    return Compromise(q, row_excess(rows, R, p)[0], beyond, joints, np.zeros(len(rows)), np.zeros(6), np.zeros(arm.n_q))


def promising_starts(arm: ArmModel, rows: Sequence[Row], count: int, *, weights: Weights | None = None) -> Array:
    """Returns (count, n) joints of the start library with the least violation, apart from each other [rad]."""
    chosen = default_weights(arm, rows) if weights is None else weights
    library = start_library_of(arm)
    score = row_excess(rows, library.R, library.p) @ np.minimum(chosen.rows, METRE)
    return library.pick(score, count=count)


class ElasticProgram:
    """The program for one arm and the kinds of its rows, in order."""

    def __init__(self, kinematics: Kinematics, kinds: tuple[str | RowKind, ...]) -> None:
        self.kinds = kinds
        self.n_q = kinematics.n_q
        self._solver = self._build(kinematics)

    def solve(self, arm: ArmModel, rows: Sequence[Row], q_start: Array, weights: Weights) -> Compromise:
        """Returns the compromise that IPOPT reaches from the joints q_start (n,) [rad], or the start if IPOPT fails."""
        n, K = self.n_q, len(rows)
        start = measure_compromise(arm, rows, q_start, weights)
        slack = np.concatenate([start.rows, start.faces, np.abs(start.joints)])
        parameters = np.concatenate(
            [
                *[_pack_row(row) for row in rows],
                arm.workspace.T.ravel(),
                arm.q_lower,
                arm.q_upper,
                weights.rows,
                weights.faces,
                weights.joints,
                start.q,
                [weights.near_start],
            ]
        )
        # a hard joint limit is a bound of the program; a soft one may be violated by its slack
        hard = weights.joints >= HARD
        low = np.where(hard, arm.q_lower, arm.q_lower - 2.0 * np.pi)
        high = np.where(hard, arm.q_upper, arm.q_upper + 2.0 * np.pi)
        low, high = np.maximum(low, start.q - weights.radius_rad), np.minimum(high, start.q + weights.radius_rad)
        answer = self._solver(
            x0=np.concatenate([start.q, slack + 1e-3]),
            p=parameters,
            lbx=np.concatenate([low, np.zeros(K + 6 + n)]),
            ubx=np.concatenate([high, np.full(K + 6 + n, np.inf)]),
            lbg=-np.inf,
            ubg=0.0,
        )
        q: Array = answer["x"].toarray().ravel()[:n]
        if not np.all(np.isfinite(q)):
            return start
        bounds, inequalities = answer["lam_x"].toarray().ravel()[:n], answer["lam_g"].toarray().ravel()
        beyond = inequalities[-2 * n :].reshape(n, 2)
        end = measure_compromise(arm, rows, q, weights)
        p = arm.kinematics.fk_batch(end.q[None])[1][0]
        at_limit = np.minimum(end.q - arm.q_lower, arm.q_upper - end.q) < _ON_BOUND
        on_face = np.stack([p - arm.workspace[0], arm.workspace[1] - p], axis=1).ravel()
        return replace(
            end,
            pull_rows=np.add.reduceat(inequalities, self._ends[:-1]) if K else np.zeros(0),
            pull_faces=np.where(on_face < _ON_BOUND, inequalities[-2 * n - 6 : -2 * n], 0.0),
            pull_joints=np.where(at_limit, bounds + beyond[:, 0] - beyond[:, 1], 0.0),
        )

    def _build(self, kinematics: Kinematics) -> Any:
        n, K = self.n_q, len(self.kinds)
        q, t = ca.SX.sym("q", n), ca.SX.sym("t", K + 6 + n)
        R, p, _, _ = kinematics.expressions(q)
        blocks: list[Any] = []

        def given(size: int) -> Any:
            blocks.append(ca.SX.sym(f"p{len(blocks)}", size))
            return blocks[-1]

        g: list[Any] = []
        self._ends = [0]  # where the inequalities of each row begin and end
        for k, kind in enumerate(self.kinds):
            if isinstance(kind, RowKind):
                h, low, high = kind.expression(R, p, given(kind.size)), given(1), given(1)
                g += [h - high - t[k], low - h - t[k]]
                self._ends.append(len(g))
                continue
            x, target = given(3), given(3)
            v = R @ x
            if kind == "point":
                tolerance = given(1)
                for i in range(3):
                    error = (v + p - target)[i]
                    g += [error - tolerance - t[k], -error - tolerance - t[k]]
            elif kind == "axis":
                # at angles of 0 and pi the cosine has no slope, but the chords c to the target and to its opposite do;
                # c^2 / r <= r with r = tolerance + slack (a rotated cone) is also smooth at c = 0
                for chord, radius in ((v - target, given(1) + t[k]), (v + target, given(1) + t[k])):
                    g.append(0.5 * (ca.sumsqr(chord) / (radius + _TIP) - radius))
            else:
                offset, tolerance = given(1), given(1)
                error = ca.dot(target, v + p) - offset
                g += [error - tolerance - t[k], -error - tolerance - t[k]]
            self._ends.append(len(g))
        box = given(6)
        for i in range(3):
            g += [box[2 * i] - p[i] - t[K + 2 * i], p[i] - box[2 * i + 1] - t[K + 2 * i + 1]]
        lower, upper = given(n), given(n)
        for i in range(n):
            g += [q[i] - upper[i] - t[K + 6 + i], lower[i] - q[i] - t[K + 6 + i]]
        weight, start, near_start = given(K + 6 + n), given(n), given(1)
        cost = ca.dot(weight, t) + near_start * ca.sumsqr(q - start) + _FLAT * ca.sumsqr(t)
        options: dict[str, Any] = {
            "print_time": False,
            "error_on_fail": False,
            "ipopt": {
                "print_level": 0,
                "sb": "yes",
                "max_iter": _MAX_ITERATIONS,
                "tol": 1e-6,
                "constr_viol_tol": 1e-8,
                "mu_strategy": "adaptive",
                "bound_relax_factor": 0.0,
            },
        }
        problem = {"x": ca.vertcat(q, t), "p": ca.vertcat(*blocks), "f": cost, "g": ca.vertcat(*g)}
        return ca.nlpsol("elastic", "ipopt", problem, options)


def _pack_row(row: Row) -> Array:
    if isinstance(row, ExpressionRow):
        return np.concatenate([row.numbers, [row.lower, row.upper]])
    if isinstance(row, PointRow):
        return np.concatenate([row.x_ee, row.target, [row.tolerance]])
    if isinstance(row, AxisRow):
        near, far = 2.0 * np.sin(0.5 * row.upper), 2.0 * np.sin(0.5 * (np.pi - row.lower))
        return np.concatenate([row.x_ee, row.target, [near, far]])
    return np.concatenate([row.x_ee, row.normal, [float(row.normal @ row.point), row.tolerance]])


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
        element = {key: getattr(self.element, key) for key in ("kind", "name", "unit")}
        return {**element, "given": self.given, "needed": self.needed, "words": self.words}


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
    arm: ArmModel, problems: Sequence[tuple[Sequence[Row], Array]], groups: Sequence[tuple[Element, ...]]
) -> list[tuple[Relaxation, ...]]:
    """Returns for each group of elements the changes that together make all others feasible; omits groups without any.

    The smallest sum of changes is first, a metre counting as four radians. The changes are sufficient, as measured in
    plain NumPy; smaller ones may exist that no start reached.

    A problem has the rows of a set of tool keypoints, and (B, n) joints to start from [rad]. Each group costs a solve
    for every start.
    """
    changes: list[_Change] = []
    for elements in groups:
        found = [change for rows, starts in problems if (change := _relax(arm, rows, starts, elements)) is not None]
        changes += sorted(found, key=_size_of_change)[:1]
    return [relaxed for _, relaxed in sorted(changes, key=_size_of_change)]


def _size_of_change(change: _Change) -> float:
    """Returns the sum of the changes; those that differ by rounding are equal, and the first of equals is taken."""
    return round(change[0], 7)


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
        values = asdict(self)
        return {"constraint": values.pop("name"), **values, "bounds": list(self.bounds)}


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
        limited, why = "reach", "the arm is not long enough" if row.unit == "m" else "no joint turns the hand that way"
    if bounds and limited != "reach":
        why += f" ({', '.join(bounds)})"
    if isinstance(row, PointRow):
        far = float(np.linalg.norm(row.target - arm.kinematics.joints[0].T_previous_joint[:3, 3]))
        length = arm.kinematics.length_m + float(np.linalg.norm(row.x_ee))  # an upper bound of the arm's reach
        where = format_point(row.target)
        if limited == "reach":
            why += f": its target {where} m (base frame) is {far:.3f} m from '{arm.kinematics.joint_names[0]}'"
            if far > length:
                why += f", and all links in one line are {length:.3f} m"
        else:
            why += f"; its target is {where} m (base frame)"
    message = f"'{name}' alone is out of the arm's reach by {out:.4g} {row.unit}: {why}"
    return Unreachable(name, out, row.unit, limited, bounds, message)
