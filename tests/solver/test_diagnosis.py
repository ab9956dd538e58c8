"""Requests that cannot be met for a cause that is known by construction: that cause is named, with its amount.

Contradictions that need no arm are in `test_contradiction.py`, paths and collisions in `test_failed_paths.py`.
"""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from tests.solver.builders import FROM_ABOVE, RowTerm, X, Y, Z, assert_inside, read_setting
from unlatch.solver.diagnosis import MESSAGE_LENGTH, Diagnosis, compose_message
from unlatch.solver.elastic import constraint_elements, relaxations
from unlatch.solver.explanation import explain_goal
from unlatch.solver.solution import Solution
from unlatch.solver.term import AxisRow, PlaneRow, PointRow

HEAD = np.array([0.1, 0.0, 0.0])
TOLERANCE = 1e-3
RIGHT_ANGLE = 0.5 * math.pi
UNKNOWN = Solution(False, (), math.inf, 24, 0.0, 0.0, "no start met every constraint")
"""The answer of a goal solve of which nothing is used."""


def place(target, tolerance=TOLERANCE):
    return PointRow(HEAD, np.array(target, dtype=float), tolerance)


def parallel(x, a, tolerance):
    return AxisRow(x, a, 0.0, tolerance, 0.0)


@pytest.fixture
def explain(door):
    def run(arm, **rows):
        terms = [RowTerm(row, name.replace("_", " ")) for name, row in rows.items()]
        return explain_goal(terms, arm, door(), UNKNOWN)

    return run


def out_by(diagnosis):
    return {name: c["out_by"] for name, c in diagnosis.evidence["constraints"].items() if c["out_by"] > 1e-6}


def needed(diagnosis):
    """What each single change must come to, by what is changed."""
    return {item["name"]: item["needed"] for item in diagnosis.evidence["relaxations"]}


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("upper", [True, False])
def test_a_slide_that_is_too_short_is_named_with_how_much_it_lacks(gantry, explain, axis, upper):
    target = np.array([0.6, 0.5, 0.5])
    target[axis] = (1.05 if upper else -0.05) + HEAD[axis]
    diagnosis, solution = explain(gantry, handle=place(target), from_the_front=parallel(X, X, 0.3))
    name = "xyz"[axis]
    assert out_by(diagnosis) == pytest.approx({"handle": 0.05 - TOLERANCE}, abs=1e-6)
    assert diagnosis.evidence["active_bounds"] == [
        f"{name} at its {'upper limit 1.000 m' if upper else 'lower limit 0.000 m'}"
    ]
    (far,) = diagnosis.evidence["out_of_reach"]
    assert (far["constraint"], far["limited_by"]) == ("handle", "joint limits")
    limit = 1.05 - TOLERANCE if upper else -0.05 + TOLERANCE
    assert needed(diagnosis) == pytest.approx({name: limit, "handle": 0.05}, abs=2e-4)
    assert needed(diagnosis)["handle"] == pytest.approx(0.05, abs=1e-5)
    assert not solution.found


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("side", [0, 1])
def test_a_limiting_workspace_face_is_named_with_its_sufficient_place(gantry, explain, axis, side):
    box, sign = np.array([[0.2] * 3, [0.8] * 3]), (-1, 1)[side]
    target = np.array([0.5, 0.5, 0.5]) + HEAD
    target[axis] = box[side, axis] + 0.04 * sign + HEAD[axis]
    diagnosis, _ = explain(replace(gantry, workspace=box), handle=place(target))
    face = f"{'xyz'[axis]}_{'max' if side else 'min'}"
    assert out_by(diagnosis) == pytest.approx({"handle": 0.04 - TOLERANCE}, abs=1e-6)
    assert diagnosis.evidence["active_bounds"] == [f"workspace {face} {box[side, axis]:.3f} m"]
    assert diagnosis.evidence["out_of_reach"][0]["limited_by"] == "workspace"
    assert needed(diagnosis)[face] == pytest.approx(box[side, axis] + (0.04 - TOLERANCE) * sign, abs=2e-4)


