"""Finds the smallest sets of constraints that no pose of the hand satisfies, for any arm, with proof.

Pairs are judged in closed form (inequalities of spherical triangles and quadrilaterals, lengths, slabs). For larger
sets, all rotations of the hand are searched; a set counts only if a branch and bound proves that no rotation
satisfies it (after Hartley and Kahl, Global Optimization through Rotation Space Search, 2009). The position p of the
hand drops out: if the points p + R x_i lie in boxes about t_i, then R (x_1 - x_2) lies in a box about t_1 - t_2. The
same holds for planes and the workspace. Every such condition is necessary, so a feasible set is never called a
contradiction. Our own method.

The violation of a condition changes by at most its `reach` per radian of rotation. So if the centre of a ball of
rotations violates it by more than reach times radius, the ball contains no solution. The proof splits the ball of all
rotation vectors into cubes and discards such cubes until none is left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from unlatch.simcore.geometry import angle_between, third_side_range
from unlatch.solver.diagnosis import format_amount, format_point
from unlatch.solver.scene import ArmModel, Array, PlanningScene
from unlatch.solver.solution import SLACK, angles_between
from unlatch.solver.term import AxisRow, ExpressionRow, GeometricRow, PlaneRow, PointRow, Row, Term

_STARTS = 48
_ITERATIONS = 40
_MAX_CUBES = 400_000
"""Largest number of cubes of a proof; beyond it nothing is claimed."""
_SPIRAL_A, _SPIRAL_B = math.sqrt(2.0), 1.533751168755204288118041


@dataclass(frozen=True)
class AngleCondition:
    """`lower <= angle(R x, a) <= upper`."""

    x: Array
    """(3,) unit vector."""
    a: Array
    """(3,) unit vector."""
    lower: float
    """Smallest angle [rad]."""
    upper: float
    """Largest angle [rad]."""

    reach = 1.0

    def excess(self, R: Array) -> Array:
        """Returns the (B,) violation at rotations (B, 3, 3) [rad]."""
        angle = angles_between(R @ self.x, self.a)
        return np.maximum(0.0, np.maximum(angle - self.upper, self.lower - angle))

    def linearize(self, R: Array) -> tuple[Array, Array]:
        """Returns the (B, 1) signed excess, and its (B, 1, 3) derivative by a rotation of the base."""
        v = R @ self.x
        angle = angles_between(v, self.a)
        r = np.maximum(0.0, angle - self.upper) - np.maximum(0.0, self.lower - angle)
        normal = np.cross(self.a, v)
        length = np.linalg.norm(normal, axis=1, keepdims=True)
        # if v and a are collinear, every axis across them will do
        spare = np.cross(v, np.roll(v, 1, axis=1) + np.array([0.3, 0.0, -0.2]))
        spare /= np.linalg.norm(spare, axis=1, keepdims=True) + 1e-12
        direction = np.where(length > 1e-9, normal / np.maximum(length, 1e-12), spare)
        return r[:, None], (direction * (r != 0.0)[:, None])[:, None, :]


@dataclass(frozen=True)
class LinearCondition:
    """`low <= N R d <= high` in every component [m]: a box (N is the identity) or a slab (N is one row)."""

    d: Array
    """(3,) vector [m]."""
    N: Array
    """(k, 3) unit normals, one a row."""
    low: Array
    """(k,) [m]."""
    high: Array
    """(k,) [m]."""

    @property
    def reach(self) -> float:
        """Metres per radian."""
        return float(np.linalg.norm(self.d))

    def excess(self, R: Array) -> Array:
        """Returns the (B,) distance from the box or slab at rotations (B, 3, 3) [m]."""
        r, _ = self.linearize(R)
        return np.linalg.norm(r, axis=1)

    def linearize(self, R: Array) -> tuple[Array, Array]:
        """Returns the (B, k) signed excess, and its (B, k, 3) derivative by a rotation of the base."""
        v = R @ self.d
        value = v @ self.N.T
        r = np.maximum(0.0, value - self.high) - np.maximum(0.0, self.low - value)
        return r, np.cross(v[:, None], self.N) * (r != 0.0)[:, :, None]


Condition: TypeAlias = AngleCondition | LinearCondition


def search_rotation(conditions: Sequence[Condition]) -> tuple[Array, Array]:
    """Finds the best rotation for K >= 1 conditions from many evenly spread starts (Levenberg-Marquardt).

    Returns:
        (3, 3) rotation with the least sum of squared violations, metres and radians alike, and the (K,) violations.
    """
    R = _spread_rotations(_STARTS)
    damping = np.full(_STARTS, 1e-3)
    r, J = _stack_conditions(conditions, R)
    value = (r * r).sum(axis=1)
    for _ in range(_ITERATIONS):
        if float(value.min()) < 1e-18:
            break
        H = np.einsum("bki,bkj->bij", J, J) + damping[:, None, None] * np.eye(3)
        step = -np.linalg.solve(H, np.einsum("bki,bk->bi", J, r)[:, :, None])[:, :, 0]
        tried = rotations_of_vectors(step) @ R
        r_new, J_new = _stack_conditions(conditions, tried)
        value_new = (r_new * r_new).sum(axis=1)
        better = value_new < value
        R = np.where(better[:, None, None], tried, R)
        r, J = np.where(better[:, None], r_new, r), np.where(better[:, None, None], J_new, J)
        value = np.where(better, value_new, value)
        damping = np.clip(np.where(better, 0.2 * damping, 5.0 * damping), 1e-12, 1e3)
    best = int(np.argmin(value))
    at_best = R[best][None]
    return R[best], np.array([float(c.excess(at_best)[0]) for c in conditions])


def proves_no_rotation(conditions: Sequence[Condition]) -> bool:
    """Returns whether a proof shows that no rotation satisfies all conditions; False if the proof costs too much."""
    centres, half, seen = np.zeros((1, 3)), math.pi, 0
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])  # (8, 3)
    while len(centres):
        seen += len(centres)
        if seen > _MAX_CUBES:
            return False
        radius = math.sqrt(3.0) * half
        centres = centres[np.linalg.norm(centres, axis=1) <= math.pi + radius]
        R = rotations_of_vectors(centres)
        open_: Array = np.ones(len(centres), dtype=bool)
        for condition in conditions:
            here = np.flatnonzero(open_)
            open_[here] = condition.excess(R[here]) <= condition.reach * radius + SLACK
        centres, half = centres[open_], 0.5 * half
        centres = (centres[:, None, :] + 2.0 * half * corners[None]).reshape(-1, 3)
    return True


def rotations_of_vectors(vectors: Array) -> Array:
    """Returns the (B, 3, 3) rotations of rotation vectors (B, 3) [rad]."""
    from scipy.spatial.transform import Rotation  # the reader of settings imports this module, and needs no SciPy

    return Rotation.from_rotvec(vectors).as_matrix()


def _stack_conditions(conditions: Sequence[Condition], R: Array) -> tuple[Array, Array]:
    parts = [condition.linearize(R) for condition in conditions]
    return np.concatenate([r for r, _ in parts], axis=1), np.concatenate([J for _, J in parts], axis=1)


def _spread_rotations(count: int) -> Array:
    """Returns (count, 3, 3) evenly spread rotations: the spiral of Alexa, Super-Fibonacci Spirals, CVPR 2022."""
    s = np.arange(count) + 0.5
    r, rest = np.sqrt(s / count), np.sqrt(1.0 - s / count)
    alpha, beta = 2.0 * math.pi * s / _SPIRAL_A, 2.0 * math.pi * s / _SPIRAL_B
    x, y, z, w = r * np.sin(alpha), r * np.cos(alpha), rest * np.sin(beta), rest * np.cos(beta)
    length = np.linalg.norm([x, y, z], axis=0)
    angle = 2.0 * np.arctan2(length, w)
    return rotations_of_vectors(np.column_stack([x, y, z]) * (angle / length)[:, None])


WORKSPACE = -1
"""Index that stands for the workspace box, among the indices of constraints."""
_SAME_DIRECTION = 1e-6


@dataclass(frozen=True)
class Contradiction:
    """A smallest set of constraints that cannot hold together."""

    indices: tuple[int, ...]
    """Places in the constraint list."""
    labels: tuple[str, ...]
    """Their names in the YAML."""
    message: str
    """The contradiction and its size, without a full stop."""
    out_by: float
    """Amount by which the tolerances together are too small [unit]; for three and more, the largest excess at the best
    rotation."""
    unit: str
    """`m` or `rad`."""
    workspace: bool = False
    """Whether the workspace box takes part."""
    plain: bool = True
    """Whether it concerns one tool axis, one target or two places only."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        values = {key: getattr(self, key) for key in ("out_by", "unit", "workspace", "message")}
        return {"constraints": list(self.labels), "indices": list(self.indices), **values}


