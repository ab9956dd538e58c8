"""Goal problems from outside, with a peer's answers; needs their file in UNLATCH_KPAM_PROBLEMS."""

import os

import numpy as np
import pytest

from benchmarks import kpam_problems as kpam
from unlatch.solver.contradiction import find_contradictions
from unlatch.solver.goal_solver import GoalSolver

GIVEN = os.environ.get("UNLATCH_KPAM_PROBLEMS")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(GIVEN is None, reason="UNLATCH_KPAM_PROBLEMS does not name problems.json or its folder"),
]


@pytest.fixture(scope="module")
def answers():
    """Every problem with its terms and our solution."""
    data = kpam.load(GIVEN)
    arm, near, scene = kpam.arm_of(data["common"]), kpam.nearness_of(data["common"]), kpam.scene()
    solver, terms = GoalSolver(arm), {p["id"]: kpam.terms_of(p, arm.tool_keypoints) for p in data["problems"]}
    solved = [solver.solve(terms[p["id"]], scene, q_reference=arm.q_home, nearness=near) for p in data["problems"]]
    return arm, [(p, terms[p["id"]], s) for p, s in zip(data["problems"], solved, strict=True)]


@pytest.fixture(scope="module")
def feasible(answers):
    return [item for item in answers[1] if item[0]["feasibility"] in kpam.FEASIBLE]


def test_forward_kinematics_are_those_of_the_file(answers):
    for check in kpam.load(GIVEN)["common"]["fk_check"]:
        np.testing.assert_allclose(answers[0].kinematics.fk(np.array(check["q"][:7])), check["hand"], atol=1e-9)


def test_every_feasible_problem_is_solved_and_none_is_called_contradicting(answers, feasible):
    assert [p["id"] for p, _, s in feasible if not s.found] == []
    assert [p["id"] for p, terms, _ in feasible if find_contradictions(terms, answers[0], kpam.scene())] == []


def test_no_problem_that_has_no_solution_is_claimed_and_the_two_that_contradict_are_named(answers):
    infeasible = [item for item in answers[1] if item[0]["feasibility"] == kpam.CONTRADICTING]
    assert infeasible
    assert [p["id"] for p, _, s in infeasible if s.found] == []
    for problem, terms, _ in infeasible:
        found = find_contradictions(terms, answers[0], kpam.scene())
        assert found, problem["id"]
        assert len(found[0].labels) == 2
        assert found[0].out_by == pytest.approx(problem["axis_conflict_rad"], abs=1e-6)
        assert all(f"'{label}'" in found[0].message for label in found[0].labels)


def test_a_found_solution_holds_when_measured_independently(answers):
    out = [kpam.violation(terms, answers[0], s.q) for _, terms, s in answers[1] if s.found]
    assert max(violation for violation, _ in out) <= 1e-6
    assert max(beyond_limits for _, beyond_limits in out) == 0.0


def test_the_cost_is_the_best_known_on_99_percent(feasible):
    worse = [p["id"] for p, _, s in feasible if not s.found or s.cost > kpam.best_known(p) + 1e-3]
    assert len(worse) <= 0.01 * len(feasible), worse