# law of cosines, then the wrist in line; the tool comes back from there
LONGEST, SHORTEST = math.sqrt(0.25 + 0.24 * math.cos(1.0)) + 0.3, math.sqrt(0.25 + 0.24 * math.cos(0.2)) - 0.3
ELBOW = math.acos(((LONGEST + 0.04 - TOLERANCE - 0.3) ** 2 - 0.25) / 0.24)
LOW = np.array([[-9.0, -9.0, 0.2], [9.0, 9.0, 9.0]])

# what the planar arm lacks; what is asked of it; by how much that is missed (None: not known); what limits it;
# the bounds that it rests on; and what single changes must come to
CAUSES = {
    "the sum of the links": ({}, place([1.05, 0, 0]), 0.05 - TOLERANCE, "reach", [], {"asked": 0.05}),
    "an elbow that cannot stretch": (
        {"elbow": (1.0, 2.0)},
        place([LONGEST + 0.04, 0, 0]),
        0.04 - TOLERANCE,
        "joint limits",
        ["elbow at its lower limit 1.000 rad (57.3 degrees)"],
        {"elbow": ELBOW},
    ),
    "a turntable": (
        {"yaw": (-0.5, 0.5)},
        place([0.8 * math.cos(1.0), 0.8 * math.sin(1.0), 0.1]),
        None,
        "joint limits",
        ["yaw at its upper limit 0.500 rad (28.6 degrees)"],
        {"yaw": 1.0 - TOLERANCE * (math.sin(1.0) + math.cos(1.0)) / 0.8},
    ),
    "an angle that only a joint limit forbids": (
        {"yaw": (-0.1, 0.1)},
        parallel(X, Y, 0.2),
        RIGHT_ANGLE - 0.3,
        "joint limits",
        ["yaw at its upper limit 0.100 rad (5.7 degrees)"],
        {"yaw": RIGHT_ANGLE - 0.2},
    ),
    "an angle that no posture reaches": (
        {},
        parallel(Y, Z, 0.3),
        RIGHT_ANGLE - 0.3,
        "reach",
        [],
        {"asked": RIGHT_ANGLE},
    ),
}


@pytest.mark.parametrize("case", CAUSES)
def test_what_limits_an_arm_is_named_with_what_would_be_enough(planar_of, explain, case):
    lacks, row, missing, limited_by, bounds, enough = CAUSES[case]
    diagnosis, _ = explain(planar_of(**lacks), asked=row)
    if missing is not None:
        assert out_by(diagnosis) == pytest.approx({"asked": missing}, abs=1e-5)
    assert diagnosis.evidence["active_bounds"] == bounds
    assert diagnosis.evidence["out_of_reach"][0]["limited_by"] == limited_by
    found = needed(diagnosis)
    # forwards, or backwards with the hand over the top
    assert {name: abs(found[name]) for name in enough} == pytest.approx(enough, abs=1e-3)
    assert (set(found) == {"asked"}) == (limited_by == "reach")


def test_a_hand_that_cannot_turn_is_reported_with_the_missing_angle(gantry, explain):
    diagnosis, _ = explain(gantry, place=place([0.6, 0.5, 0.5]), from_the_side=parallel(X, Y, 0.3))
    assert out_by(diagnosis) == pytest.approx({"from the side": RIGHT_ANGLE - 0.3}, abs=1e-5)
    assert diagnosis.evidence["out_of_reach"][0]["limited_by"] == "reach"
    assert diagnosis.evidence["active_bounds"] == []
    assert set(needed(diagnosis)) == {"from the side"}
    assert "'from the side' is out by 1.271 rad (72.8 degrees)" in diagnosis.message


def test_a_plane_out_of_reach_is_reported_in_metres(gantry, explain):
    diagnosis, _ = explain(gantry, on_the_plane=PlaneRow(HEAD, Z, np.array([0.0, 0.0, 1.3]), 0.01))
    assert out_by(diagnosis) == pytest.approx({"on the plane": 0.29}, abs=1e-6)
    assert diagnosis.evidence["active_bounds"] == ["z at its upper limit 1.000 m"]