@dataclass(frozen=True)
class _Condition:
    """A condition of a few constraints on the rotation alone."""

    sources: frozenset[int]
    condition: Condition


def constraint_labels(terms: Sequence[Term]) -> list[str]:
    """Returns the names of constraints for messages: those of the YAML file, with their index if two are equal."""
    names = [term.label for term in terms]
    return [name if names.count(name) == 1 else f"constraint_list[{i}] {name}" for i, name in enumerate(names)]


def find_contradictions(terms: Sequence[Term], arm: ArmModel, scene: PlanningScene) -> list[Contradiction]:
    """Returns the smallest sets of constraints that no pose of the hand satisfies, for any arm, the worst first.

    All single constraints (with the workspace box) and pairs are judged; larger sets only if none of those contradict.
    Every returned set is proved. If there is none, it is not known whether a pose of the hand exists.
    """
    found: list[list[Contradiction]] = []
    for _, tool in arm.tool_variants():
        rows = [term.row(tool, scene) for term in terms]
        found.append(find_row_contradictions(rows, constraint_labels(terms), arm.workspace))
        if not found[-1]:
            return []  # with the fingers exchanged it may hold
    return found[0]


def find_row_contradictions(rows: Sequence[Row], labels: Sequence[str], box: Array) -> list[Contradiction]:
    """Returns what `find_contradictions` returns, for K rows with K labels; costs take no part.

    `box` is the workspace (2, 3) of the ee origin, base frame [m].
    """
    # nothing is known about expressions before the solve
    geometric = {i: row for i, row in enumerate(rows) if not isinstance(row, ExpressionRow)}
    hard = [i for i, row in geometric.items() if isinstance(row, AxisRow) or row.weight is None]
    small = [_judge_single(i, geometric[i], labels, box) for i in hard]
    small += [_judge_pair(i, geometric[i], j, geometric[j], labels) for i, j in combinations(hard, 2)]
    # among equals the simplest first: one tool axis or one target
    certain = sorted((c for c in small if c is not None), key=lambda c: (-round(c.out_by, 6), not c.plain, c.indices))
    if certain or not hard:
        return certain
    conditions = _rotation_conditions({i: geometric[i] for i in hard}, box)
    for allowed in (frozenset(hard), frozenset((*hard, WORKSPACE))):
        smallest = _find_smallest_set(conditions, allowed)
        if smallest is not None:
            return [_describe_larger_set(smallest, conditions, geometric, labels)]
    return []


