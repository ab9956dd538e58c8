"""Solved share and time of the goal solver on a set of problems from outside.

Usage: UNLATCH_KPAM_PROBLEMS=FOLDER python benchmarks/goal_problems.py [every=1]
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robots.franka_panda import franka_panda, urdf_path
from solver.goal import GoalSolver
from solver.kinematics import Kinematics
from solver.scene import ArmModel, JointGeometry, PlanningScene
from solver.terms.row import AxisRow, PointRow, Row

FEASIBLE = ("solved", "missed_by_9_seeds_but_feasible")


@dataclass
class Given:
    """A row as it stands in the file."""

    fixed: Row
    TYPE = "given"
    label = "given"

    def row(self, tool: Mapping[str, Any], scene: PlanningScene) -> Row:
        """The row."""
        del tool, scene
        return self.fixed


def rows_of(problem: Mapping[str, Any], keypoints: Mapping[str, Any]) -> Iterator[Row]:
    """The rows of one problem."""
    for entry in problem["constraints"]:
        if entry["kind"] == "point":
            point = np.array(keypoints[entry["keypoint"]])
            yield PointRow(point, np.array(entry["target_in_base"]), entry["tolerance"])
        else:
            x = np.array(keypoints[entry["to_keypoint"]]) - np.array(keypoints[entry["from_keypoint"]])
            a = np.array(entry["target_axis_in_base"])
            lower, upper = entry["angle_lower_rad"], entry["angle_upper_rad"]
            x, a = x / np.linalg.norm(x), a / np.linalg.norm(a)
            yield AxisRow(x, a, lower, upper, entry["target_angle_rad"])


def arm_of(common: Mapping[str, Any]) -> ArmModel:
    """The arm of the set: a Panda with tool keypoints of its own."""
    arm = franka_panda().arms[0]
    keypoints = common["robot"].get("keypoints_in_hand") or common["keypoints_in_hand"]
    box = common["workspace_box"]
    return ArmModel(
        kinematics=Kinematics.from_urdf(urdf_path(), base_link=arm.base_link, tip_link=arm.ee_link),
        tool_keypoints={name: np.array(p) for name, p in keypoints.items()},
        q_lower=np.array(common["robot"]["lower"][:7]),
        q_upper=np.array(common["robot"]["upper"][:7]),
        max_velocity=np.array(arm.max_velocity),
        max_acceleration=np.array(arm.max_acceleration),
        workspace=np.array([box["lower"], box["upper"]], dtype=float),
        q_home=np.array(common["current_joints"][:7]),
        symmetric_gripper=False,
    )


def main() -> int:
    """Runs the set and prints what came of it."""
    folder = os.environ.get("UNLATCH_KPAM_PROBLEMS")
    if folder is None:
        print("UNLATCH_KPAM_PROBLEMS is not set. Give the folder that holds problems.json.", file=sys.stderr)
        return 2
    every = int(dict(a.split("=") for a in sys.argv[1:]).get("every", 1))
    data = json.loads((Path(folder) / "problems.json").read_text(encoding="utf-8"))
    arm = arm_of(data["common"])
    solver = GoalSolver(arm)
    scene = PlanningScene(
        keypoints={},
        axes={},
        R_base_link=np.eye(3),
        R_base_world=np.eye(3),
        joint=JointGeometry(False, np.zeros(3), np.array([0.0, 0.0, 1.0]), 0.0, 0.0, 1.0),
        s_closed=0.0,
        s_open=1.0,
    )
    times, solved, feasible, claimed = [], 0, 0, 0
    for problem in data["problems"][::every]:
        terms: Any = [Given(row) for row in rows_of(problem, arm.tool_keypoints)]
        began = time.perf_counter()
        found = solver.solve(terms, scene, q_reference=arm.q_home).found
        if problem["feasibility"] in FEASIBLE:
            times.append(1e3 * (time.perf_counter() - began))
            feasible += 1
            solved += found
        else:
            claimed += found
    print(f"solved {solved} of {feasible} known feasible; claimed {claimed} of those not known to be feasible")
    print(f"median {np.median(times):.2f} ms, p95 {np.percentile(times, 95):.2f} ms, max {max(times):.1f} ms")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