def test_an_elbow_that_cannot_fold_is_named(explain, planar_of):
    diagnosis, _ = explain(planar_of(elbow=(-0.2, 0.2)), handle=place([SHORTEST - 0.05, 0, 0]))
    assert out_by(diagnosis)["handle"] > 0.01
    bounds = diagnosis.evidence["active_bounds"]
    assert all(bound.startswith(("elbow", "wrist")) for bound in bounds)
    assert any(bound.startswith("elbow") for bound in bounds)


def test_a_workspace_that_forbids_the_only_posture_is_named(explain, planar_of):
    # near the end of its reach the arm is almost straight, and so its hand almost as low as the target
    diagnosis, _ = explain(planar_of(workspace=LOW), handle=place([0.97, 0, 0.15]))
    assert diagnosis.evidence["contradictions"] == []
    assert diagnosis.evidence["out_of_reach"][0]["limited_by"] == "workspace"
    assert diagnosis.evidence["active_bounds"][0] == "workspace z_min 0.200 m"
    assert needed(diagnosis)["z_min"] < 0.2


def test_constraints_that_hold_alone_but_not_together_are_reported_as_alternatives_one_line_each(planar, explain):
    diagnosis, _ = explain(planar, handle=place([0.9, 0, 0]), from_above=parallel(X, -Z, 0.1))
    assert (diagnosis.evidence["contradictions"], diagnosis.evidence["out_of_reach"]) == ([], [])
    assert set(needed(diagnosis)) == {"handle", "from above"}
    # with 0.3 m of hand down at an angle of 0.1 rad from the vertical the wrist comes 0.7 m far
    reach = math.sqrt(0.7**2 - (0.3 * math.cos(0.1)) ** 2) + 0.3 * math.sin(0.1)
    assert needed(diagnosis)["handle"] <= 0.9 - reach + 1e-3
    lines = diagnosis.lines()
    assert all(len(line) <= 120 for line in lines)
    text = "\n".join(lines)
    for words in (
        "plan_infeasible: No arm configuration was found that meets all constraints",
        "best compromise (value of tolerance):",
        "for 'from above' instead of 0.1",
    ):
        assert text.count(words) == 1, words
    assert "for 'handle' instead of 0.001" not in text  # so far from the handle the hand holds nothing


@pytest.mark.slow
def test_one_narrowed_joint_of_an_arm_with_seven_is_the_one_that_is_named(arm, door, open_setting):
    fourth = np.arange(7) == 3
    low = replace(arm, q_upper=np.where(fourth, -2.9, arm.q_upper), symmetric_gripper=False)
    diagnosis, _ = explain_goal(open_setting.constraint_list, low, door(x=0.85), UNKNOWN)
    assert diagnosis.evidence["active_bounds"][0] == "panda_joint4 at its upper limit -2.900 rad (-166.2 degrees)"
    limits = [item["name"] for item in diagnosis.evidence["relaxations"] if item["kind"] == "joint limit"]
    assert limits == ["panda_joint4"]
    wider = replace(low, q_upper=np.where(fourth, needed(diagnosis)["panda_joint4"], low.q_upper))
    assert explain_goal(open_setting.constraint_list, wider, door(x=0.85), UNKNOWN)[1].found


def test_a_contradiction_comes_first_and_in_the_words_of_the_yaml(arm, door, open_setting):
    terms = read_setting(*open_setting.constraint_list, FROM_ABOVE).constraint_list
    diagnosis, _ = explain_goal(terms, arm, door(), UNKNOWN)
    assert diagnosis.message.startswith("No grasp exists: 'from the front' (0.0 to 45.8 degrees) and 'from above'")
    assert "90.0 degrees apart on this object" in diagnosis.message
    assert set(needed(diagnosis)) == {"from the front", "from above"}
    assert needed(diagnosis)["from above"] == pytest.approx(RIGHT_ANGLE - 0.8, abs=1e-3)
    assert out_by(diagnosis) == pytest.approx({"from the front": RIGHT_ANGLE - 0.9}, abs=1e-4)


