"""A term of another distribution: found by its entry point, checked, solved, diagnosed like the built-in ones."""

import textwrap

import numpy as np
import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.registry import Catalog
from unlatch.solver import term_kinds as catalog
from unlatch.solver.explanation import explain_goal
from unlatch.solver.goal_solver import GoalSolver
from unlatch.solver.setting import PlannerSettingCfg

HEAD = "articulated_object_head"
MODULE = '''
"""A tool keypoint at a distance from an object keypoint: a sphere, which no built-in row is."""

from dataclasses import dataclass, field
from typing import ClassVar

import casadi as ca
import numpy as np

from unlatch.solver.term import ExpressionRow, RowKind
from unlatch.solver.term import Term, tool_point


def _distance(R, p, numbers):
    return ca.norm_2(R @ numbers[:3] + p - numbers[3:6])


DISTANCE = RowKind("distance", "m", 6, _distance)


@dataclass
class KeypointDistance(Term):
    TYPE: ClassVar[str] = "keypoint_distance"
    keypoint_name: str = field(metadata={"kind": "name"})
    target_keypoint_name: str = field(metadata={"kind": "name"})
    distance_m: float = field(metadata={"kind": "tolerance_m", "expects": "metres"})
    tolerance: float = field(metadata={"kind": "tolerance_m", "expects": "metres"})
    name: str = field(default="", metadata={"kind": "text"})

    def row(self, tool, scene):
        numbers = np.concatenate([tool_point(tool, self.keypoint_name), scene.keypoint(self.target_keypoint_name)])
        low, high = self.distance_m - self.tolerance, self.distance_m + self.tolerance
        return ExpressionRow(DISTANCE, numbers, low, high)

    def tool_names(self):
        return {"keypoint_name": self.keypoint_name}

    def object_names(self):
        return {"target_keypoint_name": self.target_keypoint_name}
'''
TERM = {
    "type": "keypoint_distance",
    "keypoint_name": "tool_tail",
    "target_keypoint_name": HEAD,
    "distance_m": 0.2,
    "tolerance": 1e-3,
    "name": "two hands away",
}
OUTWARD = {
    "type": "frame_axis_parallel",
    "axis_from_keypoint_name": "tool_head",
    "axis_to_keypoint_name": "tool_tail",
    "cross_target_axis1_from_keypoint_name": HEAD,
    "cross_target_axis1_to_keypoint_name": "articulated_object_tail",
    "target_axis": "link0_contact_axis",
    "tolerance": 0.3,
    "name": "from the front",
}


@pytest.fixture(autouse=True)
def installed(tmp_path, monkeypatch):
    """Another distribution on the path, as pip would have put it there."""
    (tmp_path / "foreign_term.py").write_text(MODULE)
    info = tmp_path / "foreign_term-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign-term\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        textwrap.dedent("""\
            [unlatch.terms]
            keypoint_distance = foreign_term:KeypointDistance
            """)
    )
    monkeypatch.syspath_prepend(tmp_path)
    builtin = {name: entry for name, entry in catalog.TERMS.entries().items() if entry.origin == "unlatch"}
    found = Catalog("constraint type", builtin, group="unlatch.terms")
    monkeypatch.setattr("unlatch.solver.setting.TERMS", found)
    return found


def setting(*terms):
    return PlannerSettingCfg(success_threshold=0.1, constraint_list=list(terms))


def test_it_is_listed_with_where_it_comes_from(installed):
    assert installed.entries()["keypoint_distance"].origin == "foreign-term"


@pytest.mark.slow
def test_a_goal_that_it_asks_for_is_found_and_holds(arm, door):
    scene = door(s=0.2)
    asked = setting(TERM, OUTWARD)
    solution = GoalSolver(arm).solve(asked.constraint_list, scene, q_reference=arm.q_home)
    assert solution.found, solution
    T = arm.kinematics.pose(solution.q)
    apart = np.linalg.norm(T @ arm.tool_keypoints["tool_tail"] - scene.keypoints[HEAD])
    assert abs(apart - 0.2) <= 1e-3 + 1e-6
    assert solution.residuals[0].unit == "m"
    assert solution.residuals[0].tolerance == pytest.approx(1e-3)
    others = GoalSolver(arm).solve_all(asked.constraint_list, scene, q_reference=arm.q_home)
    assert len(others) > 3
    assert all(other.found for other in others)


def test_its_fields_are_checked_like_those_of_the_built_in_ones():
    with pytest.raises(ConfigError, match=r"constraint_list\[0\].distance is not a field of keypoint_distance"):
        setting({**TERM, "distance": 0.3})


@pytest.mark.slow
def test_a_foreign_term_that_cannot_hold_is_named(arm, door):
    scene = door()
    near = {
        "type": "point2point_constraint",
        "keypoint_name": "tool_tail",
        "target_keypoint_name": HEAD,
        "tolerance": 0.01,
        "name": "at the handle",
    }
    asked = setting(TERM, near)
    best = GoalSolver(arm).solve(asked.constraint_list, scene, q_reference=arm.q_home)
    assert not best.found
    diagnosis, _ = explain_goal(asked.constraint_list, arm, scene, best)
    assert diagnosis.code == "plan_infeasible"
    assert "two hands away" in diagnosis.message or "at the handle" in diagnosis.message
    out = diagnosis.evidence["constraints"]
    gap = 0.2 - 1e-3 - 0.01 * np.sqrt(3.0)
    missing = sum(entry["out_by"] for entry in (out.values() if isinstance(out, dict) else out))
    assert missing >= gap / np.sqrt(3.0) - 1e-3
