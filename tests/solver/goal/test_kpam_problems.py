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
    solver = GoalSolver(arm)
    out = []
    for problem in data["problems"]:
        terms = kpam.terms_of(problem, arm.tool_keypoints)
        out.append((problem, terms, solver.solve(terms, scene, q_reference=arm.q_home, nearness=near)))
    return arm, out


def test_forward_kinematics_are_those_of_the_file(answers):
    arm, _ = answers
    for check in kpam.load(GIVEN)["common"]["fk_check"]:
        np.testing.assert_allclose(arm.kinematics.fk(np.array(check["q"][:7])), check["hand"], atol=1e-9)


def test_every_problem_that_is_known_to_be_feasible_is_solved(answers):
    _, solved = answers
    assert [p["id"] for p, _, s in solved if p["feasibility"] in kpam.FEASIBLE and not s.found] == []


def test_no_problem_that_has_no_solution_is_claimed_and_the_two_that_contradict_are_named(answers):
    arm, solved = answers
    infeasible = [(p, terms, s) for p, terms, s in solved if p["feasibility"] == kpam.CONTRADICTING]
    assert infeasible
    assert [p["id"] for p, _, s in infeasible if s.found] == []
    for problem, terms, _ in infeasible:
        found = find_contradictions(terms, arm, kpam.scene())
        assert found, problem["id"]
        assert len(found[0].labels) == 2
        assert found[0].out_by == pytest.approx(problem["axis_conflict_rad"], abs=1e-6)
        assert all(f"'{label}'" in found[0].message for label in found[0].labels)


def test_no_feasible_problem_is_called_contradicting(answers):
    arm, solved = answers
    feasible = [(p["id"], terms) for p, terms, _ in solved if p["feasibility"] in kpam.FEASIBLE]
    assert [name for name, terms in feasible if find_contradictions(terms, arm, kpam.scene())] == []


def test_a_found_solution_holds_when_measured_independently(answers):
    arm, solved = answers
    out = [kpam.violation(terms, arm, s.q) for _, terms, s in solved if s.found]
    assert max(violation for violation, _ in out) <= 1e-6
    assert max(beyond_limits for _, beyond_limits in out) == 0.0


def test_the_cost_is_the_best_known_on_99_percent(answers):
    _, solved = answers
    feasible = [(p, s) for p, _, s in solved if p["feasibility"] in kpam.FEASIBLE]
    worse = [p["id"] for p, s in feasible if not s.found or s.cost > kpam.best_known(p) + 1e-3]
    assert len(worse) <= 0.01 * len(feasible), worse
