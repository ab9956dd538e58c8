"""Contradictions of known cause are named with their amount, and what is feasible is never called one."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from unlatch.simcore.geometry import third_side_range, unit
from unlatch.solver.contradiction import (
    constraint_labels,
    find_contradictions,
    find_row_contradictions,
    rotations_of_vectors,
)
from unlatch.solver.term import AxisRow, PlaneRow, PointRow

X, Y, Z = np.eye(3)
BOX = np.array([[-0.3, -0.85, -0.1], [0.9, 0.85, 1.1]])
HEAD, TAIL, SIDE = np.array([0, 0, 0.1034]), np.array([0, 0, 0.0584]), np.array([0, 0.04, 0.1034])
BACK, ACROSS = unit(TAIL - HEAD), unit(SIDE - HEAD)
AHEAD = np.array([0.5, 0.0, 0.4])


def tilted(degrees):
    """A direction in the x-z plane at an angle from z."""
    return np.array([math.sin(math.radians(degrees)), 0.0, math.cos(math.radians(degrees))])


def parallel(x, a, tolerance):
    return AxisRow(x, a, 0.0, tolerance, 0.0)


def at(x, a, degrees, tolerance):
    angle = math.radians(degrees)
    return AxisRow(x, a, max(0.0, angle - tolerance), min(math.pi, angle + tolerance), angle)


def cut(vector, half):
    """Length of the nearest point of a box of a half size about a vector."""
    return float(np.linalg.norm(np.maximum(0.0, np.abs(vector) - half)))


SHIFT = np.array([0.3, 0.1, 0.0])

# name: rows by name, the pair (or more) that contradicts, by how much, unit
PAIRS = {
    "one tool axis, two targets": (
        {"up": parallel(BACK, Z, 0.3), "forward": parallel(BACK, X, 0.4), "place": PointRow(HEAD, AHEAD, 1e-3)},
        ("up", "forward"),
        0.5 * math.pi - 0.7,
    ),
    "one target, two tool axes": (
        {"across": parallel(ACROSS, Z, 0.2), "back": parallel(BACK, Z, 0.1)},
        ("across", "back"),
        0.5 * math.pi - 0.3,
    ),
    "along and across one target": (
        {"along": parallel(BACK, X, 0.2), "across": at(BACK, X, 90, 0.3), "roll": parallel(ACROSS, Y, 0.1)},
        ("along", "across"),
        0.5 * math.pi - 0.5,
    ),
    "there and back": (
        {"there": parallel(BACK, X, 0.2), "back": at(BACK, X, 180, 0.3)},
        ("there", "back"),
        math.pi - 0.5,
    ),
    "tool axes and targets at different angles": (
        {"back": parallel(BACK, Z, 0.1), "across": parallel(ACROSS, tilted(60), 0.2)},
        ("back", "across"),
        math.radians(30) - 0.3,
    ),
    "oblique angles to oblique targets": (
        {"back": at(BACK, Z, 40, 0.05), "across": parallel(ACROSS, tilted(20), 0.05)},
        ("back", "across"),
        math.radians(30) - 0.1,
    ),
    "both too far from two targets": (
        {"first": at(BACK, Z, 170, 0.05), "second": at(BACK, tilted(60), 170, 0.05)},
        ("first", "second"),
        math.radians(40) - 0.1,
    ),
    "one keypoint, two places": (
        {"here": PointRow(HEAD, AHEAD, 2e-3), "there": PointRow(HEAD, AHEAD + SHIFT, 1e-3)},
        ("here", "there"),
        cut(SHIFT, 3e-3),
    ),
    "two keypoints too far apart": (
        {"head": PointRow(HEAD, AHEAD, 2e-3), "tail": PointRow(TAIL, AHEAD + SHIFT, 1e-3)},
        ("head", "tail"),
        cut(SHIFT, 3e-3) - 0.045,
    ),
    "two keypoints too near": (
        {"head": PointRow(HEAD, AHEAD, 5e-3), "tail": PointRow(TAIL, AHEAD, 5e-3), "back": parallel(BACK, Z, 0.3)},
        ("head", "tail"),
        0.045 - math.sqrt(3.0) * 0.01,
    ),
    "a place away from its plane": (
        {"place": PointRow(HEAD, AHEAD, 1e-3), "plane": PlaneRow(HEAD, Z, AHEAD + 0.2 * Z, 2e-3)},
        ("place", "plane"),
        0.2 - 3e-3,
    ),
    "a place too far from the plane of another keypoint": (
        {"place": PointRow(HEAD, AHEAD, 1e-3), "plane": PlaneRow(TAIL, X, AHEAD - 0.2 * X, 2e-3)},
        ("place", "plane"),
        0.2 - 3e-3 - 0.045,
    ),
    "a tilted plane and the corner of the box of a place": (
        {
            "place": PointRow(HEAD, AHEAD, 1e-2),
            "plane": PlaneRow(HEAD, unit(X + Y + Z), AHEAD + 0.1 * unit(X + Y + Z), 0),
        },
        ("place", "plane"),
        0.1 - math.sqrt(3.0) * 1e-2,
    ),
    "two parallel planes": (
        {"low": PlaneRow(HEAD, Z, AHEAD, 0.01), "high": PlaneRow(TAIL, -Z, AHEAD + 0.3 * Z, 0.02)},
        ("low", "high"),
        0.3 - 0.03 - 0.045,
    ),
}


@pytest.mark.parametrize("case", PAIRS)
def test_a_contradicting_pair_is_named_with_its_amount(case):
    rows, names, out_by = PAIRS[case]
    found = find_row_contradictions(list(rows.values()), list(rows), BOX)
    assert [set(c.labels) for c in found] == [set(names)], found
    assert found[0].out_by == pytest.approx(out_by, abs=1e-9)
    assert all(f"'{name}'" in found[0].message for name in names)
    assert not found[0].workspace


@pytest.mark.parametrize("case", PAIRS)
def test_a_contradiction_widened_by_its_amount_is_feasible(case):
    rows, names, out_by = PAIRS[case]
    first = rows[names[0]]
    if isinstance(first, AxisRow):
        wider = replace(first, lower=max(0.0, first.lower - out_by), upper=min(math.pi, first.upper + out_by))
    else:
        wider = replace(first, tolerance=first.tolerance + out_by)
    assert find_row_contradictions([wider, rows[names[1]]], list(names), BOX) == []


LARGER = {
    "one tool axis near three axes": (
        {"x": parallel(BACK, X, 0.9), "y": parallel(BACK, Y, 0.9), "z": parallel(BACK, Z, 0.9)},
        ("x", "y", "z"),
    ),
    "two axes fix the hand and a third is turned away": (
        {
            "back": parallel(BACK, Z, 0.1),
            "across": parallel(ACROSS, X, 0.1),
            "slant": parallel(unit(SIDE - TAIL), Y, 1.0),
            "place": PointRow(HEAD, AHEAD, 1e-3),
        },
        ("back", "across", "slant"),
    ),
    "two places give a direction that a third forbids": (
        {
            "head": PointRow(HEAD, AHEAD, 1e-3),
            "tail": PointRow(TAIL, AHEAD + 0.045 * Z, 1e-3),
            "back": parallel(BACK, X, 0.5),
            "roll": at(ACROSS, Z, 90, 0.2),
        },
        ("head", "tail", "back"),
    ),
    "a place and a plane give an inclination that a third forbids": (
        {
            "head": PointRow(HEAD, AHEAD, 1e-3),
            "tail": PlaneRow(TAIL, Z, AHEAD + 0.04 * Z, 1e-3),
            "back": at(BACK, Z, 90, 0.3),
        },
        ("head", "tail", "back"),
    ),
}


@pytest.mark.parametrize("case", LARGER)
def test_the_smallest_contradicting_set_is_named(case):
    rows, names = LARGER[case]
    found = find_row_contradictions(list(rows.values()), list(rows), BOX)
    assert [set(c.labels) for c in found] == [set(names)], found
    assert found[0].out_by > 0.0
    for pair in combinations(names, len(names) - 1):
        assert find_row_contradictions([rows[name] for name in pair], list(pair), BOX) == []


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("side", [0, 1])
def test_a_place_beyond_a_face_of_the_workspace_is_named_with_the_face(axis, side):
    target = AHEAD.copy()
    target[axis] = BOX[side, axis] + (0.2 if side else -0.2)
    rows = {"place": PointRow(HEAD, target, 1e-3), "back": parallel(BACK, Z, 0.3)}
    found = find_row_contradictions(list(rows.values()), list(rows), BOX)
    assert [c.labels for c in found] == [("place",)]
    assert found[0].workspace
    assert found[0].out_by == pytest.approx(0.2 - 1e-3 - 0.1034, abs=1e-9)
    assert f"{'xyz'[axis]}_{'max' if side else 'min'} {BOX[side, axis]:.3f} m" in found[0].message


def test_a_place_that_pushes_the_hand_out_of_the_workspace_is_named_with_the_direction():
    # the tip may lie beyond the face, but the hand's origin is farther out in this direction
    rows = {
        "place": PointRow(HEAD, np.array([0.95, 0.0, 0.4]), 1e-3),
        "from the far side": parallel(BACK, X, 0.3),
        "roll": parallel(ACROSS, Y, 0.5),
    }
    found = find_row_contradictions(list(rows.values()), list(rows), BOX)
    assert [set(c.labels) for c in found] == [{"place", "from the far side"}]
    assert found[0].workspace
    assert "x_max" in found[0].message
    assert find_row_contradictions(list(rows.values()), list(rows), BOX + 0.5 * np.array([[-1.0], [1.0]])) == []


def test_a_plane_beyond_the_workspace_is_named():
    rows = {"plane": PlaneRow(HEAD, Z, np.array([0.0, 0.0, 1.5]), 0.01)}
    found = find_row_contradictions(list(rows.values()), list(rows), BOX)
    assert found[0].labels == ("plane",)
    assert found[0].out_by == pytest.approx(0.4 - 0.01 - 0.1034, abs=1e-9)


def test_a_cost_takes_no_part():
    rows = [PointRow(HEAD, AHEAD, 1e-3), PointRow(HEAD, AHEAD + SHIFT, 0.0, weight=5.0)]
    assert find_row_contradictions(rows, ["here", "wish"], BOX) == []


def test_constraints_of_one_name_are_distinguished_by_their_place(arm, door, row_term):
    rows = [(parallel(BACK, Z, 0.3), "axis"), (PointRow(HEAD, AHEAD, 1e-3), "place"), (parallel(BACK, X, 0.3), "axis")]
    terms = [row_term(row, label) for row, label in rows]
    assert constraint_labels(terms) == ["constraint_list[0] axis", "place", "constraint_list[2] axis"]
    found = find_contradictions(terms, arm, door())
    assert found[0].labels == ("constraint_list[0] axis", "constraint_list[2] axis")
    assert found[0].indices == (0, 2)


@pytest.mark.property
def test_the_range_of_the_third_side_covers_random_triangles():
    rng = np.random.default_rng(3)
    for _ in range(40):
        low, width, side = rng.uniform(0, math.pi), rng.uniform(0, 1), rng.uniform(0, math.pi)
        high = min(math.pi, low + width)
        first = rng.uniform(low, high, 4000)
        turn = rng.uniform(0, 2 * math.pi, 4000)
        third = np.arccos(
            np.clip(np.cos(first) * math.cos(side) + np.sin(first) * math.sin(side) * np.cos(turn), -1, 1)
        )
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
                n = unit(rng.normal(size=3))
                rows.append(PlaneRow(x, n, R @ x + p + off[0] * n + np.cross(n, rng.normal(size=3)), slack))
            else:
                x, a = unit(x), unit(rng.normal(size=3))
                angle = math.acos(float(np.clip(a @ R @ x, -1, 1)))
                wanted = float(np.clip(angle + off[0], 0.0, math.pi))
                rows.append(AxisRow(x, a, max(0.0, wanted - slack), min(math.pi, wanted + slack), wanted))
        assert find_row_contradictions(rows, [str(i) for i in range(len(rows))], BOX) == []
