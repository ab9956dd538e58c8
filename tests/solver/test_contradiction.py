"""Contradictions of known cause are named with their amount, and what is feasible is never called one."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from tests.solver.builders import RowTerm, X, Y, Z
from unlatch.simcore.geometry import matrix_from_axis_angle, third_side_range, unit
from unlatch.solver.contradiction import (
    AngleCondition,
    LinearCondition,
    constraint_labels,
    find_contradictions,
    find_row_contradictions,
    proves_no_rotation,
    rotations_of_vectors,
    search_rotation,
)
from unlatch.solver.solution import SLACK
from unlatch.solver.term import AxisRow, PlaneRow, PointRow

BOX = np.array([[-0.3, -0.85, -0.1], [0.9, 0.85, 1.1]])
HEAD, TAIL, SIDE = np.array([0, 0, 0.1034]), np.array([0, 0, 0.0584]), np.array([0, 0.04, 0.1034])
BACK, ACROSS = unit(TAIL - HEAD), unit(SIDE - HEAD)
AHEAD, SHIFT, SLANT = np.array([0.5, 0.0, 0.4]), np.array([0.3, 0.1, 0.0]), unit(X + Y + Z)
RIGHT_ANGLE, APART_M = 0.5 * math.pi, 0.045
"""Between the two keypoints of the hand there are 45 mm."""


def direction(rng):
    return unit(rng.normal(size=3))


def tilted(degrees):
    """A direction in the x-z plane at an angle from z."""
    return np.array([math.sin(math.radians(degrees)), 0.0, math.cos(math.radians(degrees))])


def parallel(x, a, tolerance):
    return AxisRow(x, a, 0.0, tolerance, 0.0)


def at(x, a, degrees, tolerance):
    angle = math.radians(degrees)
    return AxisRow(x, a, max(0.0, angle - tolerance), min(math.pi, angle + tolerance), angle)


def place(x=HEAD, target=AHEAD, tolerance=1e-3):
    return PointRow(x, target, tolerance)


def cut(vector, half):
    """Length of the nearest point of a box of a half size about a vector."""
    return float(np.linalg.norm(np.maximum(0.0, np.abs(vector) - half)))


def contradictions(rows, box=BOX):
    return find_row_contradictions(list(rows.values()), list(rows), box)


# rows by name, of which the first two contradict each other; by how much
PAIRS = {
    "one tool axis, two targets": (
        {"up": parallel(BACK, Z, 0.3), "forward": parallel(BACK, X, 0.4), "place": place()},
        RIGHT_ANGLE - 0.7,
    ),
    "one target, two tool axes": (
        {"across": parallel(ACROSS, Z, 0.2), "back": parallel(BACK, Z, 0.1)},
        RIGHT_ANGLE - 0.3,
    ),
    "along and across one target": (
        {"along": parallel(BACK, X, 0.2), "across": at(BACK, X, 90, 0.3), "roll": parallel(ACROSS, Y, 0.1)},
        RIGHT_ANGLE - 0.5,
    ),
    "there and back": ({"there": parallel(BACK, X, 0.2), "back": at(BACK, X, 180, 0.3)}, math.pi - 0.5),
    "tool axes and targets at different angles": (
        {"back": parallel(BACK, Z, 0.1), "across": parallel(ACROSS, tilted(60), 0.2)},
        math.radians(30) - 0.3,
    ),
    "oblique angles to oblique targets": (
        {"back": at(BACK, Z, 40, 0.05), "across": parallel(ACROSS, tilted(20), 0.05)},
        math.radians(30) - 0.1,
    ),
    "both too far from two targets": (
        {"first": at(BACK, Z, 170, 0.05), "second": at(BACK, tilted(60), 170, 0.05)},
        math.radians(40) - 0.1,
    ),
    "one keypoint, two places": (
        {"here": place(tolerance=2e-3), "there": place(target=AHEAD + SHIFT)},
        cut(SHIFT, 3e-3),
    ),
    "two keypoints too far apart": (
        {"head": place(tolerance=2e-3), "tail": place(TAIL, AHEAD + SHIFT)},
        cut(SHIFT, 3e-3) - APART_M,
    ),
    "two keypoints too near": (
        {"head": place(tolerance=5e-3), "tail": place(TAIL, tolerance=5e-3), "back": parallel(BACK, Z, 0.3)},
        APART_M - math.sqrt(3.0) * 0.01,
    ),
    "a place away from its plane": ({"place": place(), "plane": PlaneRow(HEAD, Z, AHEAD + 0.2 * Z, 2e-3)}, 0.2 - 3e-3),
    "a place too far from the plane of another keypoint": (
        {"place": place(), "plane": PlaneRow(TAIL, X, AHEAD - 0.2 * X, 2e-3)},
        0.2 - 3e-3 - APART_M,
    ),
    "a tilted plane and the corner of the box of a place": (
        {"place": place(tolerance=1e-2), "plane": PlaneRow(HEAD, SLANT, AHEAD + 0.1 * SLANT, 0)},
        0.1 - math.sqrt(3.0) * 1e-2,
    ),
    "two parallel planes": (
        {"low": PlaneRow(HEAD, Z, AHEAD, 0.01), "high": PlaneRow(TAIL, -Z, AHEAD + 0.3 * Z, 0.02)},
        0.3 - 0.03 - APART_M,
    ),
}


@pytest.mark.parametrize("case", PAIRS)
def test_a_contradicting_pair_is_named_with_its_amount_and_widened_by_it_is_feasible(case):
    rows, out_by = PAIRS[case]
    names = list(rows)[:2]
    found = contradictions(rows)
    assert [set(c.labels) for c in found] == [set(names)], found
    assert found[0].out_by == pytest.approx(out_by, abs=1e-9)
    assert all(f"'{name}'" in found[0].message for name in names)
    assert not found[0].workspace
    first, second = (rows[name] for name in names)
    if isinstance(first, AxisRow):
        wider = replace(first, lower=max(0.0, first.lower - out_by), upper=min(math.pi, first.upper + out_by))
    else:
        wider = replace(first, tolerance=first.tolerance + out_by)
    assert contradictions({"wider": wider, "other": second}) == []


# rows by name, of which the first three contradict each other and no two do
TRIPLES = {
    "one tool axis near three axes": {name: parallel(BACK, a, 0.9) for name, a in zip("xyz", np.eye(3), strict=True)},
    "two axes fix the hand and a third is turned away": {
        "back": parallel(BACK, Z, 0.1),
        "across": parallel(ACROSS, X, 0.1),
        "slant": parallel(unit(SIDE - TAIL), Y, 1.0),
        "place": place(),
    },
    "two places give a direction that a third forbids": {
        "head": place(),
        "tail": place(TAIL, AHEAD + APART_M * Z),
        "back": parallel(BACK, X, 0.5),
        "roll": at(ACROSS, Z, 90, 0.2),
    },
    "a place and a plane give an inclination that a third forbids": {
        "head": place(),
        "tail": PlaneRow(TAIL, Z, AHEAD + 0.04 * Z, 1e-3),
        "back": at(BACK, Z, 90, 0.3),
    },
}


@pytest.mark.parametrize("case", TRIPLES)
def test_the_smallest_contradicting_set_is_named(case):
    rows = TRIPLES[case]
    names = list(rows)[:3]
    found = contradictions(rows)
    assert [set(c.labels) for c in found] == [set(names)], found
    assert found[0].out_by > 0.0
    for pair in combinations(names, 2):
        assert contradictions({name: rows[name] for name in pair}) == []


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("side", [0, 1])
def test_a_place_beyond_a_face_of_the_workspace_is_named_with_the_face(axis, side):
    target = AHEAD.copy()
    target[axis] = BOX[side, axis] + (0.2 if side else -0.2)
    (found,) = contradictions({"place": place(target=target), "back": parallel(BACK, Z, 0.3)})
    assert (found.labels, found.workspace) == (("place",), True)
    assert found.out_by == pytest.approx(0.2 - 1e-3 - 0.1034, abs=1e-9)
    assert f"{'xyz'[axis]}_{'max' if side else 'min'} {BOX[side, axis]:.3f} m" in found.message


def test_a_place_that_pushes_the_hand_out_of_the_workspace_is_named_with_the_direction():
    # the tip may lie beyond the face, but the hand's origin is farther out in this direction
    far = place(target=np.array([0.95, 0.0, 0.4]))
    rows = {"place": far, "from the far side": parallel(BACK, X, 0.3), "roll": parallel(ACROSS, Y, 0.5)}
    (found,) = contradictions(rows)
    assert (set(found.labels), found.workspace) == ({"place", "from the far side"}, True)
    assert "x_max" in found.message
    assert contradictions(rows, BOX + 0.5 * np.array([[-1.0], [1.0]])) == []


def test_a_plane_beyond_the_workspace_is_named():
    (found,) = contradictions({"plane": PlaneRow(HEAD, Z, np.array([0.0, 0.0, 1.5]), 0.01)})
    assert (found.labels, found.out_by) == (("plane",), pytest.approx(0.4 - 0.01 - 0.1034, abs=1e-9))


def test_a_cost_takes_no_part():
    assert contradictions({"here": place(), "wish": PointRow(HEAD, AHEAD + SHIFT, 0.0, weight=5.0)}) == []


def test_constraints_of_one_name_are_distinguished_by_their_place(arm, door):
    rows = [(parallel(BACK, Z, 0.3), "axis"), (place(), "place"), (parallel(BACK, X, 0.3), "axis")]
    terms = [RowTerm(row, label) for row, label in rows]
    assert constraint_labels(terms) == ["constraint_list[0] axis", "place", "constraint_list[2] axis"]
    found = find_contradictions(terms, arm, door())
    assert (found[0].labels, found[0].indices) == (("constraint_list[0] axis", "constraint_list[2] axis"), (0, 2))


@pytest.mark.property
def test_the_range_of_the_third_side_covers_random_triangles():
    rng = np.random.default_rng(3)
    for _ in range(40):
        low, width, side = rng.uniform(0, math.pi), rng.uniform(0, 1), rng.uniform(0, math.pi)
        high = min(math.pi, low + width)
        first, turn = rng.uniform(low, high, 4000), rng.uniform(0, 2 * math.pi, 4000)
        cosine = np.cos(first) * math.cos(side) + np.sin(first) * math.sin(side) * np.cos(turn)
        third = np.arccos(np.clip(cosine, -1, 1))
        smallest, largest = third_side_range(low, high, side)
        assert smallest - 1e-9 <= third.min() <= smallest + 0.1
        assert largest - 0.1 <= third.max() <= largest + 1e-9


@pytest.mark.slow
@pytest.mark.property
def test_nothing_feasible_is_called_a_contradiction():
    rng = np.random.default_rng(11)
    for _ in range(150):
        R, p = rotations_of_vectors(2.0 * rng.normal(size=(1, 3)))[0], rng.uniform(BOX[0], BOX[1])
        rows = []
        for _ in range(int(rng.integers(2, 7))):
            slack, kind = 10.0 ** rng.uniform(-4.0, -0.5), rng.uniform()
            x, off = 0.2 * rng.normal(size=3), slack * rng.uniform(-1.0, 1.0, 3)
            if kind < 0.25:
                rows.append(PointRow(x, R @ x + p + off, slack))
            elif kind < 0.5:
                n = direction(rng)
                rows.append(PlaneRow(x, n, R @ x + p + off[0] * n + np.cross(n, rng.normal(size=3)), slack))
            else:
                x, a = unit(x), direction(rng)
                angle = math.acos(float(np.clip(a @ R @ x, -1, 1)))
                wanted = float(np.clip(angle + off[0], 0.0, math.pi))
                rows.append(AxisRow(x, a, max(0.0, wanted - slack), min(math.pi, wanted + slack), wanted))
        assert find_row_contradictions(rows, [str(i) for i in range(len(rows))], BOX) == []


def test_rotations_of_vectors_are_those_of_axis_and_angle():
    vectors = np.vstack([np.random.default_rng(7).normal(size=(20, 3)), np.zeros((1, 3)), [[1e-9, 0.0, 0.0]]])
    expected = [matrix_from_axis_angle(v, np.linalg.norm(v)) if np.any(v) else np.eye(3) for v in vectors]
    np.testing.assert_allclose(rotations_of_vectors(vectors), expected, atol=1e-9)


def test_derivatives_of_conditions_are_those_of_finite_differences():
    rng = np.random.default_rng(7)
    R, step = rotations_of_vectors(rng.normal(size=(30, 3))), 1e-6 * rng.normal(size=3)
    for condition in (
        AngleCondition(direction(rng), direction(rng), 0.4, 0.5),
        LinearCondition(rng.normal(size=3), np.eye(3), np.full(3, -0.05), np.full(3, 0.05)),
        LinearCondition(rng.normal(size=3), direction(rng)[None], np.array([-0.01]), np.array([0.01])),
    ):
        before, J = condition.linearize(R)
        after, _ = condition.linearize(rotations_of_vectors(step[None]) @ R)
        np.testing.assert_allclose(after - before, J @ step, atol=5e-11)
        np.testing.assert_allclose(np.linalg.norm(before, axis=1), condition.excess(R), atol=1e-12)


@pytest.mark.property
def test_a_rotation_is_found_where_one_exists_by_construction():
    rng = np.random.default_rng(7)
    for _ in range(60):
        R, slack = rotations_of_vectors(rng.normal(size=(1, 3)))[0], 10.0 ** rng.uniform(-4.0, 0.0)
        conditions = []
        for _ in range(int(rng.integers(1, 5))):
            x, a = direction(rng), direction(rng)
            angle = math.acos(float(np.clip(a @ R @ x, -1.0, 1.0)))
            low, high = angle - slack * rng.uniform(), angle + slack * rng.uniform()
            conditions.append(AngleCondition(x, a, max(0.0, low), min(math.pi, high)))
        _, excess = search_rotation(conditions)
        assert excess.max() <= SLACK


@pytest.mark.parametrize("margin", [0.2, 0.01, 0.002])
def test_three_cones_that_share_no_direction_are_proved_to(margin):
    # the direction nearest to three axes at right angles is acos(1 / sqrt 3) from each
    widest = math.acos(1.0 / math.sqrt(3.0))
    asked, feasible = ([AngleCondition(Z, axis, 0.0, widest + m) for axis in (X, Y, Z)] for m in (-margin, margin))
    assert search_rotation(asked)[1].max() > SLACK
    assert proves_no_rotation(asked)
    assert search_rotation(feasible)[1].max() <= SLACK


def test_what_can_be_is_not_proved_impossible_and_each_two_of_three_cones_share_a_direction():
    asked, feasible = ([AngleCondition(Z, axis, 0.0, widest) for axis in (X, Y, Z)] for widest in (0.9, 0.96))
    assert not proves_no_rotation(feasible)
    assert all(search_rotation(pair)[1].max() <= SLACK for pair in combinations(asked, 2))