def _format_degrees(low: float, high: float, out: float = 1.0) -> str:
    """Returns a range of angles, with enough digits to show an excess [rad]."""
    digits = _needed_digits(out)
    return f"{math.degrees(low):.{digits}f} to {math.degrees(high):.{digits}f} degrees"


def _needed_digits(out: float) -> int:
    return 1 if out >= 0.02 else 2 if out >= 0.002 else 3


# one constraint and the workspace


def _judge_single(i: int, row: GeometricRow, labels: Sequence[str], box: Array) -> Contradiction | None:
    if isinstance(row, AxisRow):
        return None
    length = float(np.linalg.norm(row.x_ee))
    if isinstance(row, PointRow):
        beyond = np.maximum(0.0, np.maximum(box[0] - row.target, row.target - box[1]))
        outside = np.maximum(0.0, beyond - row.tolerance)
        distance = float(np.linalg.norm(beyond))
        out = float(np.linalg.norm(outside)) - length
        sides = [
            f"{'xyz'[k]}_{'min' if row.target[k] < box[0, k] else 'max'} "
            f"{box[0, k] if row.target[k] < box[0, k] else box[1, k]:.3f} m"
            for k in range(3)
            if outside[k] > 0.0
        ]
        where = f"its target {format_point(row.target)} (base frame) lies"
    else:
        height = np.sort(np.array([(box[:, k] - row.point[k]) * row.normal[k] for k in range(3)]), axis=1).sum(axis=0)
        out = max(float(height[0]), -float(height[1])) - row.tolerance - length
        distance = out + row.tolerance + length
        sides = ["box"]
        where = "its plane passes"
    if out <= SLACK:
        return None
    faces = " and ".join(sides)
    return Contradiction(
        indices=(i,),
        labels=(labels[i],),
        message=(
            f"'{labels[i]}' lies outside the workspace: {where} {distance:.4g} m beyond the workspace {faces}, "
            f"which its tolerance of {row.tolerance:g} m and the tool keypoint's {length:.4g} m from the hand's origin "
            f"do not make up for (out by {out:.4g} m)"
        ),
        out_by=out,
        unit="m",
        workspace=True,
    )


# pairs