def test_a_reported_relaxation_is_sufficient(planar):
    rows = [place([0.9, 0, 0]), parallel(X, -Z, 0.1)]
    starts = np.array([[0.0, 0.3, 0.3, 0.3], [0.0, -0.5, 1.0, 1.0]])
    groups = [(element,) for element in constraint_elements(rows, ["a", "b"])]
    found = [alone for (alone,) in relaxations(planar, [(rows, starts)], groups)]
    assert {r.element.name for r in found} == {"a", "b"}
    for relaxation in found:
        R, p = planar.kinematics.fk_batch(relaxation.q[None])
        assert_inside(planar, relaxation.q)
        for i, row in enumerate(rows):
            stated = row.tolerance if i == 0 else row.upper
            allowed = relaxation.needed if i == relaxation.element.index else stated
            assert row.value(R[0], p[0]) <= allowed + 1e-5


def test_two_causes_are_both_reported(planar, explain):
    diagnosis, _ = explain(planar, handle=place([1.05, 0, 0]), roll=parallel(Y, Z, 0.3))
    assert needed(diagnosis) == {}
    together = {item["name"]: item["needed"] for item in diagnosis.evidence["relaxed_together"]}
    assert together == pytest.approx({"handle": 0.05, "roll": RIGHT_ANGLE}, abs=1e-3)
    assert "no single change is enough; these together would be:" in diagnosis.lines()


@pytest.mark.property
def test_a_feasible_request_is_found_and_never_called_contradicting(planar, explain):
    rng = np.random.default_rng(5)
    for _ in range(8):
        T = planar.kinematics.pose(rng.uniform(0.8 * planar.q_lower, 0.8 * planar.q_upper))
        at, axis, roll = place(T @ HEAD, 5e-3), parallel(X, T.R @ X, 0.05), parallel(Y, T.R @ Y, 0.05)
        diagnosis, solution = explain(planar, place=at, axis=axis, roll=roll)
        assert solution.found
        assert diagnosis.evidence["missed"]
        assert "contradictions" not in diagnosis.evidence


def test_the_same_request_gives_the_same_diagnosis(planar, explain):
    first, second = (explain(planar, fingers=place([1.05, 0, 0.2]), up=parallel(X, Z, 0.2))[0] for _ in range(2))
    assert json.dumps(first.to_dict()) == json.dumps(second.to_dict())


def test_a_message_begins_with_what_failed_and_the_advice_and_leaves_out_long_evidence():
    evidence = ["Long evidence " + 300 * "x" + ".", "A longer sentence.", "Short."]
    message = compose_message("No way.", "Do this.", evidence)
    assert message == "No way. Do this. Short. A longer sentence. " + evidence[0]
    assert compose_message("No way.", "Do " + 100 * "y" + ".", evidence).endswith("A longer sentence.")


def test_an_object_out_of_reach_is_to_be_moved_and_its_tolerance_is_no_remedy(planar, explain):
    diagnosis, _ = explain(planar, handle=place([1.2, 0, 0]))
    assert diagnosis.message.startswith(
        "No arm configuration was found that meets all constraints: at the nearest one, 'handle' is out by 0.199 m. "
        "Move the object at least 0.20 m nearer. "
    )
    assert len(diagnosis.message) <= MESSAGE_LENGTH
    assert needed(diagnosis)["handle"] == pytest.approx(0.2, abs=1e-3)
    assert "a tolerance of" not in "".join(diagnosis.lines())
    assert repr(diagnosis).startswith("plan_infeasible: ")


def test_a_diagnosis_comes_back_from_json(planar, explain):
    diagnosis, solution = explain(planar, handle=place([1.2, 0, 0]))
    again = Diagnosis.from_dict(json.loads(json.dumps(diagnosis.to_dict(), sort_keys=True)))
    assert again == diagnosis
    assert again.lines() == diagnosis.lines()
    assert json.loads(json.dumps(solution.to_dict()))["found"] is False