def _judge_pair(i: int, a: GeometricRow, j: int, b: GeometricRow, labels: Sequence[str]) -> Contradiction | None:
    if isinstance(a, AxisRow) or isinstance(b, AxisRow):
        if not (isinstance(a, AxisRow) and isinstance(b, AxisRow)):
            return None
        out, why, plain = _compare_axes(a, b)
        first, second = _format_degrees(a.lower, a.upper, out), _format_degrees(b.lower, b.upper, out)
        intro = f"'{labels[i]}' ({first}) and '{labels[j]}' ({second})"
        unit = "rad"
    else:
        out, why = _compare_places(a, b)
        plain = True
        intro = f"'{labels[i]}' (within {a.tolerance:g} m) and '{labels[j]}' (within {b.tolerance:g} m)"
        unit = "m"
    if out <= SLACK:
        return None
    return Contradiction(
        plain=plain,
        indices=(i, j),
        labels=(labels[i], labels[j]),
        message=f"{intro} contradict each other: {why} (out by {format_amount(out, unit, degree_digits=2)})",
        out_by=out,
        unit=unit,
    )


def _compare_axes(a: AxisRow, b: AxisRow) -> tuple[float, str, bool]:
    """Returns by how much two angle constraints contradict each other [rad], why, and whether it is plain.

    The triangle (R x_1, a_1, a_2) gives the range of the angle between R x_1 and a_2. From this range, the triangle
    (R x_1, R x_2, a_2) gives that of the angle between R x_2 and a_2. Every value of both ranges is possible.
    """
    tool, target = angle_between(a.x_ee, b.x_ee), angle_between(a.target, b.target)
    low, high = third_side_range(*third_side_range(a.lower, a.upper, target), tool)
    out = max(low - b.upper, b.lower - high)
    digits = _needed_digits(out)
    targets = f"the targets are {math.degrees(target):.{digits}f} degrees apart on this object"
    axes = f"{math.degrees(tool):.{digits}f} degrees"
    if min(tool, math.pi - tool) < _SAME_DIRECTION:
        which = "opposite tool axes" if tool > 1.0 else "the same tool axis"
        return out, f"both are about {which}, and {targets}", True
    if min(target, math.pi - target) < _SAME_DIRECTION:
        which = "opposite targets" if target > 1.0 else "the same target"
        return out, f"both are about {which}, and the tool axes are {axes} apart", True
    return out, f"{targets}, the tool axes {axes}", False


def _compare_places(a: PointRow | PlaneRow, b: PointRow | PlaneRow) -> tuple[float, str]:
    """Returns by how much two places of tool keypoints contradict each other [m], and why."""
    apart = float(np.linalg.norm(a.x_ee - b.x_ee))
    tools = "the same tool keypoint" if apart < 1e-9 else f"tool keypoints {apart:.4g} m apart"
    if isinstance(a, PointRow) and isinstance(b, PointRow):
        w, half = np.abs(a.target - b.target), a.tolerance + b.tolerance
        nearest = float(np.linalg.norm(np.maximum(0.0, w - half)))
        farthest = float(np.linalg.norm(w + half))
        # with both boxes of tolerances, two tool points can be this near and this far apart
        out = max(nearest - apart, apart - farthest)
        return out, f"their targets are {float(np.linalg.norm(w)):.4g} m apart, for {tools}"
    if isinstance(a, PlaneRow) and isinstance(b, PlaneRow):
        cosine = float(a.normal @ b.normal)
        if 1.0 - abs(cosine) > 1e-12:
            return 0.0, ""
        gap = abs(float(a.normal @ (a.point - b.point)))
        return gap - a.tolerance - b.tolerance - apart, f"their planes are parallel, {gap:.4g} m apart, for {tools}"
    point, plane = (a, b) if isinstance(a, PointRow) else (b, a)
    if not isinstance(point, PointRow) or not isinstance(plane, PlaneRow):
        return 0.0, ""
    height = abs(float(plane.normal @ (point.target - plane.point)))
    allowed = plane.tolerance + point.tolerance * float(np.abs(plane.normal).sum())
    return height - allowed - apart, f"the target point lies {height:.4g} m from the plane, for {tools}"


# three and more


def _rotation_conditions(rows: dict[int, GeometricRow], box: Array) -> list[_Condition]:
    """Returns the conditions of constraints, of pairs and of the workspace on the rotation."""
    found: list[_Condition] = []
    for i, row in rows.items():
        if isinstance(row, AxisRow):
            found.append(_Condition(frozenset((i,)), AngleCondition(row.x_ee, row.target, row.lower, row.upper)))
            continue
        here = frozenset((i, WORKSPACE))
        if isinstance(row, PointRow):
            N, middle, span = np.eye(3), row.target, box
        else:
            N, middle = row.normal[None], np.array([row.normal @ row.point])
            span = np.sort(box * row.normal, axis=0).sum(axis=1)[:, None]
        low, high = middle - row.tolerance - span[1], middle + row.tolerance - span[0]
        found.append(_Condition(here, LinearCondition(row.x_ee, N, low, high)))
    places = [(i, row) for i, row in rows.items() if not isinstance(row, AxisRow)]
    for (i, a), (j, b) in combinations(places, 2):
        condition = _relative_condition(a, b)
        if condition is not None:
            found.append(_Condition(frozenset((i, j)), condition))
    return found


def _relative_condition(a: PointRow | PlaneRow, b: PointRow | PlaneRow) -> Condition | None:
    """Returns the condition of two places on the rotation; None for two planes that are not parallel."""
    if isinstance(a, PointRow) and isinstance(b, PlaneRow):
        a, b = b, a
    if isinstance(a, PlaneRow) and isinstance(b, PlaneRow) and 1.0 - abs(float(a.normal @ b.normal)) > 1e-12:
        return None
    N = a.normal[None] if isinstance(a, PlaneRow) else np.eye(3)
    apart = (a.point if isinstance(a, PlaneRow) else a.target) - (b.point if isinstance(b, PlaneRow) else b.target)
    # along a normal, the box of a point extends to its corners
    half = a.tolerance + b.tolerance * (np.abs(N).sum(axis=1) if isinstance(b, PointRow) else 1.0)
    return LinearCondition(a.x_ee - b.x_ee, N, N @ apart - half, N @ apart + half)


def _find_smallest_set(conditions: Sequence[_Condition], allowed: frozenset[int]) -> frozenset[int] | None:
    """Returns a smallest set of constraints that no rotation satisfies, omitting one at a time; None without proof."""

    def holds(kept: frozenset[int]) -> bool:
        relevant = [c.condition for c in conditions if c.sources <= kept]
        return not relevant or bool(np.all(search_rotation(relevant)[1] <= SLACK))

    if holds(allowed):
        return None
    kept = allowed
    for source in sorted(allowed):
        if len(kept) > 1 and not holds(kept - {source}):
            kept = kept - {source}
    return kept if proves_no_rotation([c.condition for c in conditions if c.sources <= kept]) else None


def _describe_larger_set(
    kept: frozenset[int], conditions: Sequence[_Condition], rows: Mapping[int, GeometricRow], labels: Sequence[str]
) -> Contradiction:
    relevant = [c for c in conditions if c.sources <= kept]
    R, excess = search_rotation([c.condition for c in relevant])
    indices = tuple(sorted(kept - {WORKSPACE}))
    worst = int(np.argmax(excess))
    unit = "rad" if isinstance(relevant[worst].condition, AngleCondition) else "m"
    out = float(excess[worst])
    amount = format_amount(out, unit, degree_digits=2)
    wanted = [
        f"{_format_degrees(row.lower, row.upper)}" if isinstance(row, AxisRow) else f"within {row.tolerance:g} m"
        for row in (rows[i] for i in indices)
    ]
    named = ", ".join(f"'{labels[i]}' ({text})" for i, text in zip(indices, wanted, strict=True))
    box = " and the workspace box" if WORKSPACE in kept else ""
    faces = _crossed_faces(relevant, R)
    beyond = f", the hand's origin would lie beyond {' and '.join(faces)}" if faces else ""
    what = "orientation" if all(isinstance(rows[i], AxisRow) for i in indices) else "pose"
    reason = (
        f"no pose of the hand inside the workspace box satisfies them{beyond}"
        if WORKSPACE in kept
        else f"any {_COUNTS.get(len(indices) - 1, len(indices) - 1)} of them can hold, but no {what} of the hand "
        "satisfies all"
    )
    return Contradiction(
        indices=indices,
        labels=tuple(labels[i] for i in indices),
        message=f"{named}{box} contradict each other: {reason} (the best is out by {amount})",
        out_by=out,
        unit=unit,
        workspace=WORKSPACE in kept,
    )


def _crossed_faces(relevant: Sequence[_Condition], R: Array) -> list[str]:
    """Returns the faces of the workspace box that the points of the tool push the hand's origin through."""
    faces = set()
    for item in relevant:
        condition = item.condition
        if WORKSPACE in item.sources and isinstance(condition, LinearCondition) and len(condition.N) == 3:
            r = condition.linearize(R[None])[0][0]
            faces |= {f"{axis}_{'min' if r[k] > 0.0 else 'max'}" for k, axis in enumerate("xyz") if abs(r[k]) > SLACK}
    return sorted(faces)


_COUNTS = {1: "one", 2: "two", 3: "three"}
